// A guarded device whose requests are tried as a guarded call tries them, on a clock that stands still.
#pragma once

#include "tests/unit/guard_fixture.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace vramguard {

enum class Answer { Served, Refused, Spilled };

// Another thread of the program, which could free something.
class IdleThread {
 public:
  IdleThread()
      : thread_([this] {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return ended_; });
        }) {}
  ~IdleThread() { end(); }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

struct OomFixture : GuardFixture {
  explicit OomFixture(GuardConfig settings = {}, Bytes budget = 2_GiB) : GuardFixture(budget, std::move(settings)) {
    set_clock(std::chrono::hours(-24 * 365 * 2));
  }

  // Seen from the real one: in the past no wait lasts, in the future none ends by itself.
  void set_clock(std::chrono::hours from_now) {
    clock.advance(std::chrono::steady_clock::now() + from_now - clock.now());
  }

  static GuardConfig with(OomPolicy policy, Defer defer = Defer::Never) {
    GuardConfig settings;
    settings.oom.policy = policy;
    settings.oom.defer_first_refusal = defer;
    return settings;
  }

  // As a call that takes exactly `bytes`.
  Answer ask(Bytes bytes, OomRequest request = {}) {
    request.api = "cuMemCreate";
    request.bytes = request.worst = bytes;
    tries = 0;
    RefusalScope scope{};
    if (try_once(bytes, scope)) {
      device.oom.fitted(bytes);
      return Answer::Served;
    }
    OomAttempt attempt(device.oom, request);
    for (;;) {
      switch (attempt.failed(scope)) {
        case OomAttempt::Next::GiveUp:
          return Answer::Refused;
        case OomAttempt::Next::Spill:
          attempt.spilled();
          return Answer::Spilled;
        case OomAttempt::Next::TryAgain:
          if (!try_once(bytes, scope)) break;
          attempt.served();
          return Answer::Served;
      }
    }
  }
  void take(Bytes bytes) { REQUIRE(ask(bytes) == Answer::Served); }
  void give_back(Bytes bytes) {
    device.memory.free_begins();
    if (reader.card_free) *reader.card_free += bytes;
    device.memory.release(Holder::Physical, bytes);
    device.memory.free_ends();
  }
  std::shared_ptr<Hook> add_hook(const std::string& name, HookCallback callback, std::int64_t priority = 0) {
    HookConfig config;
    config.name = name;
    config.on = HookEvent::Oom;
    config.priority = priority;
    REQUIRE(guard.hooks().add(config, std::move(callback)));
    for (const std::shared_ptr<Hook>& hook : guard.hooks().of(HookEvent::Oom)) {
      if (hook->config.name == name) return hook;
    }
    return nullptr;
  }
  PressureLevel raw_level() {
    device.memory.evaluate_pressure(clock.now());
    return device.memory.pressure_level();
  }
  std::string only(const std::string& event) const {
    REQUIRE(records(event).size() == 1);
    return records(event).front();
  }

  std::atomic<int> tries{0};                   // of the last request
  std::function<void()> before_retry = [] {};  // what others do meanwhile

 private:
  bool try_once(Bytes bytes, RefusalScope& scope) {
    if (tries++ > 0) before_retry();
    std::optional<Reservation> reservation = device.memory.reserve(bytes);
    scope = reservation ? RefusalScope::Device : RefusalScope::Budget;
    if (!reservation) return false;
    if (reader.card_free && *reader.card_free < bytes) return false;
    if (reader.card_free) *reader.card_free -= bytes;
    return device.memory.settle(*reservation, Holder::Physical, bytes);
  }
};

inline bool has(const std::string& line, const std::string& part) { return line.find(part) != std::string::npos; }

}  // namespace vramguard
