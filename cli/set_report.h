// What `vramguard set` has done, in words and for programs.
#pragma once

#include "core/bytes.h"
#include "core/state/process_state.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace vramguard {

// One request to one process. A plain value; its texts are printable.
struct SetResult {
  pid_t pid = 0;
  std::string process;  // "train.py (4711)"
  std::string what;     // "budget", "policy" or "reload"
  bool done = false;
  std::string message;  // what was not done, or why nothing was

  // Of a budget.
  std::string uuid;
  int ordinal = -1;
  Bytes old_bytes = kStateUnknown, new_bytes = kStateUnknown, used_bytes = 0;
  // Of a policy.
  std::string old_policy, policy;
};

// The bytes were taken all at once, long before they are needed: a lower budget frees none of them.
bool has_preallocated(const SetResult& result);

// What holds now, and what it means; "" where nothing has changed.
std::string in_words(const SetResult& result);

// As docs/schema/set.json describes it, with a line end.
std::string set_json(const std::vector<SetResult>& results);

}  // namespace vramguard
