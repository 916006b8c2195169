#include "core/guard.h"

#include <unistd.h>

#include "core/device_budget.h"

namespace vramguard {

namespace {

Bytes host_memory_bytes() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<Bytes>(pages) * static_cast<Bytes>(page) : kUnlimitedBytes;
}

}  // namespace

Guard::Guard(const GuardConfig& config, std::vector<DeviceInfo> devices, const std::vector<Bytes>& budgets,
             DeviceReader& reader, const Clock& clock)
    : config_(config),
      reader_(reader),
      clock_(clock),
      log_(config.log, clock),
      runner_(clock, log_.path(), wake, this),
      checkpoint_(config_.oom, log_.path(), clock),
      spill_(bytes_of(config.oom.spill_limit, host_memory_bytes())),
      pinned_(bytes_of(config.host_pinned, host_memory_bytes())) {
  for (const HookConfig& hook : config_.hooks) hooks_.add(hook);
  runner_.enable(config_.hooks_enabled);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceInfo& info = devices[i];
    const Sentinel sentinel =
        observes() ? Sentinel{} : resolve_sentinel(config_, info.uuid, info.pci_bus_id, info.ordinal);
    const Bytes total = info.total_bytes;
    GuardedDevice& device =
        devices_.emplace_back(*this, std::move(devices[i]), budgets[i], sentinel, reader_,
                              OomServices{hooks_, runner_, checkpoint_, spill_, clock_}, wake, this);
    device.memory.set_thresholds(config_.pressure);
    device.card_pressure.set_boundaries(config_.pressure, total);
    device.leave_free = bytes_of(config_.leave_free, total);
    device.cap = capped(config_, kUnlimitedBytes, total);
    if (observes()) device.memory.observe();
    OomSettings& settings = device.oom.settings();
    settings.policy = observes() ? OomPolicy::Fail : config_.oom.policy;
    settings.runs_hooks = !observes();
    settings.defer = config_.oom.defer_first_refusal;
    settings.deadline = config_.oom.deadline;
    settings.wait_timeout = config_.oom.wait_timeout;
    by_ordinal_.push_back(&device);
  }
}

bool Guard::others_can_free() noexcept {
  const std::optional<unsigned> threads = threads_of_this_process();
  return !threads || *threads > own_threads_.load() + 1;
}

bool Guard::place_sentinel(GuardedDevice& device) noexcept {
  const bool whole = device.sentinel.place(device);
  if (device.sentinel.wanted()) watchdog_.expect(SentinelKeeper::kRetry);
  return whole || !config_.sentinel_required;
}

void Guard::tend_sentinel(GuardedDevice& device) noexcept {
  const MonotonicTime next = device.sentinel.tend(device);
  if (next == MonotonicTime::max()) return;
  watchdog_.expect(std::chrono::duration_cast<std::chrono::milliseconds>(next - clock_.now()));
}

Bytes Guard::set_budget(GuardedDevice& device, Bytes budget) noexcept {
  budget = std::min(budget, device.cap.load());
  if (budget != kUnlimitedBytes) budget = std::min(budget, device.info.total_bytes);
  const Bytes before = device.memory.budget(), used = device.memory.used_by_group();
  device.memory.set_budget(budget);
  device.sentinel.stay_within(device);
  LogRecord record(Event::Budget);
  record.device(device.info.ordinal);
  if (before != kUnlimitedBytes) record.add("old_bytes", before);
  if (budget != kUnlimitedBytes) record.add("new_bytes", budget).add("over_bytes", used - std::min(used, budget));
  post(record);
  for (const std::shared_ptr<Hook>& hook : hooks_.of(HookEvent::Budget)) {
    runner_.wish(hook, device, device.facts(HookEvent::Budget));
  }
  return budget;
}

void Guard::set_sentinel(GuardedDevice& device, Bytes bytes) noexcept {
  if (observes()) return;
  device.sentinel.want(std::min(bytes, config_.max_sentinel.value_or(bytes)), device);
  watchdog_.expect(SentinelKeeper::kRetry);
}

void Guard::start(std::string_view driver_version) noexcept {
  LogRecord started(Event::Start);
  started.add("ver", VRAMGUARD_VERSION)
      .add("driver", driver_version)
      .add("mode", observes() ? "observe" : "enforce")
      .add("policy", to_string(config_.oom.policy))
      .add("devices", devices_.size());
  if (!config_.source.empty()) started.add("config", config_.source);
  if (presence_.in_group()) started.add("group", presence_.group_name());
  if (presence_.prepared()) started.add("state", presence_.folder());
  post(started);
  for (const GuardedDevice& device : devices_) {
    LogRecord record(Event::Device);
    record.device(device.info.ordinal).add("uuid", device.info.uuid).add("pci", device.info.pci_bus_id);
    record.add("total_bytes", device.info.total_bytes);
    if (device.memory.budget() != kUnlimitedBytes) record.add("budget_bytes", device.memory.budget());
    if (device.sentinel.wanted()) record.add("sentinel_bytes", device.sentinel.held());
    post(record);
  }
  if (config_.log.report_every.count() > 0) next_report_ = clock_.now() + config_.log.report_every;
  has_thread_.store(thread_.start(*this));
  if (!watches_ && !watchdog_.start())
    guard_failed("watchdog", "no thread for it: what no call shows is measured with contexts alone");
  write_now_if_alone();
}

