#include "core/hook_facts.h"

#include "core/log_format.h"
#include "core/pressure.h"

#include <unistd.h>

namespace vramguard {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string number(const std::optional<Bytes>& value) { return value ? std::to_string(*value) : ""; }

}  // namespace

const char* to_string(HookEvent event) noexcept {
  switch (event) {
    case HookEvent::Pressure:
      return "pressure";
    case HookEvent::Oom:
      return "oom";
    case HookEvent::OomReturned:
      return "oom-returned";
    case HookEvent::Budget:
      return "budget";
  }
  return "";
}

NamedValues hook_variables(const HookFacts& facts, const std::string& hook, std::uint64_t run,
                           const std::string& log_path) {
  NamedValues values;
  const auto add = [&](const char* name, std::string value) {
    values.emplace_back(std::string("VRAMGUARD_HOOK_") + name, std::move(value));
  };
  add("EVENT", to_string(facts.event));
  add("NAME", hook);
  add("RUN", number(run));
  add("SEQ", number(facts.seq));
  add("PID", number(static_cast<std::uint64_t>(getpid())));
  add("COMM", std::string(LogIdentity::of_this_process().comm_text()));  // not that of the calling thread
  add("LEVEL", std::string(to_string(facts.level)));
  add("PREV_LEVEL", std::string(to_string(facts.previous)));
  add("SCOPE", facts.scope);
  const DeviceInfo* device = facts.device;
  add("DEVICE", device != nullptr ? std::to_string(device->ordinal) : "");
  add("DEVICE_UUID", device != nullptr ? device->uuid : "");
  add("PCI_BUS_ID", device != nullptr ? device->pci_bus_id : "");
  add("DEVICE_TOTAL_BYTES", device != nullptr ? number(device->total_bytes) : "");
  add("BUDGET_BYTES", number(facts.budget));
  add("USED_BYTES", number(facts.used));
  add("FREE_BYTES", number(facts.free));
  add("DEVICE_FREE_BYTES", number(facts.card_free));
  const bool of_request = facts.event == HookEvent::Oom || facts.event == HookEvent::OomReturned;
  add("REQUESTED_BYTES", of_request ? number(facts.requested) : "");
  add("SHORT_BYTES", of_request ? number(facts.missing) : "");
  add("ATTEMPT", of_request ? number(std::uint64_t{facts.attempt}) : "");
  add("DEADLINE_MS", of_request ? number(static_cast<std::uint64_t>(facts.deadline.count())) : "");
  add("LOG", log_path);
  return values;
}

}  // namespace vramguard
