// What contexts take, which no allocation call shows, and what leaves the books with them.
#include <algorithm>

#include "core/guard.h"

namespace vramguard {

namespace {

constexpr auto kMeasureAgainAfter = std::chrono::milliseconds(100);

}  // namespace

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
  const Measured measured = measure_contexts(device);
  device.measure_again.store(measured != Measured::Yes, std::memory_order_relaxed);
  if (measured != Measured::Yes) {
    const Bytes before = device.memory.unseen();
    const Bytes charged = by > 0 ? before + kContextEstimate : before - std::min(before, kContextEstimate);
    device.memory.set_unseen(contexts_.count(device.info.ordinal) == 0 ? 0 : charged);
    if (has_thread_) thread_.wake();
  }
  if (!write_record) return;
  const Bytes bytes = device.memory.unseen();
  const bool over = bytes > device.memory.budget();
  LogRecord record(Event::Context, over ? LogLevel::Warn : LogLevel::Info);
  record.device(device.info.ordinal)
      .add("context_bytes", bytes)
      .add("source", measured == Measured::Yes ? "nvml" : "estimate");
  if (over) record.add("over_budget", 1u);
  post(record);
}

// Nothing may be under way while we look: what is in the driver but not in the books yet would be counted twice.
Guard::Measured Guard::measure_contexts(GuardedDevice& device) noexcept {
  if (device.managed_live.load(std::memory_order_relaxed) > 0) return Measured::Unknown;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Bytes before = device.memory.linear();
    if (!device.memory.quiet()) continue;
    const std::optional<Bytes> seen = reader_.bytes_of_this_process(device.info.ordinal);
    if (!seen) return Measured::Unknown;
    if (!device.memory.quiet() || device.memory.linear() != before) continue;
    device.memory.set_unseen(*seen > before ? *seen - before : 0);
    return Measured::Yes;
  }
  return Measured::Disturbed;
}

bool Guard::measure_missed(GuardedDevice& device) noexcept {
  if (!device.measure_again.load(std::memory_order_relaxed)) return false;
  const Measured measured = measure_contexts(device);
  device.measure_again.store(measured == Measured::Disturbed, std::memory_order_relaxed);
  return measured == Measured::Yes;
}

MonotonicTime Guard::measure_all_missed(MonotonicTime now) noexcept {
  MonotonicTime next = MonotonicTime::max();
  for (GuardedDevice& device : devices_) {
    measure_missed(device);
    if (device.measure_again.load(std::memory_order_relaxed)) next = now + kMeasureAgainAfter;
  }
  return next;
}

}  // namespace vramguard
