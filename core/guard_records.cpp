// What the guard tells: the records of refusals, pressure and use, and the one line on a terminal.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/guard.h"
#include "core/stderr_line.h"

namespace vramguard {

namespace {

// How long a call, or the end of the process, waits for the guard's own thread.
constexpr auto kPatience = std::chrono::milliseconds(100);

// How often pools and graph memory are read although nobody allocates.
constexpr auto kBetweenReadings = std::chrono::seconds(1);

void add_card_free(LogRecord& record, const GuardedDevice& device) {
  const Bytes card = device.card_free.load(std::memory_order_relaxed);
  if (card != kUnlimitedBytes) record.add("device_free_bytes", card);
}

// Bytes that would have to be free for the request and are not.
Bytes shortfall(const MemoryGuard& memory, const Refusal& refusal) {
  const Bytes needed = round_up(refusal.requested, kPageBytes);
  const Bytes free = refusal.scope == Refusal::Scope::Budget ? memory.free() : refusal.card_free.value_or(0);
  return needed > free ? needed - free : 0;
}

}  // namespace

const char* to_string(Refusal::Scope scope) noexcept {
  switch (scope) {
    case Refusal::Scope::Budget:
      return "budget";
    case Refusal::Scope::Device:
      return "device";
  }
  return "";
}

void Guard::refused(GuardedDevice& device, const Refusal& refusal) noexcept {
  MemoryGuard& memory = device.memory;
  memory.count_refusal();
  const Bytes used = memory.used(), budget = memory.budget(), missing = shortfall(memory, refusal);
  const auto thread = static_cast<std::uint64_t>(syscall(SYS_gettid));
  post(LogRecord(Event::OomRefused)
           .device(device.info.ordinal)
           .add("api", refusal.api)
           .add("tid", thread)
           .add("request_bytes", refusal.requested)
           .add("short_bytes", missing)
           .add("scope", to_string(refusal.scope)));
  LogRecord returned(Event::OomReturned);
  returned.device(device.info.ordinal)
      .add("api", refusal.api)
      .add("tid", thread)
      .add("request_bytes", refusal.requested)
      .add("short_bytes", missing)
      .add("used_bytes", used);
  if (budget != kUnlimitedBytes) returned.add("budget_bytes", budget);
  if (refusal.card_free) returned.add("device_free_bytes", *refusal.card_free);
  returned.add("scope", to_string(refusal.scope))
      .add("policy", "fail")
      .add("attempts", refusal.attempts)
      .add("wait_ms", refusal.waited.count())
      .add("linear_bytes", memory.linear())
      .add("physical_bytes", memory.held(Holder::Physical))
      .add("pool_bytes", memory.held(BoundedHolder::Pools))
      .add("graph_bytes", memory.held(BoundedHolder::Graphs))
      .add("array_bytes", memory.held(Holder::Array))
      .add("context_bytes", memory.unseen());
  post_returned(returned);

  const Bytes limit = budget != kUnlimitedBytes ? budget : device.info.total_bytes;
  if (refusal.requested <= limit) memory.oom_was_returned(clock_.now());

  int none = 0;
  if (first_oom_.state.compare_exchange_strong(none, 1)) {
    first_oom_.requested = refusal.requested;
    first_oom_.used = used;
    first_oom_.budget = budget;
    first_oom_.scope = refusal.scope;
    first_oom_.state.store(2);
  }
  if (has_thread_) thread_.wake();
}

void Guard::pinned_refused(const char* api, Bytes bytes) noexcept {
  const Bytes used = pinned_.used(), limit = pinned_.limit();
  const auto thread = static_cast<std::uint64_t>(syscall(SYS_gettid));
  const Bytes missing = bytes - std::min(bytes, limit - std::min(limit, used));
  post(LogRecord(Event::OomRefused)
           .add("api", api)
           .add("tid", thread)
           .add("request_bytes", bytes)
           .add("short_bytes", missing)
           .add("scope", "host_pinned"));
  post_returned(LogRecord(Event::OomReturned)
                    .add("api", api)
                    .add("tid", thread)
                    .add("request_bytes", bytes)
                    .add("short_bytes", missing)
                    .add("used_bytes", used)
                    .add("budget_bytes", limit)
                    .add("scope", "host_pinned")
                    .add("policy", "fail"));
}

// Programs are killed for running out of memory: the last word must be on the disk by then.
void Guard::post_returned(const LogRecord& record) noexcept {
  post(record);
  if (has_thread_) log_.wait_written(kPatience);
}

void Guard::guard_failed(std::string_view where, std::string_view what) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (std::hash<std::string_view>{}(where) % 64);
  if (faults_said_.fetch_or(bit, std::memory_order_relaxed) & bit) return;
  post(LogRecord(Event::GuardError).add("where", where).add("message", what));
}

