// What the guard tells: the records of refusals, pressure and use, and the lines on a terminal.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/guard.h"
#include "core/run_summary.h"
#include "core/state/run_name.h"
#include "core/stderr_line.h"

namespace vramguard {

namespace {

// How long a call, or the end of the process, waits for the guard's own thread.
constexpr auto kPatience = std::chrono::milliseconds(100);

void add_card_free(LogRecord& record, const GuardedDevice& device) {
  const Bytes card = device.card_seen.load(std::memory_order_relaxed);
  if (card != kUnlimitedBytes) record.add("device_free_bytes", card);
}

}  // namespace

void Guard::would_be_refused(GuardedDevice& device, const OomRequest& request) noexcept {
  device.memory.count_refusal();
  const bool by_card = device.memory.ceiling_is_lower(request.worst);
  const RefusalScope scope = by_card ? RefusalScope::LeaveFree : RefusalScope::Budget;
  post(LogRecord(Event::OomRefused)
           .device(device.info.ordinal)
           .add("api", request.api)
           .add("tid", static_cast<std::uint64_t>(syscall(SYS_gettid)))
           .add("request_bytes", request.bytes)
           .add("short_bytes", device.memory.would_be_short_of(request.worst))
           .add("scope", to_string(scope))
           .add("observed", 1u));
}

void Guard::oom_returned(GuardedDevice& device, const OomRequest& request, RefusalScope scope) noexcept {
  const bool card_is_full = scope != RefusalScope::Budget && request.bytes <= device.info.total_bytes;
  if (card_is_full) device.card_pressure.oom_was_returned(clock_.now());
  int none = 0;
  if (first_oom_.state.compare_exchange_strong(none, 1)) {
    first_oom_.requested = request.bytes;
    first_oom_.used = device.memory.used_by_group();
    first_oom_.budget = device.memory.budget();
    first_oom_.scope = scope;
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
  post_urgent(LogRecord(Event::OomReturned)
                  .add("api", api)
                  .add("tid", thread)
                  .add("request_bytes", bytes)
                  .add("short_bytes", missing)
                  .add("used_bytes", used)
                  .add("budget_bytes", limit)
                  .add("scope", "host_pinned")
                  .add("policy", "fail"));
}

void Guard::post_urgent(const LogRecord& record) noexcept {
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
  const bool ours = working_.lock_within(kPatience);
  if (ours) publish_pressure(clock_.now(), AskDriver::No);
  Bytes peak = 0, budget = kUnlimitedBytes;
  std::uint64_t refusals = 0, recovered = 0, outrun = 0;
  for (const GuardedDevice& device : devices_) {
    const Statistics::Snapshot stats = device.memory.stats();
    if (stats.peak >= peak) {
      peak = stats.peak;
      budget = device.memory.budget();
    }
    refusals += stats.refusals;
    recovered += device.oom.recovered();
    outrun += device.oom.outrun();
  }
  say_first_oom();
  const HookList::Totals hooks = hooks_.totals();
  LogRecord record(Event::Exit);
  record.add("peak_bytes", peak)
      .add("refused", refusals)
      .add("recovered", recovered)
      .add("hooks_run", hooks.runs)
      .add("hooks_failed", hooks.failures);
  if (outrun > 0) record.add("sentinel_outrun", outrun);
  log_.write_last(record);
  say_summary(peak, budget, refusals, recovered);
  if (ours) publish_state();
  presence_.end();
}

// Only in the process that `vramguard run` became: its children would repeat it.
void Guard::say_summary(Bytes peak, Bytes budget, std::uint64_t refused, std::uint64_t recovered) noexcept try {
  if (config_.quiet || isatty(STDERR_FILENO) != 1) return;
  if (config_.source.ends_with("/" + run_name(identity_of_this_process()) + ".toml"))
    write_stderr_line(run_summary(peak, budget, refused, recovered));
} catch (...) {
}

MonotonicTime Guard::run(MonotonicTime now) noexcept {
  if (!working_.try_lock()) return MonotonicTime::max();
  const MonotonicTime next = work(now);
  working_.unlock();
  return next;
}

MonotonicTime Guard::work(MonotonicTime now) noexcept {
  answer_control();
  MonotonicTime next = serve_group(now);
  next = std::min({next, publish_pressure(now, AskDriver::Yes), publish_reports(now)});
  next = std::min({next, runner_.work(now), publish_state()});
  say_first_oom();
  log_.write_queued();
  return std::min(next, log_.next_write());
}

MonotonicTime Guard::publish_reports(MonotonicTime now) noexcept {
  if (now < next_report_) return next_report_;
  for (GuardedDevice& device : devices_) {
    const Statistics::Snapshot stats = device.memory.stats();
    if (stats.allocations == 0 && stats.used == 0) continue;
    LogRecord record(Event::Report);
    record.device(device.info.ordinal)
        .add("level", to_string(device.level.load()))
        .add("used_bytes", stats.used)
        .add("peak_bytes", stats.peak);
    if (device.memory.budget() != kUnlimitedBytes) {
      record.add("budget_bytes", device.memory.budget()).add("free_bytes", device.memory.free());
    }
    add_card_free(record, device);
    log_.post(record.add("allocations", stats.allocations)
                  .add("refused", stats.refusals)
                  .add("recovered", device.oom.recovered())
                  .add("hooks_run", hooks_.totals().runs));
  }
  next_report_ = now + config_.log.report_every;
  return next_report_;
}

// The only line that a guard may write on the terminal while the program runs.
void Guard::say_first_oom() noexcept try {
  int to_be_said = 2;
  if (!first_oom_.state.compare_exchange_strong(to_be_said, 3)) return;
  if (config_.quiet || isatty(STDERR_FILENO) != 1) return;
  const bool by_budget = first_oom_.scope == RefusalScope::Budget;
  write_stderr_line(
      format_bytes(first_oom_.requested) + " asked for and refused; " + format_bytes(first_oom_.used) + " used of " +
      (first_oom_.budget == kUnlimitedBytes ? "no budget" : "a budget of " + format_bytes(first_oom_.budget)) +
      (by_budget ? ". More: VRAMGUARD_BUDGET or vramguard run -b." : ". The card is full.") + " Log: " + log_.path());
} catch (...) {  // no memory for the line: then without it
}

}  // namespace vramguard
