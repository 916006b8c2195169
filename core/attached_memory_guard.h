// A MemoryGuard in a process that is guarded already: it keeps no books, and works on those of the process.
#pragma once

#include "core/memory_guard_state.h"
#include "core/process_guard.h"

namespace vramguard {

// Thread-safe.
class AttachedMemoryGuard final : public MemoryGuardState {
 public:
  AttachedMemoryGuard(std::shared_ptr<Device> device, std::shared_ptr<ProcessGuard> guard) noexcept
      : MemoryGuardState(std::move(device)), guard_(std::move(guard)) {}

  // What the program asks for holds where it is stricter than what the process was started with: a lower budget, a
  // larger reservation. Once, before anything else.
  void start(Bytes budget, Bytes reserve) noexcept;

  DeviceMemory allocate(Bytes bytes, bool runs_hooks) override;
  void set_budget(Bytes bytes) noexcept override { guard_->set_budget(bytes); }
  Bytes budget() const noexcept override { return guard_->stats().budget; }
  void set_policy(const MemoryPolicy& policy) noexcept override { guard_->set_policy(policy); }
  void on_oom(std::function<void(const MemoryShortage&)> callback) override {
    guard_->set_checkpoint(std::move(callback));
  }
  void register_hook(MemoryHook hook) override { guard_->register_hook(std::move(hook)); }
  bool remove_hook(std::string_view name) override { return guard_->remove_hook(name); }
  PressureLevel level() const noexcept override { return guard_->level(); }
  void add_listener(PressureListener listener) override { guard_->add_listener(std::move(listener)); }
  Bytes release_reservation() noexcept override { return guard_->release_reservation(); }
  bool has_reservation() const noexcept override { return guard_->stats().reserved > 0; }
  MemoryStats stats() const noexcept override { return guard_->stats(); }
  void reset_peak() noexcept override { guard_->reset_peak(); }
  bool attached() const noexcept override { return true; }
  void end() noexcept override;

 private:
  // A setting of the process that this guard has changed.
  struct Change {
    Bytes before = 0, after = 0;
  };

  void give_back(AddressRange range, bool on_host) override;
  [[noreturn]] void refuse(Bytes bytes, const std::optional<ProcessGuard::Refusal>& refusal) const;

  const std::shared_ptr<ProcessGuard> guard_;
  std::optional<Change> budget_, reservation_;  // by start() and end() alone
};

}  // namespace vramguard
