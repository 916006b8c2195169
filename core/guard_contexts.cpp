// What contexts take, which no allocation call shows, and what leaves the books with them.
#include <algorithm>
#include <thread>

#include "core/guard.h"

namespace vramguard {

namespace {

constexpr auto kMeasureAgainAfter = std::chrono::milliseconds(100);
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
// Code is loaded in bursts: after a context was made, or more was found, it is looked more often for a while.
constexpr auto kUnsettledFor = std::chrono::seconds(2);
constexpr auto kWhileUnsettled = std::chrono::milliseconds(25);
constexpr Bytes kAnything = UINT64_MAX;

}  // namespace

ContextId Guard::context_in_use(GuardedDevice& device, ContextHandle handle) noexcept {
  const std::optional<Context> known = contexts_.find(handle);
  if (known) return known->id;
  context_created(device, handle, true);
  const std::optional<Context> added = contexts_.find(handle);
  return added ? added->id : 0;
}

std::optional<Reservation> Guard::room_for_context(GuardedDevice& device) noexcept {
  reader_.prepare();
  if (device.sentinel.held() == 0 && device.memory.sentinel_of_group() > 0) {
    const Bytes card = device.card_free().value_or(kContextEstimate);
    const Bytes missing = kContextEstimate - std::min(kContextEstimate, card);
    if (missing > 0) ask_group_for_sentinel(device, std::min(missing, device.memory.sentinel_of_group()));
    return std::nullopt;
  }
  return device.sentinel.make_room(kContextEstimate, device);
}

void Guard::context_created(GuardedDevice& device, ContextHandle handle, bool primary) noexcept {
  const std::optional<bool> added = contexts_.add(handle, device.info.ordinal, primary);
  if (!added) guard_failed("context", "no memory to note a context");
  if (!added.value_or(false)) return;
  reader_.prepare();
  unsettled();
  contexts_changed(device, +1, true);
  if (device.leave_free > 0) look_at_card(device, &DeviceReader::free_bytes_here);
  place_sentinel(device);
  device.sentinel.stay_within(device);
}

void Guard::context_destroyed(ContextHandle handle, std::uint64_t up_to_sequence) noexcept {
  const std::optional<Context> gone = contexts_.take(handle);
  if (gone) bury(*gone, up_to_sequence);
}

void Guard::primary_context_gone(GuardedDevice& device, std::uint64_t up_to_sequence) noexcept {
  while (const std::optional<Context> gone = contexts_.take_primary(device.info.ordinal)) bury(*gone, up_to_sequence);
}

void Guard::bury(const Context& context, std::uint64_t up_to_sequence) noexcept {
  bury_in(allocations_, context.id, up_to_sequence);
  bury_in(arrays_, context.id, up_to_sequence);
  captures_.context_gone(context.id);
  GuardedDevice* where = device(context.device);
  if (where) contexts_changed(*where, -1, false);
}

void Guard::bury_in(AllocationTable& table, ContextId context, std::uint64_t up_to_sequence) noexcept {
  for (bool complete = false; !complete;) {
    const AllocationTable::Taken dead = table.take_all_of_context(context, up_to_sequence);
    for (const auto& [address, record] : dead.allocations) {
      if (is_on_host(record.kind)) host_ranges_.remove(address);
      forget(address, record);
    }
    complete = dead.complete || dead.allocations.empty();
  }
}

void Guard::contexts_changed(GuardedDevice& device, int by, bool write_record) noexcept {
  const Measured measured = measure_unseen(device, by > 0 ? kAnything : 0);
  if (measured != Measured::Yes) {
    device.measure_again.store(true);
    if (contexts_.count(device.info.ordinal) == 0) {
      device.memory.set_unseen(0);
    } else if (by > 0) {
      device.memory.add_unseen(kContextEstimate);
    } else {
      device.memory.lower_unseen(kContextEstimate);
    }
  }
  watchdog_.expect(measured == Measured::Yes ? Watchdog::kPeriod : kMeasureAgainAfter);
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

// Nothing may be under way while we look: what is in the driver but not in the books yet would be counted twice. While
// managed memory is live, nobody tells how much of it is on the device: then what is unseen is only ever lowered.
Guard::Look Guard::look_for_unseen(GuardedDevice& device, unsigned own_calls) noexcept {
  Ledger& memory = device.memory;
  device.measure_again.exchange(false);  // before we look: what changes from now on sets it again
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::uint32_t calls = memory.calls_ended();
    const std::optional<std::uint64_t> pools = pools_.changes();
    const Bytes unseen_before = memory.unseen();
    read_bounded(device);
    const Bytes seen = memory.seen();
    const Bytes managed = device.managed_bytes.load();
    const bool resident_unknown = managed > 0 || device.uncharged_live.load() > 0;
    if (!memory.quiet(own_calls) || !pools) continue;
    const std::optional<Bytes> all = reader_.bytes_of_this_process(device.info.ordinal);
    if (!all) return {Measured::Unknown};
    read_bounded(device);
    if (!memory.quiet(own_calls) || memory.calls_ended() != calls) continue;
    if (memory.seen() != seen || pools_.changes() != pools) continue;
    const Bytes certain = seen - std::min(seen, managed) + memory.sentinel();
    const Bytes unseen = *all - std::min(*all, certain);
    if (resident_unknown && unseen > unseen_before) return {Measured::Unknown};
    return {Measured::Yes, unseen_before, unseen};
  }
  device.measure_again.store(true);
  return {Measured::Disturbed};
}

Guard::Measured Guard::measure_unseen(GuardedDevice& device, Bytes raise, unsigned own_calls) noexcept {
  const bool wished = device.measure_again.load();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Look look = look_for_unseen(device, own_calls);
    if (look.measured != Measured::Yes) return look.measured;
    const Bytes unseen = look.raised_by_at_most(raise);
    if (!device.memory.replace_unseen(look.before, unseen)) continue;
    if (wished && unseen < look.unseen) device.measure_again.store(true);
    return Measured::Yes;
  }
  device.measure_again.store(true);
  return Measured::Disturbed;
}