GuardedDevice* Guard::device(int ordinal) noexcept {
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < by_ordinal_.size() ? by_ordinal_[ordinal] : nullptr;
}

void Guard::remember(GuardedDevice& device, AllocationKind kind, ContextId context, AddressRange range) noexcept {
  if (kind == AllocationKind::Managed) {
    device.managed_bytes.fetch_add(round_up(range.bytes, kPageBytes), std::memory_order_relaxed);
  }
  if (kind == AllocationKind::Uncharged || kind == AllocationKind::Spilled)
    device.uncharged_live.fetch_add(1, std::memory_order_relaxed);
  remember(allocations_, range.address,
           {range.bytes, static_cast<std::uint8_t>(device.info.ordinal), kind, context,
            sequence_.fetch_add(1, std::memory_order_relaxed) + 1});
}

void Guard::remember_array(GuardedDevice& device, ContextId context, std::uint64_t array, Bytes bytes) noexcept {
  remember(arrays_, array,
           {bytes, static_cast<std::uint8_t>(device.info.ordinal), AllocationKind::Array, context,
            sequence_.fetch_add(1, std::memory_order_relaxed) + 1});
}

void Guard::remember(AllocationTable& table, std::uint64_t key, const AllocationRecord& record) noexcept {
  const AllocationTable::Insertion inserted = table.insert(key, record);
  if (inserted.displaced) {
    if (is_on_host(inserted.displaced->kind) && !is_on_host(record.kind)) host_ranges_.remove(key);
    forget(key, *inserted.displaced);
  }
  if (inserted.stored) return;
  guard_failed("allocation table", "no memory to note an allocation; it is not counted");
  forget(key, record);
}

void Guard::forget(std::uint64_t address, const AllocationRecord& record) noexcept {
  GuardedDevice* where = device(record.device);
  if (where == nullptr) return;
  switch (record.kind) {
    case AllocationKind::Managed:
      where->managed_bytes.fetch_sub(round_up(record.bytes, kPageBytes), std::memory_order_relaxed);
      [[fallthrough]];
    case AllocationKind::Linear:
      where->memory.release({address, record.bytes});
      return where->sentinel.take_freed(*where);
    case AllocationKind::Spilled:
      spill_.give_back(record.bytes);
      [[fallthrough]];
    case AllocationKind::Uncharged:
      where->uncharged_live.fetch_sub(1, std::memory_order_relaxed);
      return;
    case AllocationKind::Array:
      where->memory.release(Holder::Array, record.bytes);
      return where->sentinel.take_freed(*where);
  }
}

// In this order: whoever buries the context first marks it dead and then empties the table, so either we see it dead
// here or its burial sees the record.
void Guard::put_back(std::uint64_t address, const AllocationRecord& record) noexcept {
  AllocationTable& table = table_of(record.kind);
  if (is_on_host(record.kind)) keep_on_host({address, record.bytes});
  const AllocationTable::Insertion inserted = table.insert(address, record);
  if (inserted.displaced) forget(address, *inserted.displaced);
  if (!inserted.stored) return forget(address, record);
  if (contexts_.alive(record.context)) return;
  const std::optional<AllocationRecord> dead = table.take(address);
  if (dead) forget(address, *dead);
}

void Guard::remember_on_host(GuardedDevice& device, AllocationKind kind, ContextId context,
                             AddressRange range) noexcept {
  keep_on_host(range);
  remember(device, kind, context, range);
}

void Guard::keep_on_host(AddressRange range) noexcept {
  if (host_ranges_.add(range.address, range.bytes)) return;
  guard_failed("managed", "no memory to note managed memory on the host; a prefetch will move it to the device");
}

void Guard::kept_on_host(GuardedDevice& device, ContextId context, AddressRange range, const char* api) noexcept {
  remember_on_host(device, AllocationKind::Uncharged, context, range);
  post(LogRecord(Event::KeptOnHost)
           .device(device.info.ordinal)
           .add("api", api)
           .add("request_bytes", range.bytes)
           .add("free_bytes", device.memory.free()));
}

void Guard::physical_gone(const PhysicalBlock& block) noexcept {
  GuardedDevice* where = device(block.device);
  if (where == nullptr) return;
  where->memory.release(Holder::Physical, block.bytes);
  where->sentinel.take_freed(*where);
}

}  // namespace vramguard
