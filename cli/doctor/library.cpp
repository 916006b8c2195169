#include "cli/doctor/checks.h"

#include "cli/library_path.h"
#include "cli/preflight.h"
#include "core/state/state_reader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace vramguard {
namespace {

constexpr int kPatienceMs = 5000;
constexpr char kReinstall[] = "install vramguard anew, for this system; 'vramguard version' says which library is used";

// What the loader says against the library; "" if it loads. In a child: a strange library may do anything.
std::string why_not_loaded(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    const char* error = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr ? "+" : dlerror();
    const ssize_t written = write(ends[1], error, std::strlen(error));
    _exit(written > 0 ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char piece[512];
  pollfd ready{ends[0], POLLIN, 0};
  while (child > 0 && poll(&ready, 1, kPatienceMs) > 0) {
    const ssize_t size = read(ends[0], piece, sizeof piece);
    if (size <= 0) break;
    said.append(piece, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  if (said == "+") return "";
  return said.empty() ? "the loader gives no answer" : printable(said);
}

bool is_too_new(const std::string& why) { return why.find("version `GLIBC_") != std::string::npos; }

Diagnosis examine_file(const std::string& subject, const std::string& path) {
  const std::string why = why_not_loaded(path);
  if (why.empty()) return good(subject, path);
  if (is_too_new(why))
    return problem(
        subject, "is built for a newer C library: " + why,
        "build vramguard on the oldest system that it is to run on, or install its own package for this one");
  return problem(subject, "cannot be loaded: " + why, kReinstall);
}

}  // namespace

Diagnoses examine_library() {
  const std::string library = find_library();
  if (library.empty())
    return {problem("library", "libvramguard.so is neither in " + own_folder() + " nor in the lib folder beside it",
                    kReinstall)};
  if (const auto refused = check_library(library))
    return {problem("library", printable(refused->message),
                    "mend the file or its place; then 'vramguard doctor' once more")};
  Diagnoses all{examine_file("library", library)};
  const std::string core = library.substr(0, library.rfind('/') + 1) + "libvramguard-core.so";
  if (access(core.c_str(), F_OK) != 0) {
    all.push_back(problem("core",
                          "libvramguard-core.so is not beside libvramguard.so: programs that use CUDA will not start",
                          "keep both files in one folder"));
  } else {
    all.push_back(examine_file("core", core));
  }
  return all;
}

Diagnoses examine_command(const std::string& command) {
  const std::string library = find_library();
  const auto kind = read_elf_file(library.empty() ? "/proc/self/exe" : library);
  const char* path = std::getenv("PATH");
  if (const auto refused = check_command(command, path != nullptr ? path : "/bin:/usr/bin", *kind))
    return {
        problem("command", printable(refused->message), "'vramguard run' refuses it, too: a guard could not be kept")};
  return {good("command", "'" + printable(command) + "' can be guarded")};
}

}  // namespace vramguard
