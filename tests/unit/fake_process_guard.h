// The guard of a process without a process: tells what was asked of it.
#pragma once

#include "core/process_guard.h"

#include <string>
#include <utility>
#include <vector>

namespace vramguard {

// For one thread. A budget of `cap` at the most, as an administrator sets it.
class FakeProcessGuard final : public ProcessGuard {
 public:
  MemoryStats stats() const noexcept override { return numbers; }
  PressureLevel level() const noexcept override { return PressureLevel::Medium; }
  Bytes reservation_wanted() const noexcept override { return wanted; }
  std::optional<Refusal> last_refusal() const noexcept override { return refusal; }
  void set_budget(Bytes bytes) noexcept override {
    numbers.budget = cap > 0 && (bytes == 0 || bytes > cap) ? cap : bytes;
  }
  void set_policy(const MemoryPolicy& to) noexcept override { policy = to; }
  void set_reservation(Bytes bytes) noexcept override { wanted = numbers.reserved = bytes; }
  Bytes release_reservation() noexcept override { return std::exchange(numbers.reserved, 0); }
  void reset_peak() noexcept override { numbers.peak = numbers.used; }
  void set_checkpoint(std::function<void(const MemoryShortage&)> callback) override {
    checkpoint = std::move(callback);
  }
  void register_hook(MemoryHook hook) override { hooks.push_back(std::move(hook)); }
  bool remove_hook(std::string_view name) override {
    return std::erase_if(hooks, [=](const MemoryHook& hook) { return hook.name == name; }) > 0;
  }
  void add_listener(PressureListener listener) override { listeners.push_back(std::move(listener)); }
  void forget_callbacks() noexcept override {
    hooks.clear();
    listeners.clear();
    checkpoint = nullptr;
  }

  MemoryStats numbers;
  Bytes wanted = 0, cap = 0;
  std::optional<Refusal> refusal;
  std::optional<MemoryPolicy> policy;
  std::function<void(const MemoryShortage&)> checkpoint;
  std::vector<MemoryHook> hooks;
  std::vector<PressureListener> listeners;
};

}  // namespace vramguard
