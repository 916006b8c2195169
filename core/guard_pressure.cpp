// Publishes the pressure of each device, runs what is to run at it, and keeps the card in view.
#include <algorithm>
#include <thread>

#include "core/guard.h"
#include "core/pressure_scope.h"

namespace vramguard {

namespace {

// How often pools and graph memory are read although nobody allocates.
constexpr auto kBetweenReadings = std::chrono::seconds(1);

}  // namespace

MonotonicTime Guard::publish_pressure(MonotonicTime now, AskDriver ask) noexcept {
  MonotonicTime next = MonotonicTime::max();
  for (GuardedDevice& device : devices_) {
    // What pools give back, no call shows.
    if (ask == AskDriver::Yes && (device.pools_used || device.graphs_used)) {
      read_bounded(device);
      next = std::min(next, now + kBetweenReadings);
    }
    const char* scope = to_string(config_.pressure.scope);
    const std::optional<PressureTransition> change = evaluate_pressure(device, now, scope);
    next = std::min({next, device.memory.next_evaluation(), device.card_pressure.next_deadline()});
    if (change) publish(device, *change, scope, ask);
  }
  return next;
}

// By the configured scope. Of the worse one, `scope` says which it was.
std::optional<PressureTransition> Guard::evaluate_pressure(GuardedDevice& device, MonotonicTime now,
                                                           const char*& scope) noexcept {
  Ledger& memory = device.memory;
  PressureView budget, card;
  budget.change = memory.evaluate_pressure(now);
  budget.level = memory.pressure_level();
  budget.free = memory.free();
  budget.used = memory.used_by_group();
  budget.total = memory.budget();
  const bool looks = config_.pressure.scope != PressureScope::Budget && config_.pressure.watch_card;
  if (const std::optional<Bytes> free = looks ? device.card_free_as_seen() : std::nullopt) {
    card.change = device.card_pressure.evaluate(now, *free);
    card.total = device.info.total_bytes;
    card.free = std::min(*free, card.total);
    card.used = card.total - card.free;
  }
  card.level = device.card_pressure.published();
  const ScopedPressure told = pressure_by(config_.pressure.scope, device.level.load(), budget, card);
  device.level.store(told.level);
  scope = to_string(told.scope);
  return told.change;
}

void Guard::publish(GuardedDevice& device, const PressureTransition& change, const char* scope,
                    AskDriver ask) noexcept {
  // What no call shows matters more, the less is left.
  device.transitions[static_cast<std::size_t>(change.to)].fetch_add(1, std::memory_order_relaxed);
  if (change.to > change.from) watchdog_.expect(std::chrono::milliseconds(0));
  LogRecord record(Event::Pressure, change.to > change.from ? LogLevel::Warn : LogLevel::Info);
  record.device(device.info.ordinal)
      .add("from", to_string(change.from))
      .add("to", to_string(change.to))
      .add("scope", scope)
      .add("free_bytes", change.free)
      .add("free_pct",
           100.0 * static_cast<double>(change.free) / static_cast<double>(std::max<Bytes>(change.budget, 1)))
      .add("used_bytes", change.used)
      .add("budget_bytes", change.budget);
  // Not asked for here: the log must not wait for an answer that may never come.
  if (const std::optional<Bytes> card = device.card_free_as_seen()) record.add("device_free_bytes", *card);
  log_.post(record);
  if (ask == AskDriver::No) return;  // the program is ending
  run_pressure_hooks(device, change, scope);
  tell_listeners(device, change);
}

void Guard::tell_listeners(const GuardedDevice& device, const PressureTransition& change) noexcept {
  const ThreadSet::Member listening(listening_);
  std::vector<std::pair<std::uint64_t, PressureListener>> listeners;
  try {
    const std::lock_guard lock(listeners_mutex_);
    listeners = listeners_;
  } catch (...) {
  }
  for (const auto& [key, listener] : listeners) {
    try {
      listener(device.info, change);
    } catch (...) {  // the program's own affair, and not on its thread
    }
  }
}

// Every hook that a rise has crossed.
void Guard::run_pressure_hooks(GuardedDevice& device, const PressureTransition& change, const char* scope) noexcept {
  for (const std::shared_ptr<Hook>& hook : hooks_.of(HookEvent::Pressure)) {
    if (hook->config.at <= change.from || hook->config.at > change.to) continue;
    HookFacts facts = device.facts(HookEvent::Pressure);
    facts.level = change.to;
    facts.previous = change.from;
    facts.scope = scope;
    facts.free = change.free;
    runner_.wish(hook, device, facts);
  }
}

bool Guard::add_pressure_listener(PressureListener listener, std::uint64_t key) noexcept try {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.emplace_back(key, std::move(listener));
  return true;
} catch (...) {
  return false;
}

bool Guard::remove_pressure_listeners(std::uint64_t key) noexcept {
  std::size_t removed = 0;
  {
    const std::lock_guard lock(listeners_mutex_);
    removed = std::erase_if(listeners_, [=](const auto& entry) { return entry.first == key; });
  }
  while (!listening_.has_this_thread() && listening_.any()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return removed > 0;
}

bool Guard::watches_card(const GuardedDevice& device) const noexcept {
  if (device.leave_free > 0) return true;
  return config_.pressure.watch_card &&
         (config_.pressure.scope != PressureScope::Budget || contexts_.count(device.info.ordinal) > 0);
}

// By what is settled: a call under way may have taken its bytes of the card already, or not yet.
void Guard::look_at_card(GuardedDevice& device, AskFree how) noexcept {
  const auto taken = [&] { return device.memory.used_by_group() + device.memory.sentinel_of_group(); };
  const Bytes taken_before = taken();
  const std::optional<Bytes> free = (reader_.*how)(device.info.ordinal);
  const Bytes before = device.card_seen.exchange(free.value_or(kUnlimitedBytes), std::memory_order_relaxed);
  if (free && device.leave_free > 0) {
    const Bytes settled = std::min(taken_before, taken());
    const Bytes may_be_taken = *free - std::min(*free, device.leave_free);
    const Bytes too_much = device.leave_free - std::min(*free, device.leave_free);
    device.memory.set_ceiling(settled + may_be_taken - std::min(settled, too_much));
  }
  if (config_.pressure.scope != PressureScope::Budget && free != before) thread_.wake();
}

}  // namespace vramguard
