// What a command's helper process shares with us, and its two halves. Not for others than core/command*.cpp.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "core/command.h"

namespace vramguard {

// Plain words and compiler built-ins: a member function that is not inlined could be the sanitizers' version.
struct CommandBlock {
  // Written before the helper starts.
  const char* const* argv;
  const char* const* environment;
  std::int64_t timeout_ns;
  void (*on_end)(void*) noexcept;
  void* context;
  pid_t host;

  // Cleared, and a waiter woken, by the kernel when the helper no longer uses its stack, however it ended.
  std::uint32_t alive;
  std::uint32_t ended;  // the helper's last word: the results are there
  std::uint32_t stop;   // ours: kill the command now

  // Results.
  std::uint32_t started;
  std::uint32_t timed_out;
  int error;   // of what kept the command from starting
  int status;  // as wait tells it; of a timeout the last signal sent
  pid_t command;
  std::int64_t duration_ns;
  std::size_t output_bytes;
  char output[CommandResult::kOutputBytes];

  // The helper's own.
  pid_t helper;
  char scratch[std::size_t{16} << 10];
};

// The signal that wakes the helper to look around: a thread of the program has ended, or `stop` is set.
inline constexpr int kCommandWakeSignal = 12;

// A block with its two stacks, in static memory: when the program has ended, the module's own pages are all that is
// kept, for all helpers. Null when all are in use.
CommandBlock* claim_command_block() noexcept;
void return_command_block(CommandBlock* block) noexcept;
void* helper_stack_end(CommandBlock* block) noexcept;
void* starter_stack_end(CommandBlock* block) noexcept;

// The helper. Never returns.
void run_command_helper(void* block) noexcept;

// Its descriptors: all of the program's closed, 0 empty, 1 and 2 the ends of a pipe. 0 or an errno.
int prepare_descriptors() noexcept;
// Gives the command's pid or a negative errno.
long start_command(CommandBlock* block) noexcept;

}  // namespace vramguard
