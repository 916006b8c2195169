#include "shim/process.h"

#include <cstdlib>
#include <new>

#include "core/device_budget.h"
#include "core/stderr_line.h"
#include "shim/configuration.h"
#include "shim/cuda_devices.h"
#include "shim/device_list.h"
#include "shim/driver.h"
#include "shim/replacements.h"

namespace vramguard {

namespace {

bool on_error_run() noexcept { return preload().run_on_error() != 0; }

void at_exit() {
  if (Guard* ours = guard()) ours->write_exit_record();
}

// A guard that is not used any more lives on: other threads may hold a pointer to it.
Guard* build_guard(const GuardConfig& config) {
  std::vector<DeviceInfo> devices = list_devices();
  std::vector<Bytes> budgets;
  for (const DeviceInfo& device : devices) {
    budgets.push_back(resolve_budget(config, device.uuid, device.pci_bus_id, device.ordinal, device.total_bytes));
  }
  static constinit Clock clock;
  auto* reader = new CudaDevices(devices);
  return new Guard(config, std::move(devices), budgets, *reader, clock);
}

void warn_of_doubtful_names(Guard& guard, const GuardConfig& config) {
  std::vector<DeviceIdentity> identities;
  for (int i = 0; GuardedDevice* device = guard.device(i); ++i) {
    identities.push_back({device->info.uuid, device->info.pci_bus_id, i});
  }
  const DoubtfulNames names = doubtful_names(config, identities);
  const auto warn = [&](const std::string& name, const char* message) {
    guard.post(LogRecord(Event::ConfigError, LogLevel::Warn).add("key", name).add("message", message));
  };
  for (const std::string& name : names.unmatched) warn(name, "no device of this program has this name");
  for (const std::string& name : names.ambiguous)
    warn(name, "several devices have this name; the budget holds for each");
}

void start() {
  Guard* built = build_guard(configuration()->config);
  Guard* expected = nullptr;
  if (!fork_page().guard.compare_exchange_strong(expected, built, std::memory_order_acq_rel)) return;
  built->start(driver_version());
  warn_of_doubtful_names(*built, built->config());
  report_unguarded_symbols();
  std::atexit(at_exit);
}

}  // namespace

bool attach_process() noexcept { return attach_fork_page(); }

void report_unguarded_symbols() noexcept {
  Guard* ours = guard();
  if (ours == nullptr) return;
  take_unguarded([](const char* name, void* guard) { static_cast<Guard*>(guard)->unguarded_symbol(name); }, ours);
}

bool may_initialize() noexcept {
  const Configuration* read = configuration();
  return (read != nullptr && read->usable) || on_error_run();
}

// With one device the program's memory will be there; with several, a sentinel waits for the first context on each.
Started start_guard() noexcept {
  const Started unguarded = on_error_run() ? Started::Yes : Started::No;
  if (guard() == nullptr) {
    const Configuration* read = configuration();
    if (read == nullptr || !read->usable) return unguarded;
    try {
      start();
    } catch (...) {
      write_stderr_line("error: no memory to start the guard", what_happens_now());
      return unguarded;
    }
  }
  Guard& ours = *guard();
  if (ours.device_count() != 1 || ours.place_sentinel(*ours.device(0))) return Started::Yes;
  write_stderr_line("error: the sentinel cannot be placed, and sentinel_required is set",
                    "free memory on the card, or lower 'sentinel'");
  return Started::WithoutSentinel;
}

}  // namespace vramguard
