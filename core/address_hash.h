// How sharded tables of device addresses pick a shard and, independently of it, a bucket.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramguard {

// Device addresses end in 9 to 21 zero bits and come in strides, so neither hash may look at a few bits only. The two
// must not resemble each other: a shard's keys share the bits that picked it and would crowd into few of its buckets.
struct AddressHash {
  std::size_t operator()(std::uint64_t key) const noexcept {
    key ^= key >> 33;
    key *= 0xff51afd7ed558ccdULL;
    key ^= key >> 33;
    key *= 0xc4ceb9fe1a85ec53ULL;
    key ^= key >> 33;
    return static_cast<std::size_t>(key);
  }
};

constexpr unsigned kShardBits = 6;
constexpr std::size_t kShards = std::size_t{1} << kShardBits;

constexpr std::size_t shard_of(std::uint64_t key) noexcept {
  return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> (64 - kShardBits));
}

}  // namespace vramguard
