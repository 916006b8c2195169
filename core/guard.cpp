#include "core/guard.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/undisturbed.h"

namespace vramguard {

namespace {

constexpr auto kMeasureAgainAfter = std::chrono::milliseconds(100);

void wake_thread(void* thread) noexcept { static_cast<HookThread*>(thread)->wake(); }

// Bytes that would have to be free for the request and are not.
Bytes shortfall(const MemoryGuard& memory, const Refusal& refusal) {
  const Bytes needed = round_up(refusal.requested, kPageBytes);
  const Bytes free = refusal.scope == Refusal::Scope::Budget ? memory.free() : refusal.card_free.value_or(0);
  return needed > free ? needed - free : 0;
}

}  // namespace

const char* to_string(Refusal::Scope scope) noexcept {
  switch (scope) {
    case Refusal::Scope::Budget: return "budget";
    case Refusal::Scope::Device: return "device";
  }
  return "";
}

Guard::Guard(const GuardConfig& config, std::vector<DeviceInfo> devices, const std::vector<Bytes>& budgets,
             DeviceReader& reader, const Clock& clock)
    : config_(config), reader_(reader), clock_(clock), log_(config_.log, clock) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices_.emplace_back(std::move(devices[i]), budgets[i], wake_thread, &thread_);
    devices_.back().memory.set_thresholds(config_.pressure);
  }
}

void Guard::start(const Facts& facts) noexcept {
  post(LogRecord(Event::Start)
           .add("ver", VRAMGUARD_VERSION)
           .add("driver", facts.driver_version)
           .add("mode", "enforce")
           .add("policy", "fail")
           .add("devices", devices_.size())
           .add("config", config_.source));
  for (const GuardedDevice& device : devices_) {
    LogRecord record(Event::Device);
    record.device(device.info.ordinal).add("uuid", device.info.uuid).add("pci", device.info.pci_bus_id);
    record.add("total_bytes", device.info.total_bytes);
    if (device.memory.budget() != kUnlimitedBytes) record.add("budget_bytes", device.memory.budget());
    post(record);
  }
  if (config_.log.report_every.count() > 0) next_report_ = clock_.now() + config_.log.report_every;
  has_thread_ = thread_.start(*this);
  write_now_if_alone();
}

GuardedDevice* Guard::device(int ordinal) noexcept {
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices_.size() ? &devices_[ordinal] : nullptr;
}

// --- contexts ---

ContextId Guard::context_in_use(GuardedDevice& device, ContextHandle handle) noexcept {
  const std::optional<Context> known = contexts_.find(handle);
  if (known) return known->id;
  context_created(device, handle, true);
  const std::optional<Context> added = contexts_.find(handle);
  return added ? added->id : 0;
}

void Guard::context_created(GuardedDevice& device, ContextHandle handle, bool primary) noexcept {
  const std::optional<bool> added = contexts_.add(handle, device.info.ordinal, primary);
  if (!added) guard_failed("context", "no memory to note a context");
  if (!added.value_or(false)) return;
  reader_.prepare();
  contexts_changed(device, +1, true);
}

void Guard::context_destroyed(ContextHandle handle, std::uint64_t up_to_sequence) noexcept {
  const std::optional<Context> gone = contexts_.take(handle);
  if (gone) bury(*gone, up_to_sequence);
}

void Guard::primary_context_gone(GuardedDevice& device, std::uint64_t up_to_sequence) noexcept {
  while (const std::optional<Context> gone = contexts_.take_primary(device.info.ordinal)) bury(*gone, up_to_sequence);
}

void Guard::bury(const Context& context, std::uint64_t up_to_sequence) noexcept {
  for (bool complete = false; !complete;) {
    const AllocationTable::Taken dead = allocations_.take_all_of_context(context.id, up_to_sequence);
    for (const auto& [address, record] : dead.allocations) forget(address, record);
    complete = dead.complete || dead.allocations.empty();
  }
  GuardedDevice* where = device(context.device);
  if (where) contexts_changed(*where, -1, false);
}

void Guard::contexts_changed(GuardedDevice& device, int by, bool write_record) noexcept {
  const bool measured = measure_contexts(device);
  device.measure_again.store(!measured, std::memory_order_relaxed);
  if (!measured) {
    const Bytes before = device.memory.unseen();
    const Bytes charged = by > 0 ? before + kContextEstimate : before - std::min(before, kContextEstimate);
    device.memory.set_unseen(contexts_.count(device.info.ordinal) == 0 ? 0 : charged);
    if (has_thread_) thread_.wake();
  }
  if (!write_record) return;
  const Bytes bytes = device.memory.unseen();
  const bool over = bytes > device.memory.budget();
  LogRecord record(Event::Context, over ? LogLevel::Warn : LogLevel::Info);
  record.device(device.info.ordinal).add("context_bytes", bytes).add("source", measured ? "nvml" : "estimate");
  if (over) record.add("over_budget", 1u);
  post(record);
}

// Nothing may be under way while we look: what is in the driver but not in the books yet would be counted twice.
bool Guard::measure_contexts(GuardedDevice& device) noexcept {
  if (device.managed_live.load(std::memory_order_relaxed) > 0) return false;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Bytes before = device.memory.linear();
    if (!device.memory.quiet()) continue;
    const std::optional<Bytes> seen = reader_.bytes_of_this_process(device.info.ordinal);
    if (!seen) return false;
    if (!device.memory.quiet() || device.memory.linear() != before) continue;
    device.memory.set_unseen(*seen > before ? *seen - before : 0);
    return true;
  }
  return false;
}

