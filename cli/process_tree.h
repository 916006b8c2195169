// The processes that descend from one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramguard {

struct TreeProcess {
  pid_t pid = 0, parent = 0;
  char state = '?';               // as in ps: R, S, D, T, Z ...
  std::uint64_t start_ticks = 0;  // since boot
  std::uint64_t start_stack = 0;  // another one after each exec; 0: this user may not look
  std::string comm;
};

std::optional<TreeProcess> look_at_tree_process(pid_t pid);

// Without `root` itself. One look at all of /proc.
std::vector<TreeProcess> descendants_of(pid_t root);

// By the parents of `pid`; false where it has ended.
bool descends_from(pid_t pid, pid_t root);

}  // namespace vramguard
