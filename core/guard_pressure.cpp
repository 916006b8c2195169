// Publishes the pressure of each device, runs what is to run at it, and keeps the card in view.
#include <algorithm>

#include "core/guard.h"

namespace vramguard {

namespace {

// How often pools and graph memory are read although nobody allocates.
constexpr auto kBetweenReadings = std::chrono::seconds(1);

const char* to_string(PressureScope scope) {
  switch (scope) {
    case PressureScope::Budget:
      return "budget";
    case PressureScope::Device:
      return "device";
    case PressureScope::Worst:
      return "worst";
  }
  return "";
}

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
  const std::optional<PressureTransition> of_budget = device.memory.evaluate_pressure(now);
  if (config_.pressure.scope == PressureScope::Budget) {
    device.level.store(device.memory.pressure_level());
    return of_budget;
  }
  const Bytes card = device.card_seen.load(std::memory_order_relaxed);
  std::optional<PressureTransition> of_card;
  if (card != kUnlimitedBytes) of_card = device.card_pressure.evaluate(now, card);
  const PressureLevel card_level = device.card_pressure.published();
  if (config_.pressure.scope == PressureScope::Device) {
    device.level.store(card_level);
    return of_card;
  }
  const PressureLevel before = device.level.load(), now_is = std::max(card_level, device.memory.pressure_level());
  device.level.store(now_is);
  if (now_is == before) return std::nullopt;
  const bool by_card = of_card && card_level >= device.memory.pressure_level();
  scope = to_string(by_card ? PressureScope::Device : PressureScope::Budget);
  std::optional<PressureTransition> change = by_card || !of_budget ? of_card : of_budget;
  if (!change) return std::nullopt;
  change->from = before;
  change->to = now_is;
  return change;
}

void Guard::publish(GuardedDevice& device, const PressureTransition& change, const char* scope,
                    AskDriver ask) noexcept {
  // What no call shows matters more, the less is left.
  if (change.to > change.from) watchdog_.expect(std::chrono::milliseconds(0));
  LogRecord record(Event::Pressure, change.to > change.from ? LogLevel::Warn : LogLevel::Info);
  record.device(device.info.ordinal)
      .add("from", vramguard::to_string(change.from))
      .add("to", vramguard::to_string(change.to))
      .add("scope", scope)
      .add("free_bytes", change.free)
      .add("free_pct",
           100.0 * static_cast<double>(change.free) / static_cast<double>(std::max<Bytes>(change.budget, 1)))
      .add("used_bytes", change.used)
      .add("budget_bytes", change.budget);
  const std::optional<Bytes> card = ask == AskDriver::Yes ? reader_.free_bytes(device.info.ordinal) : std::nullopt;
  if (card) record.add("device_free_bytes", *card);
  log_.post(record);
  if (ask == AskDriver::No) return;  // the program is ending
  run_pressure_hooks(device, change, scope);
  std::vector<PressureListener> listeners;
  try {
    const std::lock_guard lock(listeners_mutex_);
    listeners = listeners_;
  } catch (...) {
  }
  for (const PressureListener& listener : listeners) {
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
    HookFacts facts;
    facts.device = &device.info;
    facts.level = change.to;
    facts.previous = change.from;
    facts.scope = scope;
    facts.budget = change.budget;
    facts.used = change.used;
    facts.free = change.free;
    facts.card_free = reader_.free_bytes(device.info.ordinal);
    runner_.wish(hook, device, facts);
  }
}

bool Guard::add_pressure_listener(PressureListener listener) noexcept try {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.push_back(std::move(listener));
  return true;
} catch (...) {
  return false;
}

bool Guard::watches_card(const GuardedDevice& device) const noexcept {
  const bool by_scope = config_.pressure.scope != PressureScope::Budget && config_.pressure.watch_card;
  return by_scope || device.leave_free > 0 || contexts_.count(device.info.ordinal) > 0;
}

void Guard::look_at_card(GuardedDevice& device, AskFree how) noexcept {
  const Bytes admitted = device.memory.admitted();
  const std::optional<Bytes> free = (reader_.*how)(device.info.ordinal);
  const Bytes before = device.card_seen.exchange(free.value_or(kUnlimitedBytes), std::memory_order_relaxed);
  if (free && device.leave_free > 0) {
    const Bytes may_be_taken = *free - std::min(*free, device.leave_free);
    const Bytes too_much = device.leave_free - std::min(*free, device.leave_free);
    device.memory.set_ceiling(admitted + may_be_taken - std::min(admitted, too_much));
  }
  if (config_.pressure.scope != PressureScope::Budget && free != before) thread_.wake();
}

}  // namespace vramguard
