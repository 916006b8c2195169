// MemoryGuard: device memory under a budget, for programs that ask for it themselves. docs/memory_guard.md shows how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/bytes.h"
#include "core/clock.h"
#include "core/device.h"
#include "core/device_buffer.h"
#include "core/memory_error.h"
#include "core/memory_hook.h"
#include "core/memory_policy.h"
#include "core/pressure_level.h"

namespace vramguard {

// Each number is right for itself; together they are of one moment only while nobody allocates or frees.
struct MemoryStats {
  Bytes used = 0;                    // of the budget, in whole pages of 2 MiB; what is spilled is not in it
  Bytes budget = 0;                  // 0: unlimited
  Bytes peak = 0;                    // of used, since the start or reset_peak_stats()
  Bytes reserved = 0;                // held as reservation; not in used, but it takes its place in the budget
  Bytes spilled = 0;                 // in host memory
  std::optional<Bytes> device_free;  // whoever uses the rest; nullopt where the device does not tell
  Bytes device_total = 0;
  std::uint64_t allocations = 0;     // that succeeded
  std::uint64_t oom_recoveries = 0;  // requests that hooks, the reservation or the policy saved
};

// Called with each change of the level, on the thread whose call changed it, with no lock held; exceptions are dropped.
using PressureListener = std::function<void(PressureLevel from, PressureLevel to)>;

// Thread-safe. Move-only; empty where it was moved from, and then only good for being destroyed or assigned to. Its
// buffers may outlive it; its reservation ends with it. A request is admitted in whole pages of 2 MiB, as the driver
// takes them: N threads at the limit never exceed the budget, but for the one page by which a request may be too large
// that is tried because the page could be shared with others, and undone at once if it is not.
//
// What an allocating function does, in this order, until the request fits: budget, device; caches of the device are
// trimmed; hooks (safe_alloc_with_hooks alone); the reservation is given back as far as it helps; the OOM policy. It
// throws BudgetExceeded or OutOfDeviceMemory, whichever was the last reason, RequestTooLarge or DeviceError; a request
// for no elements gives an empty buffer. A request that the whole budget or device could not hold fails without hooks
// and waits. Never call one while the calling thread captures a stream, or with a lock held that a hook or listener
// takes.
//
// In a process that is guarded already (a CudaDevice under the preload) it keeps no books of its own: budget, hooks,
// policy, reservation and numbers are those of the process, on this device; docs/memory_guard.md says what differs.
class MemoryGuard {
 public:
  MemoryGuard(MemoryGuard&& other) noexcept = default;
  MemoryGuard& operator=(MemoryGuard&& other) noexcept;
  ~MemoryGuard();

  // Bytes of the device; 0: unlimited. Below what is used: nothing is freed, and nothing admitted until it fits again.
  void set_budget(Bytes bytes);
  Bytes budget() const noexcept;  // 0: unlimited

  // Holds for the next request that does not fit.
  void set_oom_policy(const MemoryPolicy& policy) noexcept;
  // Called once for each request that CheckpointAndFail turns down, before it throws, on its thread; null: nothing.
  // What it allocates itself is not checkpointed again. Its exceptions are dropped.
  void on_oom(std::function<void(const MemoryShortage&)> callback);

  // Runs before those with a higher priority number, then before those with a smaller estimate, then before later ones.
  // Throws std::invalid_argument where it has no callback.
  void register_hook(MemoryHook hook);
  // All of that name. Whether there was one. One that is running ends undisturbed.
  bool remove_hook(std::string_view name);

  // By what is free of the budget: low from 30 %, medium 10 %, high 5 %, critical when nothing is. None without budget.
  PressureLevel pressure_level() const noexcept;
  // Hears every change after each allocation, free and set_budget, until the guard ends.
  void add_pressure_listener(PressureListener listener);

  // Zeroed elements.
  template <typename T>
  [[nodiscard]] DeviceBuffer<T> safe_alloc(std::size_t count) {
    return {zeroed(bytes_for<T>(count), Hooks::No), count};
  }
  template <typename T>
  [[nodiscard]] DeviceBuffer<T> safe_alloc_with_hooks(std::size_t count) {
    return {zeroed(bytes_for<T>(count), Hooks::Yes), count};
  }
  // A copy of what the host has; the way of safe_alloc.
  template <typename T>
  [[nodiscard]] DeviceBuffer<T> safe_alloc_copy(std::span<const T> from) {
    return {copy(from.data(), bytes_for<T>(from.size())), from.size()};
  }
  // Of this guard's buffers (std::invalid_argument otherwise). Where the device refuses it throws DeviceError and the
  // buffer stays as it was; a destructor leaves such memory allocated, and counted.
  template <typename T>
  void free(DeviceBuffer<T>&& buffer) {
    free(buffer.memory_);
    buffer = {};
  }

  // Gives the reservation back, for good. The bytes that this call released; 0 if there were none.
  Bytes release_reservation() noexcept;
  bool has_reservation() const noexcept;

  MemoryStats stats() const noexcept;
  void reset_peak_stats() noexcept;
  bool attached() const noexcept;         // it works on the guard of the process
  const Device& device() const noexcept;  // std::cout << guard.device()

 private:
  friend class MemoryGuardBuilder;
  enum class Hooks { No, Yes };
  explicit MemoryGuard(std::shared_ptr<MemoryGuardState> state) noexcept;

  template <typename T>
  static Bytes bytes_for(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>, "only bytes are filled with zeros and copied");
    return product(count, sizeof(T));
  }
  static Bytes product(std::size_t count, std::size_t element_bytes);
  DeviceMemory zeroed(Bytes bytes, Hooks hooks);
  DeviceMemory copy(const void* from, Bytes bytes);
  void free(DeviceMemory& memory);

  std::shared_ptr<MemoryGuardState> state_;
};

// Belongs to one thread.
class MemoryGuardBuilder {
 public:
  // Throws std::invalid_argument for null.
  explicit MemoryGuardBuilder(std::shared_ptr<Device> device);

  MemoryGuardBuilder& budget_bytes(Bytes bytes) noexcept;  // 0, the default: unlimited
  // Memory to be held from the start so that neighbours cannot take it, inside the budget, in chunks of 64 MiB: as much
  // of it as there is. Given back chunk by chunk when a request needs it, and taken again by a later call of the guard
  // when there has been room for it for 5 s.
  MemoryGuardBuilder& reserve_bytes(Bytes bytes) noexcept;
  MemoryGuardBuilder& oom_policy(const MemoryPolicy& policy) noexcept;  // the default is Fail
  // Time for the guard, which it must outlive: for tests.
  MemoryGuardBuilder& clock(const Clock& clock) noexcept;

  MemoryGuard build();

 private:
  std::shared_ptr<Device> device_;
  Bytes budget_ = 0;
  Bytes reserve_ = 0;
  std::optional<MemoryPolicy> policy_;
  const Clock* clock_ = nullptr;
};

}  // namespace vramguard
