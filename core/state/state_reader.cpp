#include "core/state/state_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/errno_text.h"
#include "core/state/liveness.h"
#include "core/state/process_identity.h"
#include "core/state/process_state_file.h"
#include "core/utf8.h"

namespace vramguard {
namespace {

std::uint64_t own_pid_namespace() {
  static const std::uint64_t own = [] {
    struct stat info {};
    return stat("/proc/self/ns/pid", &info) == 0 ? static_cast<std::uint64_t>(info.st_ino) : 0;
  }();
  return own;
}

// All of the file; fewer bytes where it is shorter.
std::size_t read_all(int fd, void* to, std::size_t bytes) {
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t size = pread(fd, static_cast<char*>(to) + have, bytes - have, static_cast<off_t>(have));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    have += static_cast<std::size_t>(size);
  }
  return have;
}

// The number that the process claims, if its start and its owner are those of the file.
std::optional<pid_t> confirmed_pid(const ProcessState& state, uid_t owner) {
  if (state.pid <= 0 || state.pid_namespace != own_pid_namespace()) return std::nullopt;
  const std::optional<std::uint64_t> start = start_ticks_of(state.pid);
  const std::optional<ProcessStatus> status = status_of(state.pid);
  if (start && *start == state.start_ticks && status && (status->effective_uid == owner || status->real_uid == owner))
    return state.pid;
  return std::nullopt;
}

void bring_within(ProcessState& state) {
  state.device_count = std::min(state.device_count, kStateDevices);
  state.hook_count = std::min(state.hook_count, kStateHooks);
  for (DeviceState& device : state.devices)
    device.level = std::clamp(device.level, 0, static_cast<int>(kStateLevels) - 1);
}

}  // namespace

std::variant<SeenProcess, UnreadableState> read_process_state(const std::string& path, uid_t owner) {
  const auto unreadable = [&](std::string why) { return UnreadableState{path, std::move(why)}; };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return unreadable(errno_text(errno));
  struct stat info {};
  SeenProcess seen{path, owner, false, std::nullopt, {}};
  const bool known = fstat(fd, &info) == 0;
  const std::size_t bytes = known && S_ISREG(info.st_mode) ? read_all(fd, &seen.state, sizeof seen.state) : 0;
  close(fd);
  if (!known || !S_ISREG(info.st_mode)) return unreadable("is no file");
  if (info.st_uid != owner) return unreadable("belongs to another user than its folder");
  if (bytes < offsetof(ProcessState, alive) || std::memcmp(seen.state.magic, kStateMagic, sizeof kStateMagic) != 0)
    return unreadable("was not written by vramguard");
  if (seen.state.version != kStateVersion || seen.state.bytes != sizeof seen.state)
    return unreadable("was written by another version of vramguard");
  if (bytes < sizeof seen.state) return unreadable("is cut short");
  bring_within(seen.state);
  static const std::uint64_t boot = boot_of_this_machine();
  seen.alive = is_held(seen.state.alive) && seen.state.boot == boot;
  seen.pid = confirmed_pid(seen.state, owner);
  return seen;
}

std::variant<std::vector<std::string>, UnreadableState> state_paths(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (open == nullptr) return UnreadableState{folder, errno_text(errno)};
  std::vector<std::string> paths;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with('.') && name.ends_with(kStateSuffix)) paths.push_back(folder + "/" + std::string(name));
  }
  return paths;
}

SeenProcesses read_states(const std::vector<StateFolder>& folders) {
  SeenProcesses all;
  for (const StateFolder& folder : folders) {
    auto paths = state_paths(folder.path);
    if (auto* why = std::get_if<UnreadableState>(&paths)) {
      all.unreadable.push_back(std::move(*why));
      continue;
    }
    for (const std::string& path : std::get<std::vector<std::string>>(paths)) {
      auto read = read_process_state(path, folder.owner);
      if (auto* seen = std::get_if<SeenProcess>(&read)) all.processes.push_back(std::move(*seen));
      if (auto* why = std::get_if<UnreadableState>(&read)) {
        // It may have ended between two looks.
        if (access(why->path.c_str(), F_OK) == 0) all.unreadable.push_back(std::move(*why));
      }
    }
  }
  std::sort(all.processes.begin(), all.processes.end(),
            [](const SeenProcess& a, const SeenProcess& b) { return a.state.started_at_ms < b.state.started_at_ms; });
  return all;
}

std::string printable(std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const auto first = static_cast<unsigned char>(text[at]);
    // C0, DEL, and C1, which UTF-8 writes as C2 80 to C2 9F.
    const bool obeyed = first < 0x20 || first == 0x7F ||
                        (length == 2 && first == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0);
    if (length == 0 || obeyed) {
      text.replace(at, std::max<std::size_t>(length, 1), "?");
      ++at;
    } else {
      at += length;
    }
  }
  return text;
}

}  // namespace vramguard
