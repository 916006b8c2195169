// Joining a group, and putting in order what members that have died left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "core/state/group_file.h"

namespace vramguard {

// By the thread that is to stand for the process: takes a place for as long as it lives. `name` is that of the
// process's files. A member's place.
std::variant<std::size_t, StateProblem> join_group(GroupFile& group, const std::string& name) noexcept;

// Frees the places of members that are dead and whose memory the driver has given back: their process is gone, or a
// second has passed. True if there were any. Any thread, at any time; never waits, and is no place of cancellation.
bool bury_dead(GroupFile& group, std::uint64_t own_pid_namespace) noexcept;

}  // namespace vramguard
