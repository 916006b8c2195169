// Runs hooks: inside a refused call, or on the guard's own thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/command.h"
#include "core/command_environment.h"
#include "core/hook.h"
#include "core/oom_host.h"
#include "core/thread_set.h"

namespace vramguard {

// One run, from its start record to its end record. Belongs to one thread at a time.
class HookRun {
 public:
  // Whether the card may be asked what it has free, or nobody may be waited for.
  enum class Card { Ask, AsSeen };

  // `hook`'s gate has been passed. `wake` is called, from anywhere, when there may be something to do.
  HookRun(std::shared_ptr<Hook> hook, OomHost& host, const HookFacts& facts, void (*wake)(void*) noexcept,
          void* context) noexcept
      : hook_(std::move(hook)), host_(host), facts_(facts), wake_(wake), context_(context) {}

  // Within `limit` at the longest. A callback or a signal is over when this returns.
  void start(const HookEnvironment& environment, const std::string& log_path, const Clock& clock,
             std::chrono::milliseconds limit, Card card) noexcept;
  bool finished() const noexcept { return done_ || command_.finished(); }
  // True when it has finished.
  bool wait_until(MonotonicTime deadline) noexcept { return done_ || command_.wait_until(deadline); }
  // Once, after finished(): writes the end record and opens the gate.
  HookOutcome finish(const Clock& clock, Card card) noexcept;

  const Hook& hook() const noexcept { return *hook_; }

 private:
  void run_callback() noexcept;
  void send() noexcept;
  void start_command(const HookEnvironment& environment, const std::string& log_path, std::chrono::milliseconds limit);
  void post_start(std::chrono::milliseconds limit) noexcept;
  std::optional<Bytes> taken(Card card) noexcept;

  const std::shared_ptr<Hook> hook_;
  OomHost& host_;
  const HookFacts facts_;
  void (*const wake_)(void*) noexcept;
  void* const context_;
  std::uint64_t run_ = 0;
  MonotonicTime started_{};
  std::optional<Bytes> taken_before_;
  std::vector<std::string> strings_;  // what the command's argv points to
  std::vector<const char*> argv_;
  CommandEnvironment variables_;
  Command command_;
  bool done_ = false;  // without a command: `outcome_` and `code_` hold
  HookOutcome outcome_ = HookOutcome::CannotStart;
  int code_ = 0;
  const char* reason_ = "";
};

// Thread-safe.
class HookRunner {
 public:
  // `wake` asks for work().
  HookRunner(const Clock& clock, std::string log_path, void (*wake)(void*) noexcept, void* context)
      : clock_(clock), log_path_(std::move(log_path)), wake_(wake), context_(context) {}
  HookRunner(const HookRunner&) = delete;

  void enable(bool enabled) noexcept { enabled_ = enabled; }  // before the first hook
  // The calling thread is inside a callback of a hook: its own refusals run none.
  bool inside_hook() const noexcept { return inside_.has_this_thread(); }

  // Returns when none of `removed` is running any more, but for a call from within one.
  void wait_for_end(const HookList::Hooks& removed) const noexcept;
  // Runs an oom hook on the calling thread, until `deadline` at the latest; one that takes longer is ended, but not
  // waited for. nullopt: it was skipped, and the log says why.
  std::optional<HookOutcome> run_now(const std::shared_ptr<Hook>& hook, OomHost& host, const HookFacts& facts,
                                     MonotonicTime deadline) noexcept;
  // Runs it on the thread that calls work(), one after another. One that is running is not started again: the wish is
  // kept, once for each device; of two levels of pressure the higher one.
  void wish(const std::shared_ptr<Hook>& hook, OomHost& host, const HookFacts& facts) noexcept;
  // Starts and ends what is due, and says when to be called again if nobody asks for it. For the guard's thread.
  MonotonicTime work(MonotonicTime now) noexcept;

 private:
  struct Wish {
    std::shared_ptr<Hook> hook;
    OomHost* host;
    HookFacts facts;
  };

  bool may_run(Hook& hook, OomHost& host, const HookFacts& facts) noexcept;
  static void post_skip(Hook& hook, OomHost& host, const HookFacts& facts, HookSkip skip, Bytes headroom) noexcept;
  std::unique_ptr<HookRun> make_run(const std::shared_ptr<Hook>& hook, OomHost& host, const HookFacts& facts) noexcept;
  void start_next() noexcept;
  std::optional<Wish> next_wish() noexcept;

  const Clock& clock_;
  const std::string log_path_;
  void (*const wake_)(void*) noexcept;
  void* const context_;
  HookEnvironment environment_;
  std::atomic<bool> enabled_{true};
  std::atomic<std::uint64_t> runs_{0};
  ThreadSet inside_;

  std::unique_ptr<HookRun> running_;  // of the thread that works
  std::mutex mutex_;
  std::vector<std::unique_ptr<HookRun>> left_;  // past a request's deadline, not ended yet
  std::vector<Wish> wishes_;
};

}  // namespace vramguard
