#include "core/hook_facts.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "core/pressure.h"

namespace vramguard {

namespace {

constexpr std::size_t kCommBytes = 16;

std::string name_of_this_process() {
  char comm[kCommBytes] = "";
  prctl(PR_GET_NAME, comm);
  return comm;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

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
  add("PID", number(static_cast<std::uint64_t>(getpid())));
  add("COMM", name_of_this_process());
  add("LEVEL", std::string(to_string(facts.level)));
  add("PREV_LEVEL", std::string(to_string(facts.previous)));
  add("SCOPE", facts.scope);
  if (facts.device != nullptr) {
    add("DEVICE", number(static_cast<std::uint64_t>(facts.device->ordinal)));
    add("DEVICE_UUID", facts.device->uuid);
    add("PCI_BUS_ID", facts.device->pci_bus_id);
    add("DEVICE_TOTAL_BYTES", number(facts.device->total_bytes));
  }
  if (facts.budget) add("BUDGET_BYTES", number(*facts.budget));
  add("USED_BYTES", number(facts.used));
  add("FREE_BYTES", number(facts.free));
  if (facts.card_free) add("DEVICE_FREE_BYTES", number(*facts.card_free));
  if (facts.event == HookEvent::Oom || facts.event == HookEvent::OomReturned) {
    add("REQUESTED_BYTES", number(facts.requested));
    add("SHORT_BYTES", number(facts.missing));
    add("ATTEMPT", number(facts.attempt));
    add("DEADLINE_MS", number(static_cast<std::uint64_t>(facts.deadline.count())));
  }
  add("LOG", log_path);
  return values;
}

}  // namespace vramguard
