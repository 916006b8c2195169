// A hook: what the user configured, or what the program registered, and how it has fared.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/hook_facts.h"
#include "core/hook_gate.h"

namespace vramguard {

// What a program registers instead of a command: frees what it can and says how much that was, which nobody believes.
using HookCallback = std::function<Bytes(const HookFacts&)>;

struct Hook {
  explicit Hook(HookConfig configured, HookCallback registered = {})
      : config(std::move(configured)), callback(std::move(registered)) {}

  const HookConfig config;
  const HookCallback callback;  // empty for commands and signals
  HookGate gate;
};

// Thread-safe. No exception leaves.
class HookList {
 public:
  using Hooks = std::vector<std::shared_ptr<Hook>>;

  // In the order of configuration.
  bool add(HookConfig config, HookCallback callback = {}) noexcept;  // false: no memory for it
  // Of the hooks that the program registered: takes them out, so that none of them starts any more, and returns them;
  // one may still be running.
  Hooks remove(std::string_view name) noexcept;
  // The same and the new one in their place, in one step. False: no memory for it, and all is as before.
  bool replace(HookConfig config, HookCallback callback, Hooks& removed) noexcept;

  // Those of one event: lowest priority first, then the larger estimate, then the older one.
  Hooks of(HookEvent event) const noexcept;
  std::shared_ptr<Hook> find(std::string_view name) const noexcept;
  bool any(HookEvent event) const noexcept;
  struct Totals {
    std::uint64_t runs = 0, failures = 0;
  };
  Totals totals() const noexcept;

 private:
  Hooks take_out(std::string_view name);

  mutable std::mutex mutex_;
  Hooks hooks_;
};

}  // namespace vramguard
