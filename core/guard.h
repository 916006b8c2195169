// The guard of this process: its devices, the table of what is allocated, the log and the thread that writes it.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/allocation_table.h"
#include "core/background_thread.h"
#include "core/caching_allocators.h"
#include "core/capture_table.h"
#include "core/clock.h"
#include "core/context_table.h"
#include "core/device_info.h"
#include "core/graph_table.h"
#include "core/guard_config.h"
#include "core/guarded_device.h"
#include "core/host_ranges.h"
#include "core/patient_lock.h"
#include "core/physical_table.h"
#include "core/pinned_memory.h"
#include "core/pool_table.h"
#include "core/presence.h"
#include "core/pressure_log.h"
#include "core/watchdog.h"

namespace vramguard {

// What a context is charged until it is measured (driver-specific: 518 to 523 MiB on H200, driver 580).
constexpr Bytes kContextEstimate = 600_MiB;

// Thread-safe. Lives until the process ends and is never destroyed: programs free memory after our destructors would
// run.
class Guard final : private BackgroundThread::Work {
 public:
  // `budgets` has the bytes for each of `devices` (kUnlimitedBytes: none). `devices` are in the order of their
  // ordinals.
  Guard(const GuardConfig& config, std::vector<DeviceInfo> devices, const std::vector<Bytes>& budgets,
        DeviceReader& reader, const Clock& clock);

  // Shows this process to others and takes its place in its group. Before the guard can be found by other threads. What
  // is in the way, in words: then it must not be used, as the group would be split; without a group nothing is.
  std::optional<std::string> join() noexcept;
  // After join(), for a guard that will not be used.
  void withdraw() noexcept;

  // Writes the first records and starts the thread. Once, after the guard can be found by others.
  void start(std::string_view driver_version) noexcept;

  GuardedDevice* device(int ordinal) noexcept;
  int device_count() const noexcept { return static_cast<int>(by_ordinal_.size()); }
  const GuardConfig& config() const noexcept { return config_; }

  // --- allocations
  // After settle(): from now on a free finds it.
  void remember(GuardedDevice& device, AllocationKind kind, ContextId context, AddressRange range) noexcept;
  // A free takes the record out before it enters the driver (afterwards another thread may own the same address), then
  // either lets it go, which gives its bytes back, or puts it back because the driver refused.
  std::optional<AllocationRecord> take(std::uint64_t address) noexcept {
    const std::optional<AllocationRecord> record = allocations_.take(address);
    if (record && is_on_host(record->kind)) host_ranges_.remove(address);
    return record;
  }
  void forget(std::uint64_t address, const AllocationRecord& record) noexcept;
  void put_back(std::uint64_t address, const AllocationRecord& record) noexcept;
  // The youngest allocation's number: what a context that dies now can have owned.
  std::uint64_t sequence() const noexcept { return sequence_.load(std::memory_order_relaxed); }

  // Managed memory with the host as its preferred place, as kind Uncharged or Spilled: nothing may move it from now on.
  void remember_on_host(GuardedDevice& device, AllocationKind kind, ContextId context, AddressRange range) noexcept;
  // Managed memory that did not fit and has the host as its preferred place. From now on nothing may move it.
  void kept_on_host(GuardedDevice& device, ContextId context, AddressRange range, const char* api) noexcept;
  const HostRanges& host_ranges() const noexcept { return host_ranges_; }
  // Arrays by their handle, as their addresses are nobody's business. One of 0 bytes shares pages with others and is
  // measured with what no call shows.
  void remember_array(GuardedDevice& device, ContextId context, std::uint64_t array, Bytes bytes) noexcept;
  std::optional<AllocationRecord> take_array(std::uint64_t array) noexcept { return arrays_.take(array); }
  // A small array was made, or destroyed: a page more or less of what no call shows, or none. Measured; where nobody
  // tells, `card_says` whether the card has a page less or more.
  void shared_page_taken(GuardedDevice& device, Reservation& reservation, std::optional<bool> card_says) noexcept;
  void shared_page_left(GuardedDevice& device, std::optional<bool> card_says) noexcept;
  PinnedMemory& pinned() noexcept { return pinned_; }
  void pinned_refused(const char* api, Bytes bytes) noexcept;
  // What physical allocations take, handle by handle.
  PhysicalTable& physical() noexcept { return physical_; }
  void physical_gone(const PhysicalBlock& block) noexcept;

