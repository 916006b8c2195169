// The one chance to save its work that a program gets before it is told that there is no memory.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "core/hook_runner.h"

namespace vramguard {

// Thread-safe. Once per process: whoever is refused first runs it, nobody else waits for it. Or for each request that
// is refused, but not for one that is made by the callback.
class Checkpoint {
 public:
  // What the program itself offers: called in the refused call, with the request that failed.
  using Callback = std::function<void(const HookFacts&)>;

  enum class Times { Once, Each };

  Checkpoint(const OomConfig& config, std::string log_path, const Clock& clock, Times times = Times::Once)
      : config_(config), log_path_(std::move(log_path)), clock_(clock), times_(times) {}
  Checkpoint(const Checkpoint&) = delete;

  // Replaces the command or signal of the configuration; null: those again.
  void set_callback(Callback callback, std::uint64_t key = 0) noexcept;
  // The same as null, while the last one was set with this key. Whether it was.
  bool remove_callback(std::uint64_t key) noexcept;
  // Returns when no callback is running any more, but for a call from within one.
  void wait_for_end() const noexcept;
  // The calling thread is inside a callback of it.
  bool inside() const noexcept { return inside_.has_this_thread(); }
  bool repeats() const noexcept { return times_ == Times::Each; }
  // A command or a callback is run to its end, or for checkpoint_timeout; a signal is sent and nothing waited for.
  void run(OomHost& host, const HookFacts& facts) noexcept;

 private:
  void run_callback(const Callback& callback, OomHost& host, const HookFacts& facts) noexcept;
  void run_command(OomHost& host, const HookFacts& facts);
  void send(OomHost& host, const HookFacts& facts) noexcept;
  void post(OomHost& host, const HookFacts& facts, const char* by, const char* outcome, int code, MonotonicTime started,
            std::string_view output = {}, const char* reason = "") noexcept;

  const OomConfig& config_;
  const std::string log_path_;
  const Clock& clock_;
  const Times times_;
  ThreadSet inside_;
  std::atomic<unsigned> running_{0};  // of callbacks
  HookEnvironment environment_;
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  Callback callback_;
  std::uint64_t key_ = 0;
};

}  // namespace vramguard
