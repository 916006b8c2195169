// A device without hardware: tells what was done to it, and fails where the test wants it to.
#pragma once

#include "core/device.h"
#include "core/memory_error.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace vramguard {

// Thread-safe; its settings are to be made while nobody else uses it. Allocations start on pages and never share one.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(Bytes total = 16_GiB) : description_{0, "Fake", "GPU-1", "0000:3b:00.0", total}, free_(total) {}

  const DeviceDescription& description() const noexcept override { return description_; }
  std::optional<Bytes> free_bytes() noexcept override {
    const std::lock_guard lock(mutex_);
    return free_;
  }
  bool trim() noexcept override {
    const std::lock_guard lock(mutex_);
    ++trims;
    const Bytes found = trims >= trims_in_vain ? std::exchange(cached_, 0) : 0;
    free_ += found;
    return found > 0;
  }
  std::optional<Chunk> take_chunk(Bytes bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    if (bytes > free_) return std::nullopt;
    free_ -= bytes;
    chunks_[++last_chunk_] = bytes;
    return last_chunk_;
  }
  void give_chunk(Chunk chunk) noexcept override {
    const std::lock_guard lock(mutex_);
    free_ += chunks_.at(chunk);
    chunks_.erase(chunk);
  }

  std::optional<DeviceAddress> allocate(Bytes bytes) override {
    if (fails_allocations) throw DeviceError("the device has fallen off the bus", 79, bytes);
    const std::lock_guard lock(mutex_);
    ++allocations;
    if (refusals > 0) {
      --refusals;
      return std::nullopt;
    }
    if (round_up(bytes, kPage) > free_) return std::nullopt;
    free_ -= round_up(bytes, kPage);
    const DeviceAddress address = add(bytes, false);
    most_used_ = std::max(most_used_, used_without_lock());
    return address;
  }
  std::optional<DeviceAddress> allocate_on_host(Bytes bytes) override {
    const std::lock_guard lock(mutex_);
    if (!has_host_memory) return std::nullopt;
    return add(bytes, true);
  }
  void copy_from_host(DeviceAddress to, const void* from, Bytes bytes) override {
    if (fails_copies) throw DeviceError("the copy failed", 700, bytes);
    const std::lock_guard lock(mutex_);
    std::vector<unsigned char>& content = blocks_.at(to).content;
    content.resize(bytes);
    std::memcpy(content.data(), from, bytes);
  }
  void fill_with_zeros(DeviceAddress address, Bytes bytes) override {
    if (fails_copies) throw DeviceError("the memset failed", 700, bytes);
    const std::lock_guard lock(mutex_);
    blocks_.at(address).zeroed = bytes;
  }
  void free(DeviceAddress address) override {
    if (fails_frees) throw DeviceError("the free failed", 1);
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) throw DeviceError("no such allocation", 1);
    if (!found->second.on_host) free_ += round_up(found->second.bytes, kPage);
    blocks_.erase(found);
  }

  std::shared_ptr<ProcessGuard> process_guard() override { return guard; }
  bool is_in_host_memory(DeviceAddress) noexcept override { return serves_from_host; }

  void neighbour_takes(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    free_ -= bytes;
  }
  void neighbour_gives(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    free_ += bytes;
  }
  // Of what is free: kept by the driver until the trim.
  void cache(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    free_ -= bytes;
    cached_ += bytes;
  }

  std::size_t live() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
  }
  Bytes used() const {
    const std::lock_guard lock(mutex_);
    return used_without_lock();
  }
  Bytes most_used() const {
    const std::lock_guard lock(mutex_);
    return most_used_;
  }
  Bytes zeroed(DeviceAddress address) const {
    const std::lock_guard lock(mutex_);
    return blocks_.at(address).zeroed;
  }
  std::vector<unsigned char> content(DeviceAddress address) const {
    const std::lock_guard lock(mutex_);
    return blocks_.at(address).content;
  }
  std::size_t chunks() const {
    const std::lock_guard lock(mutex_);
    return chunks_.size();
  }

  std::atomic<int> trims{0}, allocations{0};  // calls
  int refusals = 0;                           // of that many requests to come
  int trims_in_vain = 0;                      // only that trim, by its number, and later ones give back what is cached
  bool fails_allocations = false, fails_copies = false, fails_frees = false, has_host_memory = true;
  std::shared_ptr<ProcessGuard> guard;  // of its process
  bool serves_from_host = false;        // that guard does

 private:
  static constexpr Bytes kPage = 2_MiB;
  struct Block {
    Bytes bytes = 0;
    bool on_host = false;
    Bytes zeroed = 0;
    std::vector<unsigned char> content;
  };

  DeviceAddress add(Bytes bytes, bool on_host) {
    const DeviceAddress address = next_;
    next_ += round_up(bytes, kPage);
    blocks_[address] = {.bytes = bytes, .on_host = on_host, .zeroed = 0, .content = {}};
    return address;
  }
  Bytes used_without_lock() const {
    Bytes sum = 0;
    for (const auto& [address, block] : blocks_) sum += block.on_host ? 0 : round_up(block.bytes, kPage);
    return sum;
  }

  const DeviceDescription description_;
  mutable std::mutex mutex_;
  Bytes free_, cached_ = 0, most_used_ = 0;
  DeviceAddress next_ = 0x7fc000000000;
  std::map<DeviceAddress, Block> blocks_;
  std::map<Chunk, Bytes> chunks_;
  Chunk last_chunk_ = 0;
};

}  // namespace vramguard