  // --- what only the driver knows
  // Asks the driver what pools and graph memory hold. True if less is charged than before.
  bool read_bounded(GuardedDevice& device) noexcept;
  void read_graphs(GuardedDevice& device) noexcept;
  // Gives back to the card what pools and graph memory keep and nobody uses. True if less is charged than before.
  bool trim(GuardedDevice& device) noexcept;
  // How often graph memory was trimmed, by whomever.
  std::uint64_t graph_trims() const noexcept { return graph_trims_.load(); }
  void graphs_trimmed(GuardedDevice& device) noexcept;
  PoolTable& pools() noexcept { return pools_; }
  // After PoolTable::close() and the driver's call. `left` is what its live allocations hold.
  void pool_destroyed(GuardedDevice& device, PoolHandle pool, Bytes left) noexcept;
  Bytes pool_bytes(PoolHandle pool) noexcept { return reader_.pool_bytes(pool).value_or(0); }
  GraphTable& graphs() noexcept { return graphs_; }
  // Whether the program has ever captured a stream, or added an allocation to a graph: only then is it worth looking.
  bool captures_seen() const noexcept { return captures_seen_.load(std::memory_order_relaxed); }
  void capture_begins() noexcept { captures_seen_.store(true, std::memory_order_relaxed); }
  CaptureTable& captures() noexcept { return captures_; }
  bool memory_nodes_seen() const noexcept { return memory_nodes_seen_.load(std::memory_order_relaxed); }
  void memory_node_added() noexcept { memory_nodes_seen_.store(true, std::memory_order_relaxed); }

  // --- contexts: their bytes are measured; the allocations of one that died leave the books
  // The context that is current where a request is made; one that nobody announced is taken in.
  ContextId context_in_use(GuardedDevice& device, ContextHandle handle) noexcept;
  // While the driver makes one: a sentinel is taken out of its way.
  std::optional<Reservation> room_for_context(GuardedDevice& device) noexcept;
  void context_created(GuardedDevice& device, ContextHandle handle, bool primary) noexcept;
  void context_destroyed(ContextHandle handle, std::uint64_t up_to_sequence) noexcept;
  void primary_context_gone(GuardedDevice& device, std::uint64_t up_to_sequence) noexcept;
  // A call was made that changes what no call shows (a stack limit): measured now, or as soon as it can be.
  void unseen_changed(GuardedDevice& device) noexcept;
  // Measures what could not be measured when it came, because calls were under way: before somebody is told how much is
  // free, or refused. True if the books have changed.
  bool measure_missed(GuardedDevice& device) noexcept;
  ContextTable& contexts() noexcept { return contexts_; }

