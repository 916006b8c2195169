// Whether a hook may run now: its switch, mode, cooldown, back-off and overhead.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "core/clock.h"
#include "core/guard_config.h"

namespace vramguard {

enum class HookOutcome : std::uint8_t {
  Ok,           // freed something, perhaps
  Background,   // is freeing in the background (exit status 75)
  Failed,       // exited with anything else
  Signaled,     // died by a signal
  TimedOut,     // did not end in time
  CannotStart,  // errno says why
  Sent,         // the signal is on its way
  NotSent,      // nobody would have handled it
};

inline constexpr std::size_t kHookOutcomes = 8;

const char* to_string(HookOutcome outcome) noexcept;

enum class HookSkip : std::uint8_t { Disabled, InsideHook, Once, Cooldown, BackOff, Overhead, Running };

inline constexpr std::size_t kHookSkips = 7;

const char* to_string(HookSkip skip) noexcept;

// Thread-safe. Knows of time only what it is told.
class HookGate {
 public:
  // nullopt: it may run, and is running from now on. `headroom` is what is free where the hook's overhead would go.
  std::optional<HookSkip> begin(const HookConfig& hook, MonotonicTime now, PressureLevel level,
                                Bytes headroom) noexcept;
  // Three failures in a row keep it from running for 30 s, the next for twice as long, up to ten minutes.
  void end(MonotonicTime now, bool succeeded) noexcept;

  // For a hook that was removed: it never runs again. A run that has begun goes on.
  void close() noexcept;
  bool running() const noexcept;
  std::uint64_t runs() const noexcept;
  std::uint64_t failures() const noexcept;

 private:
  mutable std::mutex mutex_;
  bool closed_ = false;
  bool running_ = false;
  std::uint64_t runs_ = 0;
  std::uint64_t failures_ = 0;
  unsigned failures_in_a_row_ = 0;
  std::optional<MonotonicTime> last_start_;
  PressureLevel last_level_ = PressureLevel::None;
  std::optional<MonotonicTime> held_back_until_;
  MonotonicTime::duration hold_{};
};

}  // namespace vramguard
