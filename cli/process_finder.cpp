#include "cli/process_finder.h"

#include "cli/gpu_traces.h"

#include "core/state/process_identity.h"

#include <dirent.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>

namespace vramguard {
namespace {

std::string proc_file(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

std::string all_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string command_of(pid_t pid) {
  std::string command = all_of(proc_file(pid, "cmdline"));
  while (command.ends_with('\0')) command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  if (!command.empty()) return command;
  command = all_of(proc_file(pid, "comm"));
  if (command.ends_with('\n')) command.pop_back();
  return command;
}

std::int64_t wall_clock_of(std::uint64_t start_ticks) {
  timespec now{}, since_boot{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const auto ms = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000; };
  const std::int64_t ticks_per_second = std::max(sysconf(_SC_CLK_TCK), 1L);
  return ms(now) - ms(since_boot) + static_cast<std::int64_t>(start_ticks) * 1000 / ticks_per_second;
}

}  // namespace

std::optional<FoundProcess> find_process(pid_t pid) {
  const std::optional<ProcessLife> life = life_of(pid);
  const std::optional<ProcessStatus> status = status_of(pid);
  if (!life || !status) return std::nullopt;
  return FoundProcess{life->start_ticks, status->own_pid, status->effective_uid, command_of(pid),
                      wall_clock_of(life->start_ticks)};
}

Mapped what_is_mapped(pid_t pid) {
  const std::optional<GpuTraces> traces = gpu_traces_of(pid);
  if (!traces) return Mapped::Secret;
  if (traces->guard) return Mapped::Library;
  return traces->driver || traces->device ? Mapped::Cuda : Mapped::NoCuda;
}

std::optional<pid_t> ProcessIndex::pid_of(pid_t own_pid, std::uint64_t start_ticks, uid_t uid) {
  if (!looked_) look();
  const auto found = by_start_.find({start_ticks, own_pid});
  if (found == by_start_.end() || found->second.second != uid) return std::nullopt;
  return found->second.first;
}

void ProcessIndex::look() {
  looked_ = true;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir("/proc"), closedir);
  if (open == nullptr) return;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    const std::optional<ProcessStatus> status = status_of(pid);
    const std::optional<std::uint64_t> start = start_ticks_of(pid);
    if (status && start) by_start_.insert({{*start, status->own_pid}, {pid, status->effective_uid}});
  }
}

std::string user_name(uid_t uid) {
  const passwd* user = getpwuid(uid);
  return user != nullptr ? user->pw_name : std::to_string(uid);
}

}  // namespace vramguard
