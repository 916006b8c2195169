#include "core/oom_path.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace vramguard {

namespace {

using std::chrono::milliseconds;

// How long a request waits for calls that are inside the driver at that moment and may leave room for it; and how often
// it tries again, as what they left may have gone to another thread.
constexpr int kPatienceMs = 200;
constexpr unsigned kMostLooks = 16;
constexpr unsigned kMostReleases = 64;  // of a sentinel of all, to neighbours that are faster than we are
constexpr milliseconds kLongestPoll{250};
constexpr milliseconds kGrace{100};  // for another thread, or process, to free something

std::uint64_t this_thread() noexcept { return static_cast<std::uint64_t>(syscall(SYS_gettid)); }

}  // namespace

void OomPath::forget_refusal(Bytes bytes) noexcept { deferral_.served(this_thread(), bytes); }

OomAttempt::OomAttempt(OomPath& path, const OomRequest& request) noexcept
    : path_(path),
      host_(path.host_),
      memory_(path.host_.books()),
      request_(request),
      thread_(this_thread()),
      began_(path.services_.clock.now()),
      deadline_(began_ + path.settings_.deadline.load()),
      round_seen_(path.round_.step()) {}

OomAttempt::~OomAttempt() {
  end_round();
  if (undecided_) {
    reason_ = "driver_error";
    post_returned();
  }
  if (!place_) return;
  place_.reset();
  memory_.room().made();  // for the next in the line
}

void OomAttempt::end_round() noexcept {
  if (owns_round_) path_.round_.end(next_hook_);
  owns_round_ = false;
}

OomAttempt::Next OomAttempt::failed(RefusalScope scope, bool undone) noexcept {
  ++attempts_;
  scope_ = scope == RefusalScope::Budget && memory_.ceiling_is_lower(request_.worst) ? RefusalScope::LeaveFree : scope;
  if (path_.sentinel_.holds_all() && attempts_ < kMostReleases && release_sentinel()) return Next::TryAgain;
  for (;;) {
    switch (step_) {
      case Step::Begin:
        step_ = is_hopeless() ? Step::Refuse : Step::Look;
        break;
      case Step::Look:
        if (!undone && look()) return Next::TryAgain;
        step_ = Step::Trim;
        break;
      case Step::Trim:
        step_ = Step::Refuse;
        if (host_.trim()) return Next::TryAgain;
        break;
      case Step::Refuse:
        step_ = Step::Hooks;
        if (!refuse()) return Next::GiveUp;
        break;
      case Step::Hooks:
        if (run_hooks()) return Next::TryAgain;
        step_ = Step::Emergency;
        break;
      case Step::Emergency:
        if (release_sentinel()) return Next::TryAgain;
        step_ = Step::Policy;
        break;
      case Step::Policy:
        step_ = Step::Over;
        if (const Next next = apply_policy(); next != Next::GiveUp) return next;
        break;
      case Step::Wait:
        if (release_sentinel() || wait()) return Next::TryAgain;
        step_ = Step::Over;
        break;
      case Step::Over:
        give_up();
        return Next::GiveUp;
    }
  }
}

// More than all of the budget, or of the card.
bool OomAttempt::is_hopeless() const noexcept {
  return request_.bytes > std::min(memory_.budget(), host_.identity().total_bytes);
}

Bytes OomAttempt::shortfall() noexcept {
  if (scope_ != RefusalScope::Device) return memory_.short_of(request_.worst);
  const Bytes free = host_.card_free().value_or(0);
  return request_.worst - std::min(request_.worst, free);
}

// As many chunks as are missing, if that makes it fit. A neighbour may be faster than we are: then more of them.
bool OomAttempt::release_sentinel() noexcept {
  const bool by_card = scope_ == RefusalScope::Device;
  const Bytes missing = std::max<Bytes>(shortfall(), by_card ? 1 : 0);
  if (missing == 0) return attempts_ < kMostLooks;  // it fits by now
  if (by_card && attempts_ > 1 && !std::exchange(outrun_, true)) path_.outrun_.fetch_add(1);
  const bool released = missing <= path_.sentinel_.held() ? path_.sentinel_.release(missing, host_)
                                                          : host_.ask_group_for_sentinel(missing);
  if (!released) return false;
  rescued_by_ = "sentinel";
  return true;
}

bool OomAttempt::look() noexcept {
  if (scope_ == RefusalScope::Device || attempts_ >= kMostLooks) return false;
  return memory_.wait_for_calls(request_.bytes, kPatienceMs) || host_.look_again();
}

// Whether anything may be done in this call that takes its time.
bool OomAttempt::may_be_held_up() const noexcept {
  return request_.bytes >= path_.settings_.smallest_rescued && !request_.capturing &&
         !path_.services_.runner.inside_hook() && !path_.services_.checkpoint.inside();
}

// Whether the calling thread may be kept waiting at all.
bool OomAttempt::may_wait() const noexcept { return may_be_held_up() && !is_hopeless(); }

// The one checkpoint of a process is not for an absurd request.
bool OomAttempt::may_save() const noexcept {
  return may_be_held_up() && (path_.services_.checkpoint.repeats() || !is_hopeless());
}

