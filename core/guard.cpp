#include "core/guard.h"

namespace vramguard {

namespace {

void wake_thread(void* thread) noexcept { static_cast<HookThread*>(thread)->wake(); }

}  // namespace

Guard::Guard(const GuardConfig& config, std::vector<DeviceInfo> devices, const std::vector<Bytes>& budgets,
             DeviceReader& reader, const Clock& clock)
    : config_(config), reader_(reader), clock_(clock), log_(config_.log, clock) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices_.emplace_back(std::move(devices[i]), budgets[i], wake_thread, &thread_);
    devices_.back().memory.set_thresholds(config_.pressure);
  }
}

void Guard::start(std::string_view driver_version) noexcept {
  LogRecord started(Event::Start);
  started.add("ver", VRAMGUARD_VERSION)
      .add("driver", driver_version)
      .add("mode", "enforce")
      .add("policy", "fail")
      .add("devices", devices_.size());
  if (!config_.source.empty()) started.add("config", config_.source);
  post(started);
  for (const GuardedDevice& device : devices_) {
    LogRecord record(Event::Device);
    record.device(device.info.ordinal).add("uuid", device.info.uuid).add("pci", device.info.pci_bus_id);
    record.add("total_bytes", device.info.total_bytes);
    if (device.memory.budget() != kUnlimitedBytes) record.add("budget_bytes", device.memory.budget());
    post(record);
  }
  if (config_.log.report_every.count() > 0) next_report_ = clock_.now() + config_.log.report_every;
  has_thread_.store(thread_.start(*this));
  write_now_if_alone();
}

GuardedDevice* Guard::device(int ordinal) noexcept {
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices_.size() ? &devices_[ordinal] : nullptr;
}

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

}  // namespace vramguard
