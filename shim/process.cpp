#include "shim/process.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "core/device_budget.h"
#include "core/stderr_line.h"
#include "shim/configuration.h"
#include "shim/cuda_devices.h"
#include "shim/device_list.h"
#include "shim/driver.h"
#include "shim/reload.h"
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

// Why there can be no guard, in words; nullopt: there is one.
std::optional<std::string> start() {
  Guard* built = build_guard(configuration()->config);
  built->reload_by(reload_configuration);
  if (std::optional<std::string> problem = built->join()) {
    built->withdraw();
    return guard() != nullptr ? std::nullopt : problem;  // another thread's may have been made meanwhile
  }
  Guard* expected = nullptr;
  if (!fork_page().guard.compare_exchange_strong(expected, built, std::memory_order_acq_rel)) {
    built->withdraw();
    return std::nullopt;
  }
  built->start(driver_version());
  warn_of_doubtful_names(*built, built->config());
  report_unguarded_symbols();
  std::atexit(at_exit);
  return std::nullopt;
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
      if (const std::optional<std::string> problem = start()) {
        static constinit std::atomic<bool> said{false};
        if (!said.exchange(true)) write_stderr_line("error: " + *problem, what_happens_now());
        return unguarded;
      }
    } catch (...) {
      write_stderr_line("error: no memory to start the guard", what_happens_now());
      return unguarded;
    }
  }
  Guard& ours = *guard();
  return ours.device_count() != 1 || sentinel_is_placed(ours, *ours.device(0)) ? Started::Yes
                                                                               : Started::WithoutSentinel;
}

bool sentinel_is_placed(Guard& guard, GuardedDevice& device) noexcept {
  if (guard.place_sentinel(device)) return true;
  static constinit std::atomic<std::uint64_t> said{0};  // a bit for each device
  const std::uint64_t bit = std::uint64_t{1} << device.info.ordinal % 64;
  if ((said.fetch_or(bit) & bit) != 0) return false;
  char text[128];
  std::snprintf(text, sizeof text, "error: the sentinel of device %d cannot be placed, and sentinel_required is set",
                device.info.ordinal);
  write_stderr_line(text, "; free memory on the card, or lower 'sentinel'");
  return false;
}

}  // namespace vramguard
