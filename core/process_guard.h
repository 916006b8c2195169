// The guard that a process may already have, as a MemoryGuard sees it: every request for the device passes it anyway.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "core/memory_guard.h"

namespace vramguard {

// One device of it. Thread-safe. Ends with the MemoryGuard and its buffers.
class ProcessGuard {
 public:
  // Why the calling thread was refused last.
  struct Refusal {
    bool by_budget = false;  // otherwise the device is full, or must not be filled further
    bool deferred = false;   // hooks and policy act when it asks for as much again
    Bytes missing = 0, used = 0, reserved = 0, budget = 0;
  };

  virtual ~ProcessGuard() = default;

  virtual MemoryStats stats() const noexcept = 0;  // of the whole process
  virtual PressureLevel level() const noexcept = 0;
  virtual Bytes reservation_wanted() const noexcept = 0;  // kUnlimitedBytes: all of the unused budget
  virtual std::optional<Refusal> last_refusal() const noexcept = 0;

  virtual void set_budget(Bytes bytes) noexcept = 0;  // 0: unlimited
  virtual void set_policy(const MemoryPolicy& policy) noexcept = 0;
  virtual void set_reservation(Bytes bytes) noexcept = 0;
  virtual Bytes release_reservation() noexcept = 0;
  virtual void reset_peak() noexcept = 0;

  // Null: the process's own again.
  virtual void set_checkpoint(std::function<void(const MemoryShortage&)> callback) = 0;
  virtual void register_hook(MemoryHook hook) = 0;
  virtual bool remove_hook(std::string_view name) = 0;
  virtual void add_listener(PressureListener listener) = 0;
  // Forgets the checkpoint, the hooks and the listeners that came this way. When it returns none of them is running
  // any more, but for a call from within one.
  virtual void forget_callbacks() noexcept = 0;
};

}  // namespace vramguard
