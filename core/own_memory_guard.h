// A MemoryGuard by itself: the books of one device and the path of its refused requests, around a Device.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/memory_guard_state.h"
#include "core/oom_path.h"

namespace vramguard {

// The sentinel's chunks, from a Device. As thread-safe as that.
class ChunksOfDevice final : public DeviceReader {
 public:
  explicit ChunksOfDevice(Device& device) noexcept : device_(device) {}

  void prepare() noexcept override {}
  std::optional<Bytes> bytes_of_this_process(int) noexcept override { return std::nullopt; }
  std::optional<Bytes> free_bytes(int) noexcept override { return device_.free_bytes(); }
  std::optional<Bytes> pool_bytes(PoolHandle) noexcept override { return std::nullopt; }
  std::optional<Bytes> graph_bytes(int) noexcept override { return std::nullopt; }
  bool trim_pool(PoolHandle) noexcept override { return false; }
  bool trim_graphs(int) noexcept override { return false; }
  std::optional<Chunk> take_chunk(int, Bytes bytes) noexcept override { return device_.take_chunk(bytes); }
  void give_chunk(Chunk chunk) noexcept override { device_.give_chunk(chunk); }

 private:
  Device& device_;
};

// Thread-safe.
class OwnMemoryGuard final : public MemoryGuardState, private OomHost {
 public:
  OwnMemoryGuard(std::shared_ptr<Device> device, Bytes budget, Bytes reserve, const MemoryPolicy& policy,
                 const Clock& clock);

  // Takes the reservation. Once, before anything else.
  void start() noexcept { sentinel_.place(*this); }

  DeviceMemory allocate(Bytes bytes, bool runs_hooks) override;
  void set_budget(Bytes bytes) noexcept override;
  Bytes budget() const noexcept override;
  void set_policy(const MemoryPolicy& policy) noexcept override;
  void on_oom(std::function<void(const MemoryShortage&)> callback) override;
  void register_hook(MemoryHook hook) override;
  bool remove_hook(std::string_view name) override { return !hooks_.remove(name).empty(); }
  PressureLevel level() const noexcept override;
  void add_listener(PressureListener listener) override;
  Bytes release_reservation() noexcept override { return sentinel_.let_go(*this); }
  bool has_reservation() const noexcept override { return sentinel_.held() > 0; }
  MemoryStats stats() const noexcept override;
  void reset_peak() noexcept override { books_.reset_peak(); }
  bool attached() const noexcept override { return false; }
  void end() noexcept override { release_reservation(); }

 private:
  using Listeners = std::vector<PressureListener>;

  Ledger& books() noexcept override { return books_; }
  const DeviceInfo& identity() const noexcept override { return info_; }
  bool look_again() noexcept override { return false; }  // the books are exact
  bool trim() noexcept override { return device().trim(); }
  std::optional<Bytes> card_free() noexcept override { return device().free_bytes(); }
  bool others_can_free() noexcept override;
  bool program_frees_on_refusal() noexcept override { return false; }
  void post(const LogRecord&) noexcept override {}
  void post_urgent(const LogRecord&) noexcept override {}
  void oom_returned(const OomRequest&, RefusalScope) noexcept override {}

  void give_back(AddressRange range, bool on_host) override;
  // After the books have changed: tells the listeners, and takes the reservation again where there is room.
  void books_changed() noexcept;
  enum class Try { Served, BudgetFull, DeviceFull, Undone };
  Try try_once(Bytes bytes, DeviceAddress& address);
  void undo(AddressRange range);
  std::optional<DeviceAddress> spill(Bytes bytes, OomAttempt& attempt);
  [[noreturn]] void refuse(Bytes bytes, RefusalScope scope);
  void tell_listeners() noexcept;
  void tend_reservation() noexcept;

  const Clock& clock_;
  const DeviceInfo info_;
  Ledger books_;
  ChunksOfDevice chunks_;
  SentinelKeeper sentinel_;
  HookList hooks_;
  HookRunner runner_;
  const OomConfig no_command_;
  Checkpoint checkpoint_;
  Budget spill_{0};
  OomPath oom_;

  std::atomic<std::uint64_t> spilled_allocations_{0};
  std::atomic<PressureLevel> last_level_{PressureLevel::None};
  std::atomic<bool> tending_{false};
  mutable std::mutex listeners_mutex_;
  std::shared_ptr<const Listeners> listeners_;  // never changed, only replaced; null: none
};

}  // namespace vramguard
