// The one chance to save its work that a program gets before it is told that there is no memory.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "core/hook_runner.h"

namespace vramguard {

// Thread-safe. Once per process: whoever is refused first runs it, nobody else waits for it.
class Checkpoint {
 public:
  // What the program itself offers: called in the refused call, with the request that failed.
  using Callback = std::function<void(const HookFacts&)>;

  Checkpoint(const OomConfig& config, std::string log_path, const Clock& clock)
      : config_(config), log_path_(std::move(log_path)), clock_(clock) {}
  Checkpoint(const Checkpoint&) = delete;

  // Replaces the command or signal of the configuration; null: those again.
  void set_callback(Callback callback) noexcept;
  // A command or a callback is run to its end, or for checkpoint_timeout; a signal is sent and nothing waited for.
  void run(OomHost& host, const HookFacts& facts) noexcept;

 private:
  void run_callback(const Callback& callback, OomHost& host, const HookFacts& facts) noexcept;
  void run_command(OomHost& host, const HookFacts& facts);
  void send(OomHost& host, const HookFacts& facts) noexcept;
  void post(OomHost& host, const HookFacts& facts, const char* by, const char* outcome, int code, MonotonicTime started,
            std::string_view output = {}) noexcept;

  const OomConfig& config_;
  const std::string log_path_;
  const Clock& clock_;
  HookEnvironment environment_;
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  Callback callback_;
};

}  // namespace vramguard
