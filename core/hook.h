// A hook: what the user configured, or what the program registered, and how it has fared.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "core/hook_facts.h"
#include "core/hook_gate.h"

namespace vramguard {

// What a program registers instead of a command: frees what it can and says how much that was, which nobody believes.
using HookCallback = std::function<Bytes(const HookFacts&)>;

// Of a program's hook. A plain value.
struct Registration {
  std::uint64_t key = 0;      // by which the program tells it from others; 0: by its name
  std::optional<int> device;  // runs for requests on this one alone
};

// How often a hook has ended in each way (HookOutcome), and was not run for each reason (HookSkip).
struct HookTally {
  std::array<std::atomic<std::uint64_t>, kHookOutcomes> outcomes{};
  std::array<std::atomic<std::uint64_t>, kHookSkips> skips{};
};

struct Hook {
  explicit Hook(HookConfig configured, HookCallback registered = {}, const Registration& how = {})
      : config(std::move(configured)), callback(std::move(registered)), registration(how) {}

  const HookConfig config;
  const HookCallback callback;  // empty for commands and signals
  const Registration registration;
  HookGate gate;
  HookTally tally;
};

// Thread-safe. No exception leaves.
class HookList {
 public:
  using Hooks = std::vector<std::shared_ptr<Hook>>;

  // In the order of configuration. False: no memory for it.
  bool add(HookConfig config, HookCallback callback = {}, const Registration& how = {}) noexcept;
  // Of the hooks that the program registered, by name those without a key: takes them out, so that none of them starts
  // any more, and returns them; one may still be running.
  Hooks remove(std::string_view name) noexcept;
  Hooks remove(std::uint64_t key) noexcept;
  // By name, and the new one in their place, in one step. False: no memory for it, and all is as before.
  bool replace(HookConfig config, HookCallback callback, Hooks& removed) noexcept;
  // Those of the configuration: what has not changed stays, with its counts; the rest goes or comes. False: no memory,
  // and all is as before.
  bool configure(const std::vector<HookConfig>& configured) noexcept;

  // Those of one event, and not of another device than `device`: lowest priority first, then the larger estimate, then
  // the older one.
  Hooks of(HookEvent event, std::optional<int> device = std::nullopt) const noexcept;
  bool any(HookEvent event) const noexcept;
  struct Totals {
    std::uint64_t runs = 0, failures = 0;
  };
  Totals totals() const noexcept;
  // Calls visit(const Hook&) for each, in the order in which they came. It must not call the list.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Hook>& hook : hooks_) visit(*hook);
  }

 private:
  template <typename Matches>
  Hooks take_out(Matches&& matches);

  mutable std::mutex mutex_;
  Hooks hooks_;
};

}  // namespace vramguard
