#include "shim/api/preload_guard.h"

#include "shim/api/callbacks.h"
#include "shim/vramguard.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace vramguard {

namespace {

constexpr std::size_t kLongestName = 64;

struct Functions {
#define VG_C_FUNCTION(name) decltype(&vramguard_##name) name = nullptr;
#include "shim/api/c_functions.inc"
#undef VG_C_FUNCTION

  // By dlsym: the linker settles the weak references of a program for good.
  bool find() noexcept {
    bool all = true;
#define VG_C_FUNCTION(name)                                                         \
  name = reinterpret_cast<decltype(name)>(dlsym(RTLD_DEFAULT, "vramguard_" #name)); \
  all = all && name != nullptr;
#include "shim/api/c_functions.inc"
#undef VG_C_FUNCTION
    return all;
  }
};

std::optional<Bytes> known(std::uint64_t bytes) noexcept {
  return bytes == VRAMGUARD_UNLIMITED ? std::nullopt : std::optional<Bytes>(bytes);
}

MemoryShortage shortage_of(const vramguard_request& request) noexcept {
  const bool tells = request.size >= offsetof(vramguard_request, device_free) + sizeof request.device_free;
  return {.requested = request.requested,
          .missing = request.missing,
          .used = request.used,
          .budget = known(request.budget),
          .device_free = tells ? known(request.device_free) : std::nullopt,
          .attempt = request.attempt};
}

using Hooks = Callbacks<std::function<Bytes(const MemoryShortage&)>>;
using Checkpoints = Callbacks<std::function<void(const MemoryShortage&)>>;
struct Listener {
  int device;
  PressureListener call;
};
using Listeners = Callbacks<Listener>;

std::uint64_t run_hook(const vramguard_request* request, void* key) noexcept try {
  const auto hook = Hooks::of_process().find(key);
  return hook != nullptr ? (*hook)(shortage_of(*request)) : 0;
} catch (...) {
  return VRAMGUARD_HOOK_FAILED;
}

void run_checkpoint(const vramguard_request* request, void* key) noexcept try {
  if (const auto checkpoint = Checkpoints::of_process().find(key)) (*checkpoint)(shortage_of(*request));
} catch (...) {
}

void tell_listener(const vramguard_pressure* change, void* key) noexcept try {
  const auto listener = Listeners::of_process().find(key);
  if (listener == nullptr || listener->device != change->device) return;
  listener->call(static_cast<PressureLevel>(change->from), static_cast<PressureLevel>(change->to));
} catch (...) {
}

// Thread-safe. Holds no lock while it calls C: that waits for callbacks, which may call this.
class PreloadGuard final : public ProcessGuard {
 public:
  PreloadGuard(int device, const Functions& functions) noexcept : device_(device), c_(functions) {}
  ~PreloadGuard() override { PreloadGuard::forget_callbacks(); }

  MemoryStats stats() const noexcept override {
    const vramguard_statistics seen = statistics();
    return {.used = seen.used,
            .budget = known(seen.budget).value_or(0),
            .peak = seen.peak,
            .reserved = seen.sentinel,
            .spilled = seen.spilled,
            .device_free = known(seen.device_free),
            .device_total = seen.device_total,
            .allocations = seen.allocations,
            .oom_recoveries = seen.recovered};
  }
  PressureLevel level() const noexcept override { return static_cast<PressureLevel>(statistics().level); }
  Bytes reservation_wanted() const noexcept override { return statistics().sentinel_wanted; }
  std::optional<Refusal> last_refusal() const noexcept override {
    vramguard_refusal last{};
    last.size = sizeof last;
    if (c_.last_refusal(&last) != VRAMGUARD_OK || last.device != device_) return std::nullopt;
    return Refusal{.by_budget = last.scope == VRAMGUARD_SCOPE_BUDGET,
                   .deferred = last.deferred != 0,
                   .missing = last.missing,
                   .used = last.used,
                   .reserved = last.sentinel,
                   .budget = last.budget};
  }

  void set_budget(Bytes bytes) noexcept override { c_.set_budget(device_, bytes > 0 ? bytes : VRAMGUARD_UNLIMITED); }
  void set_policy(const MemoryPolicy& policy) noexcept override;
  void set_reservation(Bytes bytes) noexcept override { c_.reserve(device_, bytes); }
  Bytes release_reservation() noexcept override { return c_.release_reservation(device_); }
  void reset_peak() noexcept override { c_.reset_peak(device_); }

  void set_checkpoint(std::function<void(const MemoryShortage&)> callback) override;
  void register_hook(MemoryHook hook) override;
  bool remove_hook(std::string_view name) override {
    return remove_hooks([=](const NamedHook& hook) { return hook.name == name; });
  }
  void add_listener(PressureListener listener) override;
  void forget_callbacks() noexcept override;

 private:
  struct NamedHook {
    std::string name;
    void* key;
  };

  vramguard_statistics statistics() const noexcept {
    vramguard_statistics all{};
    all.size = sizeof all;
    c_.get_statistics(device_, &all);
    return all;
  }
  template <typename Matches>
  bool remove_hooks(Matches&& matches) noexcept;
  void forget_checkpoint(void* key) noexcept;

  const int device_;
  const Functions c_;
  std::mutex mutex_;
  std::vector<NamedHook> hooks_;
  std::vector<void*> listeners_;
  void* checkpoint_ = nullptr;
};

void PreloadGuard::set_policy(const MemoryPolicy& policy) noexcept {
  vramguard_policy told{};
  told.size = sizeof told;
  struct Setter {
    vramguard_policy& told;
    void operator()(Fail) const { told.name = "fail"; }
    void operator()(RetryAfterFree) const { told.name = "retry-after-free"; }
    void operator()(WaitAndRetry wait) const {
      told.name = "wait-and-retry";
      const auto longest = std::chrono::milliseconds(UINT32_MAX);
      told.wait_timeout_ms =
          static_cast<unsigned>(std::clamp(wait.timeout, std::chrono::milliseconds(0), longest).count());
    }
    void operator()(CheckpointAndFail) const { told.name = "checkpoint-and-fail"; }
    void operator()(Spill spill) const {
      told.name = "spill";
      told.spill_limit = spill.limit;
    }
  };
  std::visit(Setter{told}, policy);
  c_.set_device_policy(device_, &told);
}

void PreloadGuard::set_checkpoint(std::function<void(const MemoryShortage&)> callback) {
  void* const added = callback ? Checkpoints::of_process().add(std::move(callback)) : nullptr;
  if (added != nullptr) c_.set_checkpoint(run_checkpoint, added);
  void* before = added;
  {
    const std::lock_guard lock(mutex_);
    std::swap(before, checkpoint_);
  }
  forget_checkpoint(before);
}

void PreloadGuard::forget_checkpoint(void* key) noexcept {
  if (key == nullptr) return;
  c_.remove_checkpoint(run_checkpoint, key);
  Checkpoints::of_process().remove(key);
}

void PreloadGuard::register_hook(MemoryHook hook) {
  const std::string name = hook.name.empty() ? "unnamed" : hook.name.substr(0, kLongestName);
  vramguard_hook told{};
  told.size = sizeof told;
  told.name = name.c_str();
  told.device = device_;
  told.priority = hook.priority;
  told.estimated_free = hook.estimated_free_bytes;
  told.overhead = hook.execution_overhead_bytes;
  told.hook = run_hook;
  told.context = Hooks::of_process().add(std::move(hook.callback));
  {
    const std::lock_guard lock(mutex_);
    hooks_.push_back({std::move(hook.name), told.context});
  }
  if (c_.register_hook(&told) == VRAMGUARD_OK) return;
  remove_hooks([&](const NamedHook& mine) { return mine.key == told.context; });
  throw std::bad_alloc();
}

template <typename Matches>
bool PreloadGuard::remove_hooks(Matches&& matches) noexcept {
  std::vector<NamedHook> removed;
  {
    const std::lock_guard lock(mutex_);
    const auto first =
        std::stable_partition(hooks_.begin(), hooks_.end(), [&](const NamedHook& hook) { return !matches(hook); });
    removed.assign(std::make_move_iterator(first), std::make_move_iterator(hooks_.end()));
    hooks_.erase(first, hooks_.end());
  }
  for (const NamedHook& hook : removed) {
    c_.unregister_hook(run_hook, hook.key);
    Hooks::of_process().remove(hook.key);
  }
  return !removed.empty();
}

void PreloadGuard::add_listener(PressureListener listener) {
  void* const key = Listeners::of_process().add({device_, std::move(listener)});
  {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(key);
  }
  if (c_.add_pressure_listener(tell_listener, key) != VRAMGUARD_OK) throw std::bad_alloc();
}

void PreloadGuard::forget_callbacks() noexcept {
  remove_hooks([](const NamedHook&) { return true; });
  std::vector<void*> listeners;
  void* checkpoint = nullptr;
  {
    const std::lock_guard lock(mutex_);
    listeners.swap(listeners_);
    std::swap(checkpoint, checkpoint_);
  }
  for (void* const key : listeners) {
    c_.remove_pressure_listener(tell_listener, key);
    Listeners::of_process().remove(key);
  }
  forget_checkpoint(checkpoint);
}

}  // namespace

std::shared_ptr<ProcessGuard> find_preload_guard(int device) {
  Functions functions;
  if (!functions.find() || functions.device_count() <= device) return nullptr;
  return std::make_shared<PreloadGuard>(device, functions);
}

}  // namespace vramguard
