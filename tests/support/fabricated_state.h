// Public files of processes that never were.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "core/state/process_state_file.h"

namespace vramguard {

inline ProcessStateFile make_state_file(const std::string& folder) {
  auto made = ProcessStateFile::make(folder);
  if (auto* problem = std::get_if<StateProblem>(&made)) throw std::runtime_error(problem->message);
  return std::move(std::get<ProcessStateFile>(made));
}

// One device with a GPU's UUID and nothing else in it.
inline DeviceState& add_device(ProcessState& state, const std::string& uuid) {
  DeviceState& device = state.devices[state.device_count++];
  set_state_text(device.uuid, uuid);
  device.budget_bytes = device.device_free_bytes = kStateUnknown;
  return device;
}

// Of a process that has ended; `fill_in` writes what it had counted. Returns its path.
template <typename FillIn>
std::string make_stale_state(const std::string& folder, const FillIn& fill_in) {
  std::string path;
  std::thread([&] {
    ProcessStateFile file = make_state_file(folder);
    fill_in(file.state());
    path = file.mark_alive_and_publish() ? file.state_path() : "";
  }).join();
  if (path.empty()) throw std::runtime_error("cannot publish a file in " + folder);
  return path;
}

}  // namespace vramguard
