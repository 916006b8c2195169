// Whether a process still lives, told apart from a later one with the same number.
#pragma once

#include <cstdint>

namespace vgsim {

// Clock ticks after boot at which the process started; 0 when there is none. Not for pids of another pid namespace.
std::uint64_t process_start_time(int pid);

// False for a zombie too: its memory is gone already.
bool process_is_alive(int pid, std::uint64_t start_time);

}  // namespace vgsim
