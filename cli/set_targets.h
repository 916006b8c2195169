// Whom `vramguard set` asks: a guarded process, or the members of a group.
#pragma once

#include "core/bytes.h"
#include "core/state/state_reader.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace vramguard {

// "train.py (4711)": by its number here, or else its own.
std::string name_of(const SeenProcess& process);

// The live process of that number here, or else the only one that has it in its own pid namespace. Why there is none,
// for a person.
std::variant<SeenProcess, std::string> find_by_pid(const std::vector<SeenProcess>& processes, pid_t pid);

// The live members. A group belongs to one user.
std::variant<std::vector<SeenProcess>, std::string> find_group(const std::vector<SeenProcess>& processes,
                                                               const std::string& group);

}  // namespace vramguard