  // --- requests that do not fit
  bool observes() const noexcept { return config_.mode == Mode::Observe; }
  // Only told: an observed program gets what it asks for.
  void would_be_refused(GuardedDevice& device, const OomRequest& request) noexcept;
  void oom_returned(GuardedDevice& device, const OomRequest& request, RefusalScope scope) noexcept;
  // Whether it has an allocator that does so loaded: of PyTorch, JAX or CuPy. Looked up again once a second.
  bool program_frees_on_refusal() noexcept { return caching_allocators_.loaded(clock_.now()); }
  // Threads of the program, its own excepted, could free something.
  bool others_can_free() noexcept;
  // Of a group: the other members bring their numbers up to date, or give back what they hold of a sentinel. True if
  // less is charged than before.
  bool ask_group_to_settle(GuardedDevice& device) noexcept;
  bool ask_group_for_sentinel(GuardedDevice& device, Bytes bytes) noexcept;
  SendResult send_to_group(const SignalAction& action, int value) noexcept;
  // Asks `how` for what the card has free now, and sets the ceiling of `leave_free` by it.
  using AskFree = std::optional<Bytes> (DeviceReader::*)(int ordinal) noexcept;
  void look_at_card(GuardedDevice& device, AskFree how) noexcept;
  // Places the sentinel where it was not yet. False: it is required, and could not be placed.
  bool place_sentinel(GuardedDevice& device) noexcept;
  HookList& hooks() noexcept { return hooks_; }
  Checkpoint& checkpoint() noexcept { return checkpoint_; }
  Budget& spill() noexcept { return spill_; }
  HookRunner& hook_runner() noexcept { return runner_; }
  // Never above the device or the administrator's cap: what it is then.
  Bytes set_budget(GuardedDevice& device, Bytes budget) noexcept;
  // Applies what can change while the program runs; "" or, in words, what was not. On the guard's own thread.
  std::string reconfigure(const GuardConfig& fresh);
  // Reads the configuration again when another process asks for it; "" or what is wrong with it. Before start().
  using Reload = std::string (*)(Guard&);
  void reload_by(Reload reload) noexcept { reload_ = reload; }
  // Under the administrator's cap; of "all" nothing changes.
  void set_sentinel(GuardedDevice& device, Bytes bytes) noexcept;
  // Called with each published change of pressure, on the guard's thread. False: no memory for it.
  using PressureListener = std::function<void(const DeviceInfo&, const PressureTransition&)>;
  bool add_pressure_listener(PressureListener listener, std::uint64_t key = 0) noexcept;
  // All that were added under `key`. Returns when none of them is running any more, but for a call from within one.
  bool remove_pressure_listeners(std::uint64_t key) noexcept;

  // --- records
  // Something in the guard itself went wrong; the call went to the driver. Once per `where`.
  void guard_failed(std::string_view where, std::string_view what) noexcept;
  void unguarded_symbol(std::string_view name) noexcept;
  void post(const LogRecord& record) noexcept;
  // Programs are killed for running out of memory: the last word must be on the disk by then.
  void post_urgent(const LogRecord& record) noexcept;

  // What is due and then the last record, written by the calling thread, which takes over from the guard's own. For
  // atexit.
  void write_exit_record() noexcept;