// --- allocations ---

void Guard::remember(GuardedDevice& device, AllocationKind kind, ContextId context, AddressRange range) noexcept {
  const AllocationRecord record{range.bytes, static_cast<std::uint8_t>(device.info.ordinal), kind, context,
                                sequence_.fetch_add(1, std::memory_order_relaxed) + 1};
  if (kind == AllocationKind::Managed) device.managed_live.fetch_add(1, std::memory_order_relaxed);
  const AllocationTable::Insertion inserted = allocations_.insert(range.address, record);
  if (inserted.displaced) forget(range.address, *inserted.displaced);
  if (inserted.stored) return;
  guard_failed("allocation table", "no memory to note an allocation; it is not counted");
  forget(range.address, record);
}

void Guard::forget(std::uint64_t address, const AllocationRecord& record) noexcept {
  GuardedDevice* where = device(record.device);
  if (where == nullptr) return;
  where->memory.release({address, record.bytes});
  if (record.kind == AllocationKind::Managed) where->managed_live.fetch_sub(1, std::memory_order_relaxed);
}

// In this order: whoever buries the context first marks it dead and then empties the table, so either we see it dead
// here or its burial sees the record.
void Guard::put_back(std::uint64_t address, const AllocationRecord& record) noexcept {
  const AllocationTable::Insertion inserted = allocations_.insert(address, record);
  if (inserted.displaced) forget(address, *inserted.displaced);
  if (!inserted.stored) return forget(address, record);
  if (contexts_.alive(record.context)) return;
  const std::optional<AllocationRecord> dead = allocations_.take(address);
  if (dead) forget(address, *dead);
}

// --- records ---

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
      .add("linear_bytes", memory.linear())
      .add("context_bytes", memory.unseen());
  post(returned);

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

void Guard::write_exit_record() noexcept {
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

// --- the guard's own thread ---

MonotonicTime Guard::run(MonotonicTime now) noexcept {
  const MonotonicTime next =
      std::min({publish_pressure(now), publish_reports(now), measure_what_was_missed(now)});
  say_first_oom();
  log_.write_queued();
  return std::min(next, log_.next_write());
}

MonotonicTime Guard::publish_pressure(MonotonicTime now) noexcept {
  MonotonicTime next = MonotonicTime::max();
  for (GuardedDevice& device : devices_) {
    const std::optional<PressureTransition> change = device.memory.evaluate_pressure(now);
    next = std::min(next, device.memory.next_evaluation());
    if (!change) continue;
    LogRecord record(Event::Pressure, change->to > change->from ? LogLevel::Warn : LogLevel::Info);
    record.device(device.info.ordinal)
        .add("from", to_string(change->from))
        .add("to", to_string(change->to))
        .add("scope", "budget")
        .add("free_bytes", change->free)
        .add("free_pct", 100.0 * static_cast<double>(change->free) / static_cast<double>(std::max<Bytes>(change->budget, 1)))
        .add("used_bytes", change->used)
        .add("budget_bytes", change->budget);
    if (const std::optional<Bytes> card = reader_.free_bytes(device.info.ordinal)) record.add("device_free_bytes", *card);
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
    if (const std::optional<Bytes> card = reader_.free_bytes(device.info.ordinal)) record.add("device_free_bytes", *card);
    log_.post(record.add("allocations", stats.allocations).add("refused", stats.refusals));
  }
  next_report_ = now + config_.log.report_every;
  return next_report_;
}

MonotonicTime Guard::measure_what_was_missed(MonotonicTime now) noexcept {
  MonotonicTime next = MonotonicTime::max();
  for (GuardedDevice& device : devices_) {
    if (!device.measure_again.load(std::memory_order_relaxed)) continue;
    if (!reader_.bytes_of_this_process(device.info.ordinal) || device.managed_live.load(std::memory_order_relaxed) > 0 ||
        measure_contexts(device)) {
      device.measure_again.store(false, std::memory_order_relaxed);
    } else {
      next = now + kMeasureAgainAfter;
    }
  }
  return next;
}

// The only line that a running guard may write on the terminal.
void Guard::say_first_oom() noexcept {
  int to_be_said = 2;
  if (!first_oom_.state.compare_exchange_strong(to_be_said, 3)) return;
  if (config_.quiet || isatty(STDERR_FILENO) != 1) return;
  const Undisturbed undisturbed;
  const bool by_budget = first_oom_.scope == Refusal::Scope::Budget;
  char line[512];
  const int length = std::snprintf(
      line, sizeof line, "vramguard: %s asked for and refused; %s used of %s. %s Log: %s\n",
      format_bytes(first_oom_.requested).c_str(), format_bytes(first_oom_.used).c_str(),
      first_oom_.budget == kUnlimitedBytes ? "no budget" : ("a budget of " + format_bytes(first_oom_.budget)).c_str(),
      by_budget ? "More: VRAMGUARD_BUDGET or vramguard run -b." : "The card is full.", log_.path().c_str());
  if (length > 0 && write(STDERR_FILENO, line, std::min<std::size_t>(length, sizeof line - 1)) < 0) return;
}

}  // namespace vramguard
