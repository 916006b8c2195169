#include "cli/loader_check.h"

#include "cli/exit_status.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace vramguard {
namespace {

constexpr char kOwnProgram[] = "/proc/self/exe";

// "" where the loader cannot be started.
std::string list_of_loaded(const std::string& library) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string preload = "LD_PRELOAD=" + library, list_only = "LD_TRACE_LOADED_OBJECTS=1", name = "vramguard";
  char* const environment[] = {preload.data(), list_only.data(), nullptr};
  char* const arguments[] = {name.data(), nullptr};
  pid_t loader = -1;
  const int error = posix_spawn(&loader, kOwnProgram, &actions, nullptr, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string list;
  char buffer[4096];
  for (ssize_t size; error == 0 && ((size = read(ends[0], buffer, sizeof buffer)) > 0 || (size < 0 && errno == EINTR));)
    list.append(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
  close(ends[0]);
  if (error == 0) waitpid(loader, nullptr, 0);
  return list;
}

}  // namespace

std::optional<Problem> check_loader(const std::string& library) {
  const std::string list = list_of_loaded(library);
  if (list.find(library) != std::string::npos && list.find("not found") == std::string::npos) return std::nullopt;
  return Problem{kVramguardFailed,
                 "the loader does not load " + library + ", and nothing would be guarded; 'vramguard doctor' says why"};
}

}  // namespace vramguard