 private:
  MonotonicTime run(MonotonicTime now) noexcept override;
  void leave(MonotonicTime now) noexcept override { run(now); }
  void keep_on_host(AddressRange range) noexcept;
  void remember(AllocationTable& table, std::uint64_t key, const AllocationRecord& record) noexcept;
  AllocationTable& table_of(AllocationKind kind) noexcept {
    return kind == AllocationKind::Array ? arrays_ : allocations_;
  }
  void read_pools(GuardedDevice& device) noexcept;
  std::optional<Bytes> sum_of_pools(GuardedDevice& device) noexcept;
  MonotonicTime work(MonotonicTime now) noexcept;
  enum class AskDriver { Yes, No };
  MonotonicTime publish_pressure(MonotonicTime now, AskDriver ask) noexcept;
  MonotonicTime publish_reports(MonotonicTime now) noexcept;
  MonotonicTime publish_state() noexcept;
  void publish_hooks(ProcessState& seen) noexcept;
  void show_record(std::uint64_t number, std::string_view line) noexcept;
  void answer_control() noexcept;
  std::string do_as_asked(std::uint32_t what, const ControlBlock& control) noexcept;
  MonotonicTime serve_group(MonotonicTime now) noexcept;
  void look_at_devices() noexcept;
  void unsettled() noexcept;
  void bury(const Context& context, std::uint64_t up_to_sequence) noexcept;
  void bury_in(AllocationTable& table, ContextId context, std::uint64_t up_to_sequence) noexcept;
  // Unknown: nobody tells; Disturbed: calls came or went each time, so look again later. Sets measure_again by that.
  enum class Measured { Yes, Unknown, Disturbed };
  // What NVML tells beyond the books, with `own_calls` of the caller under way; charged is that, but at most `raise`
  // more than before: memory that the driver is late to give back looks as if it were unseen.
  struct Look {
    Measured measured;
    Bytes before = 0, unseen = 0;
    Bytes raised_by_at_most(Bytes raise) const noexcept {
      return unseen > before ? before + std::min(raise, unseen - before) : unseen;
    }
  };
  Look look_for_unseen(GuardedDevice& device, unsigned own_calls) noexcept;
  Measured measure_unseen(GuardedDevice& device, Bytes raise, unsigned own_calls = 0) noexcept;
  void contexts_changed(GuardedDevice& device, int by, bool write_record) noexcept;
  void say_first_oom() noexcept;
  void say_summary(Bytes peak, Bytes budget, std::uint64_t refused, std::uint64_t recovered) noexcept;
  void write_now_if_alone() noexcept;
  std::optional<PressureTransition> evaluate_pressure(GuardedDevice& device, MonotonicTime now,
                                                      const char*& scope) noexcept;
  void publish(GuardedDevice& device, const PressureTransition& change, const char* scope, AskDriver ask) noexcept;
  void tell_listeners(const GuardedDevice& device, const PressureTransition& change) noexcept;
  void run_pressure_hooks(GuardedDevice& device, const PressureTransition& change, const char* scope) noexcept;
  void tend_sentinel(GuardedDevice& device) noexcept;
  bool watches_card(const GuardedDevice& device) const noexcept;

  static void wake(void* self) noexcept { static_cast<Guard*>(self)->thread_.wake(); }

  const GuardConfig config_;
  DeviceReader& reader_;
  const Clock& clock_;
  Presence presence_;
  Reload reload_ = nullptr;
  PressureLog log_;
  HookList hooks_;
  HookRunner runner_;
  Checkpoint checkpoint_;
  Budget spill_;
  CachingAllocators caching_allocators_;
  std::deque<GuardedDevice> devices_;  // never resized after construction; a deque because its elements cannot move
  std::vector<GuardedDevice*> by_ordinal_;
  AllocationTable allocations_;
  AllocationTable arrays_;
  HostRanges host_ranges_;
  PinnedMemory pinned_;
  PhysicalTable physical_;
  PoolTable pools_;
  GraphTable graphs_;
  std::atomic<std::uint64_t> graph_trims_{0};
  std::atomic<bool> captures_seen_{false};
  CaptureTable captures_;
  std::atomic<bool> memory_nodes_seen_{false};
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<MonotonicTime::rep> unsettled_until_{MonotonicTime::min().time_since_epoch().count()};
  ContextTable contexts_;
  std::mutex listeners_mutex_;
  std::vector<std::pair<std::uint64_t, PressureListener>> listeners_;
  ThreadSet listening_;
  std::atomic<unsigned> own_threads_{0};
  BackgroundThread thread_{"vramguard", own_threads_};
  Watchdog watchdog_{own_threads_, [](void* self) noexcept { static_cast<Guard*>(self)->presence_.begin(); },
                     [](void* self) noexcept { static_cast<Guard*>(self)->look_at_devices(); }, this};
  bool watches_ = false;  // the watchdog has been started
  std::atomic<bool> ending_{false};
  PatientLock working_;  // whoever does the thread's work
  std::atomic<bool> has_thread_{false};
  MonotonicTime next_report_ = MonotonicTime::max();

  // The first OOM that the program was given, for the line on the terminal.
  struct FirstOom {
    std::atomic<int> state{0};  // 0 none, 1 being filled in, 2 to be said, 3 said
    Bytes requested, used, budget;
    RefusalScope scope;
  } first_oom_;
  std::atomic<std::uint64_t> faults_said_{0};
};

}  // namespace vramguard