void Guard::shared_page_taken(GuardedDevice& device, Reservation& reservation, std::optional<bool> card_says) noexcept {
  const Measured measured = measure_unseen(device, kPageBytes, 1);
  // The card tells only while nobody else is at it.
  const bool page = measured == Measured::Disturbed || (measured == Measured::Unknown && card_says.value_or(true));
  device.memory.settle_unseen(reservation, page ? kPageBytes : 0);
}

void Guard::shared_page_left(GuardedDevice& device, std::optional<bool> card_says) noexcept {
  const Measured measured = measure_unseen(device, 0);
  if (measured == Measured::Unknown && card_says.value_or(false)) device.memory.lower_unseen(kPageBytes);
}

void Guard::unseen_changed(GuardedDevice& device) noexcept { measure_unseen(device, kAnything); }

bool Guard::measure_missed(GuardedDevice& device) noexcept {
  return device.measure_again.load() && measure_unseen(device, kAnything) == Measured::Yes;
}

// Streams, modules and whatever else no call shows; and what neighbours do. More is believed when it is found twice.
void Guard::look_at_devices() noexcept {
  for (GuardedDevice& device : devices_) {
    if (ending_.load()) return;
    if (watches_card(device)) look_at_card(device, &DeviceReader::free_bytes);
    tend_sentinel(device);
    if (contexts_.count(device.info.ordinal) == 0) continue;
    const Look look = look_for_unseen(device, 0);
    Measured measured = look.measured;
    if (measured == Measured::Yes && look.unseen > look.before) {
      unsettled();
      std::this_thread::sleep_for(kBetweenLooks);
      measured = measure_unseen(device, look.unseen - look.before);
    } else if (measured == Measured::Yes && !device.memory.replace_unseen(look.before, look.unseen)) {
      measured = Measured::Disturbed;
    }
    if (measured == Measured::Disturbed) watchdog_.expect(kMeasureAgainAfter);
  }
  if (clock_.now().time_since_epoch().count() < unsettled_until_.load()) watchdog_.expect(kWhileUnsettled);
}

void Guard::unsettled() noexcept { unsettled_until_.store((clock_.now() + kUnsettledFor).time_since_epoch().count()); }

}  // namespace vramguard