void Guard::unguarded_symbol(std::string_view name) noexcept {
  post(LogRecord(Event::UnguardedSymbol).add("name", name));
}

void Guard::post(const LogRecord& record) noexcept {
  log_.post(record);
  if (has_thread_) {
    thread_.wake();
  } else {
    write_now_if_alone();
  }
}

// Where the system gave us no thread, whoever posts also writes.
void Guard::write_now_if_alone() noexcept {
  if (!has_thread_) log_.write_queued();
}

// Never unlocked again where it is taken: what follows the exit record would be lost. The driver and NVML are not asked
// any more, as their own end may have begun.
void Guard::write_exit_record() noexcept {
  ending_.store(true);
  if (working_.lock_within(kPatience)) publish_pressure(clock_.now(), AskDriver::No);
  Bytes peak = 0;
  std::uint64_t refusals = 0;
  for (const GuardedDevice& device : devices_) {
    const Statistics::Snapshot stats = device.memory.stats();
    peak = std::max(peak, stats.peak);
    refusals += stats.refusals;
  }
  say_first_oom();
  log_.write_last(LogRecord(Event::Exit).add("peak_bytes", peak).add("refused", refusals));
}

MonotonicTime Guard::run(MonotonicTime now) noexcept {
  if (!working_.try_lock()) return MonotonicTime::max();
  const MonotonicTime next = work(now);
  working_.unlock();
  return next;
}

MonotonicTime Guard::work(MonotonicTime now) noexcept {
  const MonotonicTime next = std::min(publish_pressure(now, AskDriver::Yes), publish_reports(now));
  say_first_oom();
  log_.write_queued();
  return std::min(next, log_.next_write());
}

MonotonicTime Guard::publish_pressure(MonotonicTime now, AskDriver ask) noexcept {
  MonotonicTime next = MonotonicTime::max();
  for (GuardedDevice& device : devices_) {
    // What pools give back, no call shows.
    if (ask == AskDriver::Yes && (device.pools_used || device.graphs_used)) {
      read_bounded(device);
      next = std::min(next, now + kBetweenReadings);
    }
    const std::optional<PressureTransition> change = device.memory.evaluate_pressure(now);
    next = std::min(next, device.memory.next_evaluation());
    if (!change) continue;
    // What no call shows matters more, the less is left.
    if (change->to > change->from) watchdog_.expect(std::chrono::milliseconds(0));
    LogRecord record(Event::Pressure, change->to > change->from ? LogLevel::Warn : LogLevel::Info);
    record.device(device.info.ordinal)
        .add("from", to_string(change->from))
        .add("to", to_string(change->to))
        .add("scope", "budget")
        .add("free_bytes", change->free)
        .add("free_pct",
             100.0 * static_cast<double>(change->free) / static_cast<double>(std::max<Bytes>(change->budget, 1)))
        .add("used_bytes", change->used)
        .add("budget_bytes", change->budget);
    const std::optional<Bytes> card = ask == AskDriver::Yes ? reader_.free_bytes(device.info.ordinal) : std::nullopt;
    if (card) record.add("device_free_bytes", *card);
    log_.post(record);
  }
  return next;
}

MonotonicTime Guard::publish_reports(MonotonicTime now) noexcept {
  if (now < next_report_) return next_report_;
  for (GuardedDevice& device : devices_) {
    const Statistics::Snapshot stats = device.memory.stats();
    if (stats.allocations == 0 && stats.used == 0) continue;
    LogRecord record(Event::Report);
    record.device(device.info.ordinal)
        .add("level", to_string(device.memory.pressure_level()))
        .add("used_bytes", stats.used)
        .add("peak_bytes", stats.peak);
    if (device.memory.budget() != kUnlimitedBytes) {
      record.add("budget_bytes", device.memory.budget()).add("free_bytes", device.memory.free());
    }
    add_card_free(record, device);
    log_.post(record.add("allocations", stats.allocations).add("refused", stats.refusals));
  }
  next_report_ = now + config_.log.report_every;
  return next_report_;
}

// The only line that a running guard may write on the terminal.
void Guard::say_first_oom() noexcept try {
  int to_be_said = 2;
  if (!first_oom_.state.compare_exchange_strong(to_be_said, 3)) return;
  if (config_.quiet || isatty(STDERR_FILENO) != 1) return;
  const bool by_budget = first_oom_.scope == Refusal::Scope::Budget;
  write_stderr_line(
      format_bytes(first_oom_.requested) + " asked for and refused; " + format_bytes(first_oom_.used) + " used of " +
      (first_oom_.budget == kUnlimitedBytes ? "no budget" : "a budget of " + format_bytes(first_oom_.budget)) +
      (by_budget ? ". More: VRAMGUARD_BUDGET or vramguard run -b." : ". The card is full.") + " Log: " + log_.path());
} catch (...) {  // no memory for the line: then without it
}

}  // namespace vramguard
