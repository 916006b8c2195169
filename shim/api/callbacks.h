// What C functions call back: by a key instead of an address, so that a late call finds nothing instead of a dead
// object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace vramguard {

// Thread-safe.
template <typename Callback>
class Callbacks {
 public:
  // For all guards. Never destroyed: the last call may come after the last static destructor.
  static Callbacks& of_process() {
    static Callbacks* const all = new Callbacks;
    return *all;
  }

  // The key, a context for C.
  void* add(Callback callback) {
    auto kept = std::make_shared<const Callback>(std::move(callback));
    const std::lock_guard lock(mutex_);
    callbacks_[++last_] = std::move(kept);
    return reinterpret_cast<void*>(last_);
  }
  // Null: it was removed.
  std::shared_ptr<const Callback> find(void* key) const noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = callbacks_.find(reinterpret_cast<std::uintptr_t>(key));
    return found != callbacks_.end() ? found->second : nullptr;
  }
  void remove(void* key) noexcept {
    std::shared_ptr<const Callback> last;  // what it owns ends without our lock
    const std::lock_guard lock(mutex_);
    const auto found = callbacks_.find(reinterpret_cast<std::uintptr_t>(key));
    if (found == callbacks_.end()) return;
    last = std::move(found->second);
    callbacks_.erase(found);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::shared_ptr<const Callback>> callbacks_;
  std::uintptr_t last_ = 0;
};

}  // namespace vramguard
