// The stream captures that go on, and the thread that began each: it is not kept waiting, whichever thread ends them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/context_table.h"

namespace vramguard {

using StreamHandle = std::uint64_t;

// Each thread has one of its own in each context, all with this handle.
constexpr StreamHandle kPerThreadStream = 2;

struct Capture {
  StreamHandle stream;
  ContextId context;  // of the stream; 0: unknown
  pid_t thread;       // that began it
};

// Thread-safe. A few captures at a time: a vector under a lock that is never held while anything else is called. Costs
// one atomic read where there are none.
class CaptureTable {
 public:
  // The calling thread has begun to capture the stream, so whatever was known of that handle has ended. False: no
  // memory for it.
  bool add(StreamHandle stream, ContextId context) noexcept;
  // Before the call that ends the capture or its stream, as another thread may begin one on the same handle afterwards;
  // put back where it goes on. kPerThreadStream is that of the calling thread in `context`.
  std::optional<Capture> take(StreamHandle stream, ContextId context) noexcept;
  void put_back(const Capture& capture) noexcept;
  // With all its streams.
  void context_gone(ContextId context) noexcept;
  bool by_this_thread() const noexcept;

 private:
  bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }
  // With the lock held.
  std::vector<Capture>::iterator find(const Capture& capture) noexcept;
  void changed() noexcept { count_.store(captures_.size(), std::memory_order_release); }

  mutable std::mutex mutex_;
  std::atomic<std::size_t> count_{0};
  std::vector<Capture> captures_;
};

}  // namespace vramguard
