#include "core/memory_guard.h"

#include <stdexcept>

#include "core/attached_memory_guard.h"
#include "core/own_memory_guard.h"

namespace vramguard {

namespace {

// Never destroyed: a guard may be the program's last static object.
const Clock& system_clock() noexcept {
  alignas(Clock) static unsigned char place[sizeof(Clock)];
  static const Clock& clock = *new (place) Clock;
  return clock;
}

}  // namespace

MemoryGuard::MemoryGuard(std::shared_ptr<MemoryGuardState> state) noexcept : state_(std::move(state)) {}

MemoryGuard& MemoryGuard::operator=(MemoryGuard&& other) noexcept {
  MemoryGuard before(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

MemoryGuard::~MemoryGuard() {
  if (state_ != nullptr) state_->end();
}

void MemoryGuard::set_budget(Bytes bytes) { state_->set_budget(bytes); }
Bytes MemoryGuard::budget() const noexcept { return state_->budget(); }
void MemoryGuard::set_oom_policy(const MemoryPolicy& policy) noexcept { state_->set_policy(policy); }
void MemoryGuard::on_oom(std::function<void(const MemoryShortage&)> callback) { state_->on_oom(std::move(callback)); }
void MemoryGuard::register_hook(MemoryHook hook) {
  if (!hook.callback) throw std::invalid_argument("the hook '" + hook.name + "' has no callback");
  state_->register_hook(std::move(hook));
}
bool MemoryGuard::remove_hook(std::string_view name) { return state_->remove_hook(name); }
PressureLevel MemoryGuard::pressure_level() const noexcept { return state_->level(); }
void MemoryGuard::add_pressure_listener(PressureListener listener) { state_->add_listener(std::move(listener)); }
Bytes MemoryGuard::release_reservation() noexcept { return state_->release_reservation(); }
bool MemoryGuard::has_reservation() const noexcept { return state_->has_reservation(); }
MemoryStats MemoryGuard::stats() const noexcept { return state_->stats(); }
void MemoryGuard::reset_peak_stats() noexcept { state_->reset_peak(); }
bool MemoryGuard::attached() const noexcept { return state_->attached(); }
const Device& MemoryGuard::device() const noexcept { return state_->device(); }

Bytes MemoryGuard::product(std::size_t count, std::size_t element_bytes) {
  Bytes bytes = 0;
  if (__builtin_mul_overflow(Bytes{count}, Bytes{element_bytes}, &bytes)) throw RequestTooLarge(count, element_bytes);
  return bytes;
}

DeviceMemory MemoryGuard::zeroed(Bytes bytes, Hooks hooks) {
  if (bytes == 0) return {};
  DeviceMemory memory = state_->allocate(bytes, hooks == Hooks::Yes);
  state_->device().fill_with_zeros(memory.address(), bytes);
  return memory;
}

DeviceMemory MemoryGuard::copy(const void* from, Bytes bytes) {
  if (bytes == 0) return {};
  DeviceMemory memory = state_->allocate(bytes, false);
  state_->device().copy_from_host(memory.address(), from, bytes);
  return memory;
}

void MemoryGuard::free(DeviceMemory& memory) {
  if (memory.bytes() > 0) state_->free(memory);
}

MemoryGuardBuilder::MemoryGuardBuilder(std::shared_ptr<Device> device) : device_(std::move(device)) {
  if (device_ == nullptr) throw std::invalid_argument("a MemoryGuard needs a device");
}

MemoryGuardBuilder& MemoryGuardBuilder::budget_bytes(Bytes bytes) noexcept {
  budget_ = bytes;
  return *this;
}

MemoryGuardBuilder& MemoryGuardBuilder::reserve_bytes(Bytes bytes) noexcept {
  reserve_ = bytes;
  return *this;
}

MemoryGuardBuilder& MemoryGuardBuilder::oom_policy(const MemoryPolicy& policy) noexcept {
  policy_ = policy;
  return *this;
}

MemoryGuardBuilder& MemoryGuardBuilder::clock(const Clock& clock) noexcept {
  clock_ = &clock;
  return *this;
}

MemoryGuard MemoryGuardBuilder::build() {
  if (std::shared_ptr<ProcessGuard> guard = device_->process_guard()) {
    auto attached = std::make_shared<AttachedMemoryGuard>(device_, std::move(guard));
    attached->start(budget_, reserve_);
    if (policy_) attached->set_policy(*policy_);
    return MemoryGuard(std::move(attached));
  }
  auto own = std::make_shared<OwnMemoryGuard>(device_, budget_, reserve_, policy_.value_or(Fail{}),
                                              clock_ != nullptr ? *clock_ : system_clock());
  own->start();
  return MemoryGuard(std::move(own));
}

}  // namespace vramguard
