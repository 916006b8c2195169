// What /proc tells of processes that use a card.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace vramguard {

struct FoundProcess {
  std::uint64_t start_ticks = 0;   // since boot
  pid_t own_pid = 0;               // in its innermost pid namespace
  uid_t uid = 0;                   // that it acts as
  std::string command;             // its arguments with a space between, or its name
  std::int64_t started_at_ms = 0;  // since 1970
};

// nullopt: there is none of that number here.
std::optional<FoundProcess> find_process(pid_t pid);

// What the files that a process has mapped say of it.
enum class Mapped {
  Secret,   // this user may not look
  NoCuda,   // it uses no card: NVML means another process, which has this number elsewhere
  Cuda,     // without libvramguard
  Library,  // with it
};
Mapped what_is_mapped(pid_t pid);

// The processes of all pid namespaces that can be seen from here, by their own number and their start. One look at
// /proc, taken when it is first needed. For one thread.
class ProcessIndex {
 public:
  // One that acts as `uid`.
  std::optional<pid_t> pid_of(pid_t own_pid, std::uint64_t start_ticks, uid_t uid);

 private:
  void look();
  bool looked_ = false;
  std::map<std::pair<std::uint64_t, pid_t>, std::pair<pid_t, uid_t>> by_start_;
};

// By the system's list of users; its number where that has none.
std::string user_name(uid_t uid);

}  // namespace vramguard
