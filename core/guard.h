// The guard of this process: its devices, the table of what is allocated, the log and the thread that writes it.
#pragma once

#include <atomic>
#include <deque>
#include <string_view>
#include <vector>

#include "core/allocation_table.h"
#include "core/clock.h"
#include "core/context_table.h"
#include "core/device_info.h"
#include "core/guard_config.h"
#include "core/hook_thread.h"
#include "core/memory_guard.h"
#include "core/patient_lock.h"
#include "core/pressure_log.h"

namespace vramguard {

// What a context is charged until it is measured (driver-specific: 518 to 523 MiB on H200, driver 580).
constexpr Bytes kContextEstimate = 600_MiB;

struct GuardedDevice {
  GuardedDevice(DeviceInfo identity, Bytes budget, MemoryGuard::Wake wake, void* wake_context)
      : info(std::move(identity)), memory(budget, wake, wake_context) {}

  const DeviceInfo info;
  MemoryGuard memory;
  std::atomic<std::uint64_t> managed_live{0};  // allocations of managed memory: nobody tells how much of it is resident
  std::atomic<bool> measure_again{false};      // the last look at what no call shows told nothing
};

// Why and where a request was turned down, for the records.
struct Refusal {
  enum class Scope { Budget, Device };  // ours, or the card itself is full

  const char* api;
  Scope scope;
  Bytes requested;
  std::optional<Bytes> card_free;
  unsigned attempts = 1;  // to fit it in, by us or by the driver
  std::chrono::milliseconds waited{0};
};

// Thread-safe. Lives until the process ends and is never destroyed: programs free memory after our destructors would
// run.
class Guard final : private HookThread::Work {
 public:
  // `budgets` has the bytes for each of `devices` (kUnlimitedBytes: none). `devices` are in the order of their
  // ordinals.
  Guard(const GuardConfig& config, std::vector<DeviceInfo> devices, const std::vector<Bytes>& budgets,
        DeviceReader& reader, const Clock& clock);

  // Writes the first records and starts the thread. Once, after the guard can be found by others.
  void start(std::string_view driver_version) noexcept;

  GuardedDevice* device(int ordinal) noexcept;
  const GuardConfig& config() const noexcept { return config_; }

  // --- allocations
  // After settle(): from now on a free finds it.
  void remember(GuardedDevice& device, AllocationKind kind, ContextId context, AddressRange range) noexcept;
  // A free takes the record out before it enters the driver (afterwards another thread may own the same address), then
  // either lets it go, which gives its bytes back, or puts it back because the driver refused.
  std::optional<AllocationRecord> take(std::uint64_t address) noexcept { return allocations_.take(address); }
  void forget(std::uint64_t address, const AllocationRecord& record) noexcept;
  void put_back(std::uint64_t address, const AllocationRecord& record) noexcept;
  // The youngest allocation's number: what a context that dies now can have owned.
  std::uint64_t sequence() const noexcept { return sequence_.load(std::memory_order_relaxed); }

  // --- contexts: their bytes are measured; the allocations of one that died leave the books
  // The context that is current where a request is made; one that nobody announced is taken in.
  ContextId context_in_use(GuardedDevice& device, ContextHandle handle) noexcept;
  void context_created(GuardedDevice& device, ContextHandle handle, bool primary) noexcept;
  void context_destroyed(ContextHandle handle, std::uint64_t up_to_sequence) noexcept;
  void primary_context_gone(GuardedDevice& device, std::uint64_t up_to_sequence) noexcept;
  // Measures what could not be measured when it came, because calls were under way: before somebody is told how much is
  // free, or refused. True if the books have changed.
  bool measure_missed(GuardedDevice& device) noexcept;
  ContextTable& contexts() noexcept { return contexts_; }

  // --- records
  // A request that was not served. One pair of records, and the pressure hears of it.
  void refused(GuardedDevice& device, const Refusal& refusal) noexcept;
  // Something in the guard itself went wrong; the call went to the driver. Once per `where`.
  void guard_failed(std::string_view where, std::string_view what) noexcept;
  void unguarded_symbol(std::string_view name) noexcept;
  void post(const LogRecord& record) noexcept;

  // What is due and then the last record, written by the calling thread, which takes over from the guard's own. For
  // atexit.
  void write_exit_record() noexcept;

 private:
  MonotonicTime run(MonotonicTime now) noexcept override;
  MonotonicTime work(MonotonicTime now) noexcept;
  enum class AskCard { Yes, No };
  MonotonicTime publish_pressure(MonotonicTime now, AskCard ask) noexcept;
  MonotonicTime publish_reports(MonotonicTime now) noexcept;
  MonotonicTime measure_all_missed(MonotonicTime now) noexcept;
  void bury(const Context& context, std::uint64_t up_to_sequence) noexcept;
  // Unknown: nobody tells; Disturbed: calls were under way each time, so look again later.
  enum class Measured { Yes, Unknown, Disturbed };
  Measured measure_contexts(GuardedDevice& device) noexcept;
  void contexts_changed(GuardedDevice& device, int by, bool write_record) noexcept;
  void say_first_oom() noexcept;
  void write_now_if_alone() noexcept;

  const GuardConfig config_;
  DeviceReader& reader_;
  const Clock& clock_;
  std::deque<GuardedDevice> devices_;  // never resized after construction; a deque because its elements cannot move
  AllocationTable allocations_;
  std::atomic<std::uint64_t> sequence_{0};
  ContextTable contexts_;
  PressureLog log_;
  HookThread thread_;
  PatientLock working_;  // whoever does the thread's work
  std::atomic<bool> has_thread_{false};
  MonotonicTime next_report_ = MonotonicTime::max();

  // The first OOM that the program was given, for the line on the terminal.
  struct FirstOom {
    std::atomic<int> state{0};  // 0 none, 1 being filled in, 2 to be said, 3 said
    Bytes requested, used, budget;
    Refusal::Scope scope;
  } first_oom_;
  std::atomic<std::uint64_t> faults_said_{0};
};

const char* to_string(Refusal::Scope scope) noexcept;

}  // namespace vramguard
