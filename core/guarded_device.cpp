#include "core/guarded_device.h"

#include "core/guard.h"

namespace vramguard {

GuardedDevice::GuardedDevice(Guard& owner, DeviceInfo identity, Bytes budget, const Sentinel& wanted,
                             DeviceReader& reader, const OomServices& services, Ledger::Wake wake, void* wake_context)
    : info(std::move(identity)),
      memory(budget, wake, wake_context),
      sentinel(reader, wanted, services.clock),
      oom(*this, sentinel, services),
      guard_(owner),
      reader_(reader) {}

bool GuardedDevice::look_again() noexcept {
  const Bytes room = memory.unreserved();
  guard_.measure_missed(*this);
  guard_.read_bounded(*this);
  if (leave_free > 0) guard_.look_at_card(*this, &DeviceReader::free_bytes_here);
  guard_.ask_group_to_settle(*this);
  return memory.unreserved() > room;
}

bool GuardedDevice::ask_group_for_sentinel(Bytes bytes) noexcept { return guard_.ask_group_for_sentinel(*this, bytes); }

SendResult GuardedDevice::send_to_group(const SignalAction& action, int value) noexcept {
  return guard_.send_to_group(action, value);
}

bool GuardedDevice::trim() noexcept { return guard_.trim(*this); }

std::optional<Bytes> GuardedDevice::card_free() noexcept { return reader_.free_bytes_here(info.ordinal); }

std::optional<Bytes> GuardedDevice::card_free_as_seen() noexcept {
  const Bytes seen = card_seen.load(std::memory_order_relaxed);
  return seen == kUnlimitedBytes ? std::nullopt : std::optional(seen);
}

bool GuardedDevice::others_can_free() noexcept { return guard_.others_can_free(); }

bool GuardedDevice::program_frees_on_refusal() noexcept { return guard_.program_frees_on_refusal(); }

HookFacts GuardedDevice::facts(HookEvent event) noexcept {
  HookFacts facts;
  facts.event = event;
  facts.device = &info;
  facts.level = facts.previous = level.load();
  if (memory.budget() != kUnlimitedBytes) facts.budget = memory.budget();
  facts.used = memory.used_by_group();
  facts.free = memory.free();
  facts.card_free = card_free_as_seen();
  return facts;
}

void GuardedDevice::post(const LogRecord& record) noexcept { guard_.post(record); }

void GuardedDevice::post_urgent(const LogRecord& record) noexcept { guard_.post_urgent(record); }

void GuardedDevice::oom_returned(const OomRequest& request, RefusalScope scope) noexcept {
  guard_.oom_returned(*this, request, scope);
}

}  // namespace vramguard
