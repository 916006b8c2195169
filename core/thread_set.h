// A few threads, by number: those inside a hook. Instead of thread-local data, which a library that is loaded late may
// not have.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace vramguard {

// Thread-safe and lock-free. Looked at on paths of refusal alone: a system call each.
class ThreadSet {
 public:
  // The calling thread is in the set while this lives.
  class Member {
   public:
    explicit Member(ThreadSet& set) noexcept {
      const pid_t self = this_thread();
      for (std::atomic<pid_t>& slot : set.slots_) {
        pid_t empty = 0;
        if (!slot.compare_exchange_strong(empty, self)) continue;
        slot_ = &slot;
        return;
      }
    }
    ~Member() {
      if (slot_ != nullptr) slot_->store(0);
    }
    Member(const Member&) = delete;

   private:
    std::atomic<pid_t>* slot_ = nullptr;
  };

  bool has_this_thread() const noexcept {
    const pid_t self = this_thread();
    return std::any_of(slots_.begin(), slots_.end(),
                       [=](const std::atomic<pid_t>& slot) { return slot.load() == self; });
  }

  bool any() const noexcept {
    return std::any_of(slots_.begin(), slots_.end(), [](const std::atomic<pid_t>& slot) { return slot.load() != 0; });
  }

 private:
  static pid_t this_thread() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

  std::array<std::atomic<pid_t>, 64> slots_{};
};

}  // namespace vramguard
