#include "core/state/process_state_file.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/state/liveness.h"
#include "core/state/process_identity.h"
#include "core/state/shared_file.h"

namespace vramguard {
namespace {

// A process that execs keeps its number and its start: the time tells its lives apart.
std::string name_of(const ProcessIdentity& self, std::int64_t now_us) {
  return std::to_string(self.pid) + "-" + std::to_string(self.start_ticks) + "-" + std::to_string(now_us);
}

std::int64_t now_us() noexcept {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

void fill_in(ProcessState& state, const ProcessIdentity& self, std::int64_t started_us) {
  std::memcpy(state.magic, kStateMagic, sizeof state.magic);
  state.version = kStateVersion;
  state.bytes = sizeof state;
  state.pid = self.pid;
  state.uid = geteuid();
  state.pid_namespace = self.pid_namespace;
  state.start_ticks = self.start_ticks;
  state.boot = boot_of_this_machine();
  state.started_at_ms = started_us / 1000;
  set_state_text(state.vramguard_version, VRAMGUARD_VERSION);
  set_state_text(state.comm, self.comm);
  set_state_text(state.command, self.command);
  const Surroundings around = surroundings_of_this_process();
  set_state_text(state.namespace_, around.namespace_);
  set_state_text(state.pod, around.pod);
  set_state_text(state.container, around.container);
  set_state_text(state.slurm_job, around.slurm_job);
}

}  // namespace

std::variant<ProcessStateFile, StateProblem> ProcessStateFile::make(const std::string& folder) {
  const ProcessIdentity self = identity_of_this_process();
  const std::int64_t now = now_us();
  ProcessStateFile file;
  file.folder_ = folder;
  file.name_ = name_of(self, now);

  auto control = make_shared_file(folder, file.name_ + kControlSuffix, sizeof(ControlBlock), 0600);
  if (auto* problem = std::get_if<StateProblem>(&control)) return std::move(*problem);
  auto state = make_shared_file(folder, file.name_ + kStateSuffix, sizeof(ProcessState), 0644);
  if (auto* problem = std::get_if<StateProblem>(&state)) {
    unlink(std::get<FreshFile>(control).hidden_path.c_str());
    return std::move(*problem);
  }
  file.hidden_control_ = std::get<FreshFile>(control).hidden_path;
  file.hidden_state_ = std::get<FreshFile>(state).hidden_path;
  file.control_ = static_cast<ControlBlock*>(std::get<FreshFile>(control).memory);
  file.state_ = static_cast<ProcessState*>(std::get<FreshFile>(state).memory);

  std::memcpy(file.control_->magic, kControlMagic, sizeof file.control_->magic);
  file.control_->version = kStateVersion;
  file.control_->bytes = sizeof(ControlBlock);
  fill_in(*file.state_, self, now);
  set_state_text(file.state_->control_file, file.name_ + kControlSuffix);
  if (!prepare_mark(file.state_->alive)) {
    file.remove();
    return StateProblem{"the system has no robust mutex"};
  }
  return file;
}

bool ProcessStateFile::mark_alive_and_publish() noexcept try {
  if (take_mark(state_->alive) == Mark::Held) return false;
  if (publish({hidden_control_, control_}, control_path()) && publish({hidden_state_, state_}, state_path()))
    return true;
  remove();
  return false;
} catch (...) {
  return false;
}

void ProcessStateFile::remove() noexcept try {
  for (const std::string& path : {state_path(), control_path(), hidden_state_, hidden_control_}) unlink(path.c_str());
} catch (...) {
}

}  // namespace vramguard
