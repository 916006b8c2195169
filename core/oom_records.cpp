// What the way of a refused request tells: its records, and what hooks are told.
#include <algorithm>

#include "core/oom_path.h"

namespace vramguard {

using std::chrono::milliseconds;

const char* to_string(OomPolicy policy) noexcept {
  switch (policy) {
    case OomPolicy::Fail:
      return "fail";
    case OomPolicy::RetryAfterFree:
      return "retry-after-free";
    case OomPolicy::WaitAndRetry:
      return "wait-and-retry";
    case OomPolicy::CheckpointAndFail:
      return "checkpoint-and-fail";
    case OomPolicy::Spill:
      return "spill";
  }
  return "";
}

std::optional<OomPolicy> oom_policy_named(std::string_view name) noexcept {
  for (const OomPolicy policy : {OomPolicy::Fail, OomPolicy::RetryAfterFree, OomPolicy::WaitAndRetry,
                                 OomPolicy::CheckpointAndFail, OomPolicy::Spill}) {
    if (name == to_string(policy)) return policy;
  }
  return std::nullopt;
}

// False: turned down for now, so that the program frees what it keeps for itself and asks again.
bool OomAttempt::refuse() noexcept {
  refused_ = true;
  memory_.count_refusal();
  path_.counts_.refused[static_cast<std::size_t>(scope_)].fetch_add(1);
  const bool rescuable = may_be_held_up() && !is_hopeless();
  const Defer defer = path_.settings_.defer;
  const bool may_be_deferred = defer == Defer::Always || (defer == Defer::Auto && host_.program_frees_on_refusal());
  const bool deferred = rescuable && may_be_deferred && path_.deferral_.is_first(thread_, request_.bytes, now());
  LogRecord record = record_of(Event::OomRefused);
  record.add("short_bytes", shortfall()).add("scope", vramguard::to_string(scope_));
  if (deferred) record.add("deferred", 1u);
  undecided_ = !deferred;
  host_.post(record);
  return !deferred;
}

// What each record of the request begins with.
LogRecord OomAttempt::record_of(Event event) const noexcept {
  LogRecord record(event);
  record.device(host_.identity().ordinal)
      .add("api", request_.api)
      .add("tid", thread_)
      .add("request_bytes", request_.bytes);
  return record;
}

HookFacts OomAttempt::facts(HookEvent event) noexcept {
  HookFacts facts;
  facts.event = event;
  facts.device = &host_.identity();
  facts.level = facts.previous = memory_.pressure_level();
  facts.scope = vramguard::to_string(scope_);
  if (memory_.budget() != kUnlimitedBytes) facts.budget = memory_.budget();
  facts.used = memory_.used_by_group();
  facts.card_free = host_.card_free();
  facts.free = scope_ == RefusalScope::Budget ? memory_.free() : facts.card_free.value_or(0);
  facts.requested = request_.bytes;
  facts.missing = shortfall();
  facts.attempt = attempts_;
  facts.deadline = std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(deadline_ - now()));
  return facts;
}

void OomAttempt::served() noexcept {
  path_.fitted(request_.bytes);
  if (place_) path_.deadlines_.ended(thread_, now(), true);
  if (refused_) recovered(rescued_by_, 0);
}

void OomAttempt::spilled() noexcept { recovered("spill", request_.bytes); }

void OomAttempt::could_not_spill() noexcept {
  path_.services_.spill.give_back(request_.bytes);
  reason_ = "no_host_memory";
  give_up();
}

void OomAttempt::recovered(const char* by, Bytes spilled) noexcept {
  undecided_ = false;
  path_.counts_.recovered.fetch_add(1);
  path_.counts_.waited_ms.fetch_add(static_cast<std::uint64_t>(waited().count()));
  LogRecord record = record_of(Event::OomRecovered);
  record.add("by", by).add("attempts", attempts_ + 1).add("hooks", hooks_run_).add("wait_ms", waited().count());
  if (spilled > 0) record.add("spilled_bytes", path_.services_.spill.admitted());
  host_.post(record);
}

void OomAttempt::give_up() noexcept {
  path_.counts_.returned[static_cast<std::size_t>(scope_)].fetch_add(1);
  path_.counts_.waited_ms.fetch_add(static_cast<std::uint64_t>(waited().count()));
  if (place_) path_.deadlines_.ended(thread_, now(), false);
  post_returned();
  if (!is_hopeless()) memory_.oom_was_returned(now());
  for (const std::shared_ptr<Hook>& hook : path_.services_.hooks.of(HookEvent::OomReturned)) {
    if (path_.settings_.runs_hooks) path_.services_.runner.wish(hook, host_, facts(HookEvent::OomReturned));
  }
  host_.oom_returned(request_, scope_);
}

void OomAttempt::post_returned() noexcept {
  undecided_ = false;
  LogRecord record = record_of(Event::OomReturned);
  record.add("short_bytes", shortfall()).add("used_bytes", memory_.used());
  if (memory_.share() != nullptr) record.add("group_used_bytes", memory_.used_by_group());
  if (memory_.budget() != kUnlimitedBytes) record.add("budget_bytes", memory_.budget());
  if (const std::optional<Bytes> card = host_.card_free()) record.add("device_free_bytes", *card);
  record.add("scope", vramguard::to_string(scope_))
      .add("policy", to_string(path_.settings_.policy.load()))
      .add("attempts", attempts_)
      .add("wait_ms", waited().count());
  if (*reason_ != '\0') record.add("reason", reason_);
  if (hooks_run_ > 0) record.add("hooks", hooks_run_);
  record.add("linear_bytes", memory_.linear())
      .add("physical_bytes", memory_.held(Holder::Physical))
      .add("pool_bytes", memory_.held(BoundedHolder::Pools))
      .add("graph_bytes", memory_.held(BoundedHolder::Graphs))
      .add("array_bytes", memory_.held(Holder::Array))
      .add("context_bytes", memory_.unseen());
  if (memory_.sentinel() > 0) record.add("sentinel_bytes", memory_.sentinel());
  host_.post_urgent(record);
}

}  // namespace vramguard
