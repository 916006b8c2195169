// Those who wait for memory, served in the order of their coming.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace vramguard {

// Thread-safe. No exception leaves.
class WaitLine {
 public:
  // A place in the line; left by the destructor. Belongs to one thread.
  class Place {
   public:
    explicit Place(WaitLine& line) noexcept : line_(line), number_(line.join()) {}
    ~Place() { line_.leave(number_); }
    Place(const Place&) = delete;
    bool is_first() const noexcept { return line_.is_first(number_); }

   private:
    WaitLine& line_;
    const std::uint64_t number_;
  };

 private:
  std::uint64_t join() noexcept;  // 0, without a place in it, where there is no memory: always first
  void leave(std::uint64_t number) noexcept;
  bool is_first(std::uint64_t number) const noexcept;

  mutable std::mutex mutex_;
  std::vector<std::uint64_t> waiting_;  // rising
  std::uint64_t last_ = 0;
};

}  // namespace vramguard
