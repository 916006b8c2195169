// Who this process is, as it tells others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace vramguard {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;    // since boot, as in /proc/PID/stat; 0: unknown
  std::uint64_t pid_namespace = 0;  // inode; 0: unknown
  std::string comm;
  std::string command;  // its arguments with a space between
};
ProcessIdentity identity_of_this_process();

// When the process of that number was started; nullopt if there is none or /proc does not tell.
std::optional<std::uint64_t> start_ticks_of(pid_t pid) noexcept;
// The same, and `ended` for one of which nothing is left but its number: what it held is given back already. A `main`
// that has ended while others go on is not such a one.
struct ProcessLife {
  std::uint64_t start_ticks;
  bool ended;
};
std::optional<ProcessLife> life_of(pid_t pid) noexcept;
// Whether the process of that number and start has ended for certain: false also where /proc cannot tell. No place of
// cancellation.
bool is_gone(pid_t pid, std::uint64_t start_ticks) noexcept;

// This boot of the machine; 0: unknown.
std::uint64_t boot_of_this_machine() noexcept;

// Who the process of that number acts as, and its number in its own pid namespace.
struct ProcessStatus {
  uid_t real_uid, effective_uid;
  pid_t own_pid;
};
std::optional<ProcessStatus> status_of(pid_t pid) noexcept;

// Where the process runs, by its environment and its cgroup; "" for what is not known.
struct Surroundings {
  std::string namespace_, pod;  // of Kubernetes
  std::string container;        // short identifier
  std::string slurm_job;
};
Surroundings surroundings_of_this_process();

}  // namespace vramguard
