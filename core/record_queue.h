// A bounded queue that many threads fill and one empties, without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace vramguard {

// push() from any thread; pop() and empty() from one thread at a time. Dmitry Vyukov's ring: each slot's turn says
// whose it is. A thread that is interrupted inside push() holds back what was pushed after it until it goes on.
template <typename T, std::size_t Capacity>
class RecordQueue {
  static_assert((Capacity & (Capacity - 1)) == 0 && std::is_trivially_copyable_v<T>);

 public:
  RecordQueue() noexcept {
    for (std::size_t i = 0; i < Capacity; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }
  RecordQueue(const RecordQueue&) = delete;

  // False when the queue is full. Retries only when another thread got ahead.
  bool push(const T& value) noexcept {
    std::uint64_t ticket = next_in_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[ticket % Capacity];
      const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == ticket) {
        if (next_in_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
          new (storage_[ticket % Capacity].bytes) T(value);
          slot.turn.store(ticket + 1, std::memory_order_release);
          return true;
        }
      } else if (turn < ticket) {
        return false;
      } else {
        ticket = next_in_.load(std::memory_order_relaxed);
      }
    }
  }

  // False when the queue is empty, or its oldest record is not complete yet.
  bool pop(T& value) noexcept {
    if (empty()) return false;
    const std::uint64_t ticket = next_out_.load(std::memory_order_relaxed);
    value = *std::launder(reinterpret_cast<const T*>(storage_[ticket % Capacity].bytes));
    slots_[ticket % Capacity].turn.store(ticket + Capacity, std::memory_order_release);
    next_out_.store(ticket + 1, std::memory_order_relaxed);
    return true;
  }

  bool empty() const noexcept {
    const std::uint64_t ticket = next_out_.load(std::memory_order_relaxed);
    return slots_[ticket % Capacity].turn.load(std::memory_order_acquire) != ticket + 1;
  }

  // How many records were ever pushed.
  std::uint64_t pushed() const noexcept { return next_in_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::atomic<std::uint64_t> turn;
  };
  struct alignas(T) Storage {
    std::byte bytes[sizeof(T)];
  };

  alignas(64) std::atomic<std::uint64_t> next_in_{0};
  alignas(64) std::atomic<std::uint64_t> next_out_{0};
  // Apart from the values, so that a queue that is never used touches no more memory than this.
  std::array<Slot, Capacity> slots_;
  std::array<Storage, Capacity> storage_;
};

}  // namespace vramguard