bool OomAttempt::run_hooks() noexcept {
  if (!path_.settings_.runs_hooks || !request_.runs_hooks) return false;
  if (path_.services_.runner.inside_hook() &&
      request_.bytes >= path_.settings_.smallest_rescued) {  // each says that it was skipped
    for (const std::shared_ptr<Hook>& hook : path_.services_.hooks.of(HookEvent::Oom, host_.identity().ordinal))
      path_.services_.runner.run_now(hook, host_, facts(HookEvent::Oom), deadline_);
  }
  if (!may_wait()) return false;
  if (!owns_round_) {
    if (now() < deadline_ && a_hook_has_ended()) return true;
    if (!path_.services_.hooks.any(HookEvent::Oom)) return false;
    owns_round_ = path_.round_.try_begin();
    if (!owns_round_) return follow_round();
    const bool missed_one = a_hook_has_ended();
    hooks_ = path_.services_.hooks.of(HookEvent::Oom, host_.identity().ordinal);
    if (follows_round_) next_hook_ = path_.round_.stopped_at();
    if (missed_one) return true;
  }
  if (run_next_hook()) return true;
  end_round();
  return false;
}

// In another thread, since the last try: what it freed is for all.
bool OomAttempt::a_hook_has_ended() noexcept {
  const std::uint32_t step = path_.round_.step();
  if (step == round_seen_) return false;
  round_seen_ = step;
  follows_round_ = true;
  rescued_by_ = "hook";
  return true;
}

bool OomAttempt::follow_round() noexcept {
  follows_round_ = true;
  const MonotonicTime time = now();
  if (time >= deadline_) return false;
  path_.round_.wait(round_seen_, std::min(deadline_, time + kGrace));
  a_hook_has_ended();
  return true;
}

bool OomAttempt::run_next_hook() noexcept {
  const RoomSignal::Listening listening(memory_.room());
  if (in_background_ && now() < deadline_) {
    memory_.room().wait(memory_.room().now(), std::min(deadline_, now() + kGrace));
    return true;
  }
  while (next_hook_ < hooks_.size() && now() < deadline_) {
    const std::shared_ptr<Hook>& hook = hooks_[next_hook_++];
    const std::uint32_t seen = memory_.room().now();
    const std::optional<HookOutcome> outcome =
        path_.services_.runner.run_now(hook, host_, facts(HookEvent::Oom), deadline_);
    if (!outcome) continue;
    ++hooks_run_;
    rescued_by_ = "hook";
    in_background_ = outcome == HookOutcome::Background;
    if (outcome == HookOutcome::Sent) memory_.room().wait(seen, std::min(deadline_, now() + kGrace));
    path_.round_.hook_ended();
    return true;
  }
  return false;
}

OomAttempt::Next OomAttempt::apply_policy() noexcept {
  switch (path_.settings_.policy.load()) {
    case OomPolicy::Fail:
      break;
    case OomPolicy::RetryAfterFree:
      if (!may_wait()) break;
      host_.look_again();
      host_.trim();
      rescued_by_ = "retry";
      return Next::TryAgain;
    case OomPolicy::WaitAndRetry:
      if (!may_wait() || !wait()) break;
      step_ = Step::Wait;
      return Next::TryAgain;
    case OomPolicy::CheckpointAndFail:
      if (may_save()) path_.services_.checkpoint.run(host_, facts(HookEvent::Oom));
      break;
    case OomPolicy::Spill:
      if (!request_.can_spill || request_.bytes < path_.settings_.smallest_rescued) break;
      if (path_.services_.spill.try_reserve(request_.bytes)) return Next::Spill;
      reason_ = "spill_limit";
      break;
  }
  return Next::GiveUp;
}

bool OomAttempt::nobody_can_free() noexcept {
  if (scope_ != RefusalScope::Budget) return false;                           // neighbours can
  if (memory_.share() != nullptr && !memory_.share()->alone()) return false;  // nor can we tell what others will free
  const Bytes ever_free = memory_.budget() - std::min(memory_.budget(), memory_.unseen());
  return request_.worst > ever_free || !host_.others_can_free();
}

// True: there may be room now.
bool OomAttempt::wait() noexcept {
  RoomSignal& room = memory_.room();
  if (nobody_can_free()) {
    // The last that could has perhaps done so since the last try, and ended.
    if (!last_look_ && memory_.short_of(request_.worst) == 0) return last_look_ = true;
    reason_ = "nobody_can_free";
    return false;
  }
  if (!place_) {
    wait_until_ = path_.deadlines_.of(thread_, now(), path_.settings_.wait_timeout.load());
    rescued_by_ = "wait";
    listening_.emplace(room);
    place_.emplace(path_.line_);
    room_seen_ = room.now();
  }
  do {
    const MonotonicTime time = now();
    if (time >= wait_until_) {
      reason_ = "wait_timeout";
      return false;
    }
    room.wait(room_seen_, std::min(wait_until_, time + poll_));
    poll_ = std::min(poll_ * 3 / 2, kLongestPoll);
    room_seen_ = room.now();
  } while (!place_->is_first());
  host_.look_again();
  return true;
}

milliseconds OomAttempt::waited() const noexcept { return std::chrono::duration_cast<milliseconds>(now() - began_); }

}  // namespace vramguard
