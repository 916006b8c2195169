#include "core/guard.h"

#include <unistd.h>

#include "core/device_budget.h"

namespace vramguard {

namespace {

void wake_thread(void* thread) noexcept { static_cast<BackgroundThread*>(thread)->wake(); }

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
      pinned_(bytes_of(config.host_pinned, host_memory_bytes())),
      log_(config_.log, clock) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices_.emplace_back(std::move(devices[i]), budgets[i], wake_thread, &thread_);
    devices_.back().memory.set_thresholds(config_.pressure);
    by_ordinal_.push_back(&devices_.back());
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
  if (!watchdog_.start())
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
  if (kind == AllocationKind::Uncharged) device.uncharged_live.fetch_add(1, std::memory_order_relaxed);
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
  if (inserted.displaced) forget(key, *inserted.displaced);
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
      return where->memory.release({address, record.bytes});
    case AllocationKind::Uncharged:
      host_ranges_.remove(address);
      where->uncharged_live.fetch_sub(1, std::memory_order_relaxed);
      return;
    case AllocationKind::Array:
      return where->memory.release(Holder::Array, record.bytes);
  }
}

// In this order: whoever buries the context first marks it dead and then empties the table, so either we see it dead
// here or its burial sees the record.
void Guard::put_back(std::uint64_t address, const AllocationRecord& record) noexcept {
  AllocationTable& table = table_of(record.kind);
  const AllocationTable::Insertion inserted = table.insert(address, record);
  if (inserted.displaced) forget(address, *inserted.displaced);
  if (!inserted.stored) return forget(address, record);
  if (contexts_.alive(record.context)) return;
  const std::optional<AllocationRecord> dead = table.take(address);
  if (dead) forget(address, *dead);
}

void Guard::kept_on_host(GuardedDevice& device, ContextId context, AddressRange range, const char* api) noexcept {
  if (!host_ranges_.add(range.address, range.bytes)) {
    guard_failed("managed", "no memory to note managed memory on the host; a prefetch will move it to the device");
  }
  remember(device, AllocationKind::Uncharged, context, range);
  post(LogRecord(Event::KeptOnHost)
           .device(device.info.ordinal)
           .add("api", api)
           .add("request_bytes", range.bytes)
           .add("free_bytes", device.memory.free()));
}

void Guard::physical_gone(const PhysicalBlock& block) noexcept {
  GuardedDevice* where = device(block.device);
  if (where != nullptr) where->memory.release(Holder::Physical, block.bytes);
}

}  // namespace vramguard
