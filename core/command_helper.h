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

// The starter's stack, the helper's, the block. No guard pages: leak checkers and garbage collectors of the program
// read all static memory.
inline constexpr std::size_t kSlotBytes = std::size_t{64} << 10;
inline constexpr std::size_t kStarterStackBytes = std::size_t{16} << 10;
inline constexpr std::size_t kBlockBytes = (sizeof(CommandBlock) + 4095) / 4096 * 4096;
static_assert(kStarterStackBytes + (std::size_t{16} << 10) + kBlockBytes <= kSlotBytes);

// The block is at the end of its slot.
inline void* helper_stack_end(CommandBlock* block) noexcept { return block; }
inline void* starter_stack_end(CommandBlock* block) noexcept {
  return reinterpret_cast<char*>(block) + kBlockBytes - kSlotBytes + kStarterStackBytes;
}

// The helper. Never returns.
void run_command_helper(void* block) noexcept;

// Its descriptors: all of the program's closed, 0 empty, 1 and 2 the ends of a pipe. 0 or an errno.
int prepare_descriptors() noexcept;
// Gives the command's pid or a negative errno.
long start_command(CommandBlock* block) noexcept;

}  // namespace vramguard
