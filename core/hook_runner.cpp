#include "core/hook_runner.h"

#include <algorithm>
#include <iterator>
#include <thread>

#include "core/signal_sender.h"

namespace vramguard {

namespace {

using std::chrono::milliseconds;

constexpr auto kLookAgain = std::chrono::seconds(1);  // for a command whose helper was killed: it wakes nobody
constexpr int kExitBackground = 75;                   // EX_TEMPFAIL

bool succeeded(HookOutcome outcome) noexcept {
  return outcome == HookOutcome::Ok || outcome == HookOutcome::Background || outcome == HookOutcome::Sent;
}

HookOutcome outcome_of(const CommandResult& result) noexcept {
  switch (result.outcome) {
    case CommandResult::Outcome::Exited:
      if (result.code == 0) return HookOutcome::Ok;
      return result.code == kExitBackground ? HookOutcome::Background : HookOutcome::Failed;
    case CommandResult::Outcome::Signaled:
      return HookOutcome::Signaled;
    case CommandResult::Outcome::TimedOut:
      return HookOutcome::TimedOut;
    case CommandResult::Outcome::CannotStart:
      break;
  }
  return HookOutcome::CannotStart;
}

}  // namespace

void HookRun::start(const HookEnvironment& environment, const std::string& log_path, const Clock& clock,
                    milliseconds limit, Card card) noexcept {
  started_ = clock.now();
  taken_before_ = taken(card);
  run_ = hook_->gate.runs();
  if (hook_->callback) return run_callback();
  if (hook_->config.signal) return send();
  try {
    start_command(environment, log_path, limit);
  } catch (...) {
    done_ = true;
    code_ = ENOMEM;
  }
}

void HookRun::run_callback() noexcept {
  post_start(milliseconds(0));
  done_ = true;
  try {
    hook_->callback(facts_);
    outcome_ = HookOutcome::Ok;
  } catch (...) {
    outcome_ = HookOutcome::Failed;
  }
}

void HookRun::send() noexcept {
  post_start(milliseconds(0));
  done_ = true;
  const SignalAction& signal = *hook_->config.signal;
  const int level = static_cast<int>(facts_.level);
  const SendResult sent =
      signal.target == SignalTarget::Group ? host_.send_to_group(signal, level) : send_signal(signal, level);
  outcome_ = sent == SendResult::Sent ? HookOutcome::Sent : HookOutcome::NotSent;
  if (sent != SendResult::Sent) reason_ = to_string(sent);
  code_ = hook_->config.signal->number;
}

void HookRun::start_command(const HookEnvironment& environment, const std::string& log_path, milliseconds limit) {
  strings_ = hook_->config.argv;
  for (const std::string& argument : strings_) argv_.push_back(argument.c_str());
  argv_.push_back(nullptr);
  variables_ = environment.with(hook_variables(facts_, hook_->config.name, run_, log_path));
  const milliseconds timeout = std::min(limit, hook_->config.timeout);
  post_start(timeout);
  command_.start({argv_.data(), variables_.pointers(), timeout}, wake_, context_);  // its result tells if it could not
}

void HookRun::post_start(milliseconds limit) noexcept {
  LogRecord record(Event::HookStart);
  if (facts_.device != nullptr) record.device(facts_.device->ordinal);
  record.add("hook", hook_->config.name)
      .add("run", run_)
      .add("reason", to_string(facts_.event))
      .add("level", to_string(facts_.level));
  if (limit.count() > 0) record.add("timeout_ms", limit.count());
  host_.post(record);
}

// Of the card if that is short, otherwise of the budget. What others took or gave meanwhile is in it.
std::optional<Bytes> HookRun::taken(Card card) noexcept {
  const std::string_view scope = facts_.scope;
  if (scope == to_string(RefusalScope::Budget)) return host_.books().used_by_group();
  const std::optional<Bytes> free = card == Card::Ask ? host_.card_free() : host_.card_free_as_seen();
  if (!free) return std::nullopt;
  return host_.identity().total_bytes - std::min(*free, host_.identity().total_bytes);
}

HookOutcome HookRun::finish(const Clock& clock, Card card) noexcept {
  char output[CommandResult::kOutputBytes] = "";
  std::size_t output_bytes = 0;
  pid_t pid = 0;
  if (!done_) {
    const CommandResult result = command_.take_result();
    outcome_ = outcome_of(result);
    code_ = result.code;
    pid = result.pid;
    output_bytes = std::min(result.output.size(), sizeof output);
    std::copy_n(result.output.begin(), output_bytes, output);
  }
  const MonotonicTime now = clock.now();
  const bool good = succeeded(outcome_);
  LogRecord record(Event::HookEnd, good ? LogLevel::Info : LogLevel::Warn);
  if (facts_.device != nullptr) record.device(facts_.device->ordinal);
  record.add("hook", hook_->config.name)
      .add("run", run_)
      .add("outcome", to_string(outcome_))
      .add("code", code_)
      .add("duration_ms", std::chrono::duration_cast<milliseconds>(now - started_).count());
  if (*reason_ != '\0') record.add("reason", reason_);
  const std::optional<Bytes> after = taken(card);
  if (after && taken_before_) record.add("freed_bytes", *taken_before_ - std::min(*after, *taken_before_));
  if (hook_->config.estimated_free > 0) record.add("estimated_bytes", hook_->config.estimated_free);
  if (pid > 0) record.add("hook_pid", pid);
  if (output_bytes > 0) record.add("output", std::string_view(output, output_bytes));
  host_.post(record);
  hook_->tally.outcomes[static_cast<std::size_t>(outcome_)].fetch_add(1);
  hook_->gate.end(now, good);
  return outcome_;
}

void HookRunner::wait_for_end(const HookList::Hooks& removed) const noexcept {
  if (inside_hook()) return;
  for (const std::shared_ptr<Hook>& hook : removed) {
    while (hook->gate.running()) std::this_thread::sleep_for(milliseconds(1));
  }
}

bool HookRunner::may_run(Hook& hook, OomHost& host, const HookFacts& facts) noexcept {
  std::optional<HookSkip> skip;
  if (!enabled_) skip = HookSkip::Disabled;
  if (inside_hook()) skip = HookSkip::InsideHook;
  const Bytes headroom = std::min(host.books().free(), facts.card_free.value_or(kUnlimitedBytes));
  if (!skip) skip = hook.gate.begin(hook.config, clock_.now(), facts.level, headroom);
  if (skip) post_skip(hook, host, facts, *skip, headroom);
  return !skip;
}

void HookRunner::post_skip(Hook& hook, OomHost& host, const HookFacts& facts, HookSkip skip, Bytes headroom) noexcept {
  LogRecord record(Event::HookSkip);
  if (facts.device != nullptr) record.device(facts.device->ordinal);
  record.add("hook", hook.config.name).add("reason", to_string(skip));
  if (skip == HookSkip::Overhead) {
    record.add("overhead_bytes", hook.config.overhead).add("headroom_bytes", headroom);
  }
  host.post(record);
  hook.tally.skips[static_cast<std::size_t>(skip)].fetch_add(1);
}

std::unique_ptr<HookRun> HookRunner::make_run(const std::shared_ptr<Hook>& hook, OomHost& host,
                                              const HookFacts& facts) noexcept {
  HookFacts numbered = facts;
  numbered.seq = runs_.fetch_add(1) + 1;
  auto* run = new (std::nothrow) HookRun(hook, host, numbered, wake_, context_);
  if (run == nullptr) hook->gate.end(clock_.now(), false);
  return std::unique_ptr<HookRun>(run);
}

std::optional<HookOutcome> HookRunner::run_now(const std::shared_ptr<Hook>& hook, OomHost& host, const HookFacts& facts,
                                               MonotonicTime deadline) noexcept {
  if (!may_run(*hook, host, facts)) return std::nullopt;
  std::unique_ptr<HookRun> run = make_run(hook, host, facts);
  if (run == nullptr) return HookOutcome::CannotStart;
  {
    const ThreadSet::Member inside(inside_);
    run->start(environment_, log_path_, clock_,
               std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(deadline - clock_.now())),
               HookRun::Card::Ask);
  }
  if (run->wait_until(deadline)) return run->finish(clock_, HookRun::Card::Ask);
  {
    const std::lock_guard lock(mutex_);
    try {
      left_.push_back(nullptr);
      left_.back() = std::move(run);
    } catch (...) {
    }
  }
  if (run != nullptr) {  // no memory to leave it to the guard's thread
    run->wait_until(MonotonicTime::max());
    return run->finish(clock_, HookRun::Card::Ask);
  }
  wake_(context_);
  return HookOutcome::TimedOut;
}

