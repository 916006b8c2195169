#include "core/hook_gate.h"

#include <algorithm>

namespace vramguard {

namespace {

constexpr unsigned kFailuresToHoldBack = 3;
constexpr MonotonicTime::duration kFirstHold = std::chrono::seconds(30);
constexpr MonotonicTime::duration kLongestHold = std::chrono::minutes(10);

}  // namespace

const char* to_string(HookOutcome outcome) noexcept {
  switch (outcome) {
    case HookOutcome::Ok:
      return "ok";
    case HookOutcome::Background:
      return "background";
    case HookOutcome::Failed:
      return "failed";
    case HookOutcome::Signaled:
      return "signaled";
    case HookOutcome::TimedOut:
      return "timeout";
    case HookOutcome::CannotStart:
      return "cannot_start";
    case HookOutcome::Sent:
      return "sent";
    case HookOutcome::NotSent:
      return "not_sent";
  }
  return "";
}

const char* to_string(HookSkip skip) noexcept {
  switch (skip) {
    case HookSkip::Disabled:
      return "disabled";
    case HookSkip::InsideHook:
      return "inside_hook";
    case HookSkip::Once:
      return "once";
    case HookSkip::Cooldown:
      return "cooldown";
    case HookSkip::BackOff:
      return "back_off";
    case HookSkip::Overhead:
      return "overhead";
    case HookSkip::Running:
      return "running";
  }
  return "";
}

std::optional<HookSkip> HookGate::begin(const HookConfig& hook, MonotonicTime now, PressureLevel level,
                                        Bytes headroom) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return HookSkip::Disabled;
  if (hook.once && runs_ > 0) return HookSkip::Once;
  if (running_) return HookSkip::Running;
  const bool cools_down = hook.on != HookEvent::Oom && last_start_ && now - *last_start_ < hook.cooldown;
  const bool is_worse = hook.on == HookEvent::Pressure && level > last_level_;
  if (cools_down && !is_worse) return HookSkip::Cooldown;
  if (held_back_until_ && now < *held_back_until_) return HookSkip::BackOff;
  if (headroom < hook.overhead) return HookSkip::Overhead;
  running_ = true;
  ++runs_;
  last_start_ = now;
  last_level_ = level;
  return std::nullopt;
}

void HookGate::end(MonotonicTime now, bool succeeded) noexcept {
  const std::lock_guard lock(mutex_);
  running_ = false;
  if (succeeded) {
    failures_in_a_row_ = 0;
    hold_ = {};
    held_back_until_.reset();
    return;
  }
  ++failures_;
  if (++failures_in_a_row_ < kFailuresToHoldBack) return;
  hold_ = hold_.count() == 0 ? kFirstHold : std::min(hold_ * 2, kLongestHold);
  held_back_until_ = now + hold_;
}

void HookGate::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool HookGate::running() const noexcept {
  const std::lock_guard lock(mutex_);
  return running_;
}

std::uint64_t HookGate::runs() const noexcept {
  const std::lock_guard lock(mutex_);
  return runs_;
}

std::uint64_t HookGate::failures() const noexcept {
  const std::lock_guard lock(mutex_);
  return failures_;
}

}  // namespace vramguard
