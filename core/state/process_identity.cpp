#include "core/state/process_identity.h"

#include "core/undisturbed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace vramguard {
namespace {

constexpr std::size_t kMostText = 4096;
constexpr std::size_t kShortContainer = 12;

std::string start_of_file(const char* path) {
  std::string text(kMostText, '\0');
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd >= 0 ? read(fd, text.data(), text.size()) : -1;
  if (fd >= 0) close(fd);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

// A container's folder ends in its identifier, 64 digits, with or without the runtime's name around it:
// /docker/ID, /kubepods/.../cri-containerd-ID.scope, /machine.slice/libpod-ID.scope.
std::string container_in(std::string_view cgroups) {
  constexpr std::size_t kDigits = 64;
  std::size_t run = 0;
  for (std::size_t i = 0; i < cgroups.size(); ++i) {
    const char c = cgroups[i];
    run = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? run + 1 : 0;
    if (run == kDigits) return std::string(cgroups.substr(i + 1 - kDigits, kShortContainer));
  }
  return {};
}

// pid (comm) state ...: the name may hold anything. From the state on the 18th field is the number of threads, the 20th
// the start.
std::optional<ProcessLife> life_in(std::string_view stat) noexcept {
  constexpr int kThreads = 17, kStart = 19;
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return std::nullopt;
  std::size_t at = name_end + 2;
  const bool main_ended = stat[at] == 'Z' || stat[at] == 'X';
  ProcessLife life{};
  unsigned threads = 0;
  for (int field = 1; field <= kStart; ++field) {
    at = stat.find(' ', at);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
    if (field == kThreads) std::from_chars(stat.data() + at, stat.data() + stat.size(), threads);
    if (field == kStart) std::from_chars(stat.data() + at, stat.data() + stat.size(), life.start_ticks);
  }
  life.ended = main_ended && threads <= 1;
  return life;
}

// The numbers of a line "Name:\t1\t2\n" of /proc/PID/status; empty without one.
std::vector<long> numbers_of(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  std::vector<long> numbers;
  if (at == std::string_view::npos) return numbers;
  std::string_view line = status.substr(at + name.size());
  line = line.substr(0, line.find('\n'));
  while (!line.empty()) {
    line.remove_prefix(1);  // the tab
    long number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  }
  return numbers;
}

}  // namespace

std::optional<ProcessStatus> status_of(pid_t pid) noexcept try {
  // The name comes first and is escaped: no other line can be made to look like these.
  const std::string status = start_of_file(("/proc/" + std::to_string(pid) + "/status").c_str());
  const std::vector<long> uids = numbers_of(status, "\nUid:");
  const std::vector<long> pids = numbers_of(status, "\nNSpid:");
  if (uids.size() < 2) return std::nullopt;
  return ProcessStatus{static_cast<uid_t>(uids[0]), static_cast<uid_t>(uids[1]),
                       pids.empty() ? pid : static_cast<pid_t>(pids.back())};
} catch (...) {
  return std::nullopt;
}

std::optional<ProcessLife> life_of(pid_t pid) noexcept try {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  return life_in(start_of_file(path.c_str()));
} catch (...) {
  return std::nullopt;
}

std::optional<std::uint64_t> start_ticks_of(pid_t pid) noexcept {
  const std::optional<ProcessLife> life = life_of(pid);
  return life ? std::optional(life->start_ticks) : std::nullopt;
}

bool is_gone(pid_t pid, std::uint64_t start_ticks) noexcept try {
  const Undisturbed undisturbed;
  if (const std::optional<ProcessLife> life = life_of(pid)) return life->ended || life->start_ticks != start_ticks;
  const std::string folder = "/proc/" + std::to_string(pid);
  return access(folder.c_str(), F_OK) != 0 && errno == ENOENT && access("/proc/self", F_OK) == 0;
} catch (...) {
  return false;
}

std::uint64_t boot_of_this_machine() noexcept try {
  const std::string text = start_of_file("/proc/sys/kernel/random/boot_id");
  return text.empty() ? 0 : std::hash<std::string>{}(text);
} catch (...) {
  return 0;
}

ProcessIdentity identity_of_this_process() {
  ProcessIdentity self;
  self.pid = getpid();
  self.start_ticks = start_ticks_of(self.pid).value_or(0);
  struct stat info {};
  if (stat("/proc/self/ns/pid", &info) == 0) self.pid_namespace = info.st_ino;
  self.comm = start_of_file("/proc/self/comm");
  if (self.comm.ends_with('\n')) self.comm.pop_back();
  self.command = start_of_file("/proc/self/cmdline");
  while (self.command.ends_with('\0')) self.command.pop_back();
  std::replace(self.command.begin(), self.command.end(), '\0', ' ');
  return self;
}

// Kubernetes tells a container neither its pod's name nor its namespace by itself: the host name is the pod's, and
// POD_NAME and POD_NAMESPACE are what the downward API is asked for by custom.
Surroundings surroundings_of_this_process() {
  Surroundings around;
  around.slurm_job = variable("SLURM_JOB_ID");
  around.container = container_in(start_of_file("/proc/self/cgroup"));
  if (getenv("KUBERNETES_SERVICE_HOST") != nullptr) {
    around.pod = variable("POD_NAME");
    if (around.pod.empty()) around.pod = variable("HOSTNAME");
    around.namespace_ = variable("POD_NAMESPACE");
  }
  return around;
}

}  // namespace vramguard
