// The half of a command's helper that becomes the command. Raw system calls alone: it runs on the host's TLS.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>

#include "core/command_helper.h"
#include "core/raw_syscall.h"

namespace vramguard {

namespace {

constexpr long kCloseRange = 436;  // SYS_close_range is younger than the oldest headers
constexpr long kMostDescriptors = 1L << 20;
constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

struct KernelAction {  // SIG_DFL is all zero
  long handler = 0;
  long flags = 0;
  long restorer = 0;
  std::uint64_t mask = 0;
};

struct Entry {  // linux_dirent64
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  unsigned char type;
  char name[1];
};

long close_raw(long fd) noexcept { return raw_syscall(SYS_close, fd); }

// False where there is no /proc.
bool close_listed() noexcept {
  const long folder = raw_syscall(SYS_openat, AT_FDCWD, raw_argument("/proc/self/fd"), O_RDONLY | O_DIRECTORY);
  if (folder < 0) return false;
  alignas(8) char entries[2048];
  // A folder that shrinks while it is read may hide some: once more until nothing is found.
  for (bool found = true; found;) {
    found = false;
    raw_syscall(SYS_lseek, folder, 0, SEEK_SET);
    long size;
    while ((size = raw_syscall(SYS_getdents64, folder, raw_argument(entries), sizeof entries)) > 0) {
      for (long at = 0; at < size; at += reinterpret_cast<Entry*>(entries + at)->length) {
        const char* name = reinterpret_cast<Entry*>(entries + at)->name;
        long fd = 0;
        for (; *name >= '0' && *name <= '9'; ++name) fd = fd * 10 + (*name - '0');
        if (*name == '\0' && fd != folder && close_raw(fd) == 0) found = true;
      }
    }
  }
  close_raw(folder);
  return true;
}

void close_all() noexcept {
  // The fallbacks need a free one.
  for (long fd = 0; fd < 3; ++fd) close_raw(fd);
  if (raw_syscall(kCloseRange, 0, ~0U, 0) == 0 || close_listed()) return;
  std::uint64_t limit[2] = {1024, 1024};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, raw_argument(limit));
  const long end = limit[1] < kMostDescriptors ? static_cast<long>(limit[1]) : kMostDescriptors;
  for (long fd = 0; fd < end; ++fd) close_raw(fd);
}

// Returns only when that fails; in memory that the helper sees, success must leave no error of an earlier try.
void become(CommandBlock* block, const char* file) noexcept {
  const int before = block->error;
  block->error = 0;
  const long result =
      raw_syscall(SYS_execve, raw_argument(file), raw_argument(block->argv), raw_argument(block->environment));
  // Found but forbidden says more than not found in the next folder.
  block->error = before == EACCES && result == -ENOENT ? EACCES : static_cast<int>(-result);
}

const char* path_of(const char* const* environment) noexcept {
  for (; *environment != nullptr; ++environment) {
    const char* text = *environment;
    if (text[0] == 'P' && text[1] == 'A' && text[2] == 'T' && text[3] == 'H' && text[4] == '=') return text + 5;
  }
  return kDefaultPath;
}

// As execvp, but for scripts that do not name their interpreter.
void become_by_path(CommandBlock* block) noexcept {
  const char* const name = block->argv[0];
  if (name[0] == '\0') {
    block->error = ENOENT;
    return;
  }
  for (const char* at = name; *at != '\0'; ++at) {
    if (*at == '/') return become(block, name);
  }
  const char* path = path_of(block->environment);
  for (;;) {
    // The folder that is current is `/`, whatever an empty entry meant where PATH was written.
    std::size_t size = 0;
    for (; *path != '\0' && *path != ':'; ++path) {
      if (size < sizeof block->scratch) block->scratch[size++] = *path;
    }
    if (size < sizeof block->scratch) block->scratch[size++] = '/';
    for (const char* at = name; *at != '\0' && size < sizeof block->scratch; ++at) block->scratch[size++] = *at;
    if (size < sizeof block->scratch) {
      block->scratch[size] = '\0';
      become(block, block->scratch);
    }
    if (*path == '\0') return;
    ++path;
  }
}

// On its own stack, while the helper stands still. Never returns.
void run_starter(void* argument) noexcept {
  auto* const block = static_cast<CommandBlock*>(argument);
  const KernelAction by_default;
  for (long signal = 1; signal <= 64; ++signal) {
    raw_syscall(SYS_rt_sigaction, signal, raw_argument(&by_default), 0, sizeof by_default.mask);
  }
  raw_syscall(SYS_setsid);
  raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (raw_syscall(SYS_getppid) == block->helper) {
    raw_syscall(SYS_chdir, raw_argument("/"));
    raw_syscall(SYS_dup3, 2, 1, 0);
    raw_syscall(SYS_fcntl, 2, F_SETFD, 0);
    const std::uint64_t none = 0;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_argument(&none), 0, sizeof none);
    become_by_path(block);
  }
  for (;;) raw_syscall(SYS_exit_group, 127);
}

}  // namespace

int prepare_descriptors() noexcept {
  close_all();
  // 0: a pipe that nobody writes to is as empty, where there is no /dev/null.
  int ends[2];
  if (raw_syscall(SYS_openat, AT_FDCWD, raw_argument("/dev/null"), O_RDONLY) < 0) {
    const long error = raw_syscall(SYS_pipe2, raw_argument(ends), 0);
    if (error < 0) return static_cast<int>(-error);
    close_raw(1);
  }
  const long error = raw_syscall(SYS_pipe2, raw_argument(ends), O_CLOEXEC);
  if (error < 0) return static_cast<int>(-error);
  if (ends[0] != 1 || ends[1] != 2) return EBADF;
  raw_syscall(SYS_fcntl, 1, F_SETFL, O_NONBLOCK);
  return 0;
}

long start_command(CommandBlock* block) noexcept {
  block->error = 0;
  const long pid = raw_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, starter_stack_end(block), nullptr, run_starter, block);
  if (pid > 0 && block->error != 0) {
    raw_syscall(SYS_wait4, pid, 0, 0, 0);
    return -block->error;
  }
  return pid;
}

}  // namespace vramguard
