// Managed memory that is kept in host memory because it did not fit on the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "core/bytes.h"

namespace vramguard {

// Thread-safe. Costs one atomic read where there are none, as usual.
class HostRanges {
 public:
  // False: no memory to note it.
  bool add(std::uint64_t address, Bytes bytes) noexcept;
  void remove(std::uint64_t address) noexcept;
  bool overlaps(std::uint64_t address, Bytes bytes) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::atomic<std::size_t> count_{0};
  std::map<std::uint64_t, Bytes> ranges_;
};

}  // namespace vramguard