void HookRunner::wish(const std::shared_ptr<Hook>& hook, OomHost& host, const HookFacts& facts) noexcept {
  if (inside_hook()) return post_skip(*hook, host, facts, HookSkip::InsideHook, 0);
  {
    const std::lock_guard lock(mutex_);
    const auto same = std::find_if(wishes_.begin(), wishes_.end(),
                                   [&](const Wish& wish) { return wish.hook == hook && wish.host == &host; });
    try {
      if (same == wishes_.end()) {
        wishes_.push_back({hook, &host, facts});
      } else if (facts.event != HookEvent::Pressure || facts.level >= same->facts.level) {
        same->facts = facts;
      }
    } catch (...) {
      return;
    }
  }
  wake_(context_);
}

// One that is still running, because a refused call left it or another thread is in it, waits for its turn.
std::optional<HookRunner::Wish> HookRunner::next_wish() noexcept {
  const std::lock_guard lock(mutex_);
  const auto next =
      std::find_if(wishes_.begin(), wishes_.end(), [](const Wish& wish) { return !wish.hook->gate.running(); });
  if (next == wishes_.end()) return std::nullopt;
  Wish wish = std::move(*next);
  wishes_.erase(next);
  return wish;
}

void HookRunner::start_next() noexcept {
  while (running_ == nullptr) {
    const std::optional<Wish> wish = next_wish();
    if (!wish) return;
    if (!may_run(*wish->hook, *wish->host, wish->facts)) continue;
    running_ = make_run(wish->hook, *wish->host, wish->facts);
    if (running_ == nullptr) continue;
    {
      const ThreadSet::Member inside(inside_);
      running_->start(environment_, log_path_, clock_, milliseconds::max(), HookRun::Card::AsSeen);
    }
    if (!running_->finished()) return;
    running_->finish(clock_, HookRun::Card::AsSeen);
    running_.reset();
  }
}

MonotonicTime HookRunner::work(MonotonicTime now) noexcept {
  if (running_ != nullptr && running_->finished()) {
    running_->finish(clock_, HookRun::Card::AsSeen);
    running_.reset();
  }
  std::vector<std::unique_ptr<HookRun>> ended;
  {
    const std::lock_guard lock(mutex_);
    for (std::unique_ptr<HookRun>& run : left_) {
      if (run->finished()) ended.push_back(std::move(run));
    }
    std::erase(left_, nullptr);
  }
  for (const std::unique_ptr<HookRun>& run : ended) run->finish(clock_, HookRun::Card::AsSeen);
  start_next();
  const std::lock_guard lock(mutex_);
  return running_ != nullptr || !left_.empty() ? now + kLookAgain : MonotonicTime::max();
}

}  // namespace vramguard
