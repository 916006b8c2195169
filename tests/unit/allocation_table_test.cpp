#include "core/allocation_table.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/allocation_failure.h"

using namespace vramguard;

namespace {

AllocationRecord record(Bytes bytes, std::uint32_t context = 1, std::uint64_t sequence = 0) {
  return {bytes, 0, AllocationKind::Linear, context, sequence};
}

}  // namespace

TEST_CASE("an allocation is found once by its address, and then no more", "[allocation_table]") {
  AllocationTable table;
  const AllocationRecord stored{300, 3, AllocationKind::Managed, 7, 42};
  const AllocationTable::Insertion insertion = table.insert(0x7fc003e00000, stored);
  REQUIRE(insertion.stored);
  REQUIRE_FALSE(insertion.displaced);
  REQUIRE(table.size() == 1);
  REQUIRE(table.bytes() == 300);

  REQUIRE_FALSE(table.take(0x7fc003e00200));
  REQUIRE(table.take(0x7fc003e00000) == stored);
  REQUIRE_FALSE(table.take(0x7fc003e00000));
  REQUIRE(table.size() == 0);
  REQUIRE(table.bytes() == 0);
}

TEST_CASE("an address that comes again hands out the stale record it displaces", "[allocation_table]") {
  AllocationTable table;
  table.insert(0x1000, record(100));
  const AllocationTable::Insertion again = table.insert(0x1000, record(250, 2));
  REQUIRE(again.stored);
  REQUIRE(again.displaced == record(100));
  REQUIRE(table.size() == 1);
  REQUIRE(table.bytes() == 250);
  REQUIRE(table.take(0x1000) == record(250, 2));
}

TEST_CASE("a dead context gives up its own records, not those of others or of its successor", "[allocation_table]") {
  AllocationTable table;
  std::uint64_t address = 0;
  for (std::uint64_t sequence = 1; sequence <= 300; ++sequence) {
    table.insert(address += kShards * 512, record(1, 1 + sequence % 3, sequence));
  }
  const AllocationTable::Taken taken = table.take_all_of_context(2, 150);
  REQUIRE(taken.complete);
  REQUIRE(taken.allocations.size() == 50);
  for (const auto& [taken_address, taken_record] : taken.allocations) {
    REQUIRE(taken_record.context == 2);
    REQUIRE(taken_record.sequence <= 150);
    REQUIRE_FALSE(table.take(taken_address));
  }
  REQUIRE(table.size() == 250);
  REQUIRE(table.bytes() == 250);
  REQUIRE(table.take_all_of_context(2, 150).allocations.empty());
  REQUIRE(table.take_all_of_context(2, UINT64_MAX).allocations.size() == 50);
}

TEST_CASE("without memory for a record the table says so and stays as it was", "[allocation_table]") {
  AllocationTable table;
  table.insert(0x1000, record(100));
  AllocationTable::Insertion fresh{true, {}};
  AllocationTable::Insertion known{false, {}};
  {
    const AllocationFailure no_memory;
    // Enough of them to make any shard grow.
    for (std::uint64_t i = 1; i <= 100 && fresh.stored; ++i) {
      fresh = table.insert(0x100000 * i, record(1));
      if (fresh.stored) table.take(0x100000 * i);
    }
    known = table.insert(0x1000, record(5));
  }
  REQUIRE_FALSE(fresh.stored);
  REQUIRE(known.stored);
  REQUIRE(known.displaced == record(100));
  REQUIRE(table.size() == 1);
  REQUIRE(table.bytes() == 5);
}

TEST_CASE("without memory for the list a dead context's records stay in the table", "[allocation_table]") {
  AllocationTable table;
  for (std::uint64_t i = 1; i <= 100; ++i) table.insert(0x200000 * i, record(1));
  AllocationTable::Taken taken;
  {
    const AllocationFailure no_memory;
    taken = table.take_all_of_context(1, UINT64_MAX);
  }
  REQUIRE_FALSE(taken.complete);
  REQUIRE(table.size() + taken.allocations.size() == 100);
  const AllocationTable::Taken rest = table.take_all_of_context(1, UINT64_MAX);
  REQUIRE(rest.complete);
  REQUIRE(taken.allocations.size() + rest.allocations.size() == 100);
  REQUIRE(table.bytes() == 0);
}

TEST_CASE("a table behaves like a map through any history", "[allocation_table][fuzz]") {
  AllocationTable table;
  std::map<std::uint64_t, AllocationRecord> model;
  std::mt19937_64 random(1);
  for (std::uint64_t step = 0; step < 100'000; ++step) {
    const std::uint64_t address = 0x7fc000000000 + (random() % 700) * 512;
    const auto known = model.find(address);
    const std::uint64_t action = random() % 64;
    if (action == 0) {
      const std::uint32_t context = 1 + random() % 4;
      const std::uint64_t up_to = step - std::min<std::uint64_t>(step, random() % 100);
      AllocationTable::Taken taken = table.take_all_of_context(context, up_to);
      std::sort(taken.allocations.begin(), taken.allocations.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      std::vector<std::pair<std::uint64_t, AllocationRecord>> expected;
      for (auto it = model.begin(); it != model.end();) {
        const bool dies = it->second.context == context && it->second.sequence <= up_to;
        if (dies) expected.emplace_back(*it);
        it = dies ? model.erase(it) : std::next(it);
      }
      if (taken.allocations != expected) FAIL("step " << step);
    } else if (action <= 30) {
      const std::optional<AllocationRecord> taken = table.take(address);
      const bool same = taken.has_value() == (known != model.end()) && (!taken || *taken == known->second);
      if (!same) FAIL("step " << step);
      if (taken) model.erase(known);
    } else {
      const AllocationRecord fresh = record(random() % 10'000, 1 + random() % 4, step);
      const std::optional<AllocationRecord> displaced = table.insert(address, fresh).displaced;
      const bool same = displaced.has_value() == (known != model.end()) && (!displaced || *displaced == known->second);
      if (!same) FAIL("step " << step);
      model.insert_or_assign(address, fresh);
    }
    if (step % 1000 == 0) {
      Bytes bytes = 0;
      for (const auto& [unused, live] : model) bytes += live.bytes;
      REQUIRE(table.size() == model.size());
      REQUIRE(table.bytes() == bytes);
    }
  }
}

TEST_CASE("of threads that take one address exactly one gets it", "[allocation_table][stress]") {
  constexpr std::uint64_t kAddresses = 4'000;
  AllocationTable table;
  for (std::uint64_t i = 0; i < kAddresses; ++i) table.insert(i * 512, record(1, 1 + i % 2));
  std::atomic<std::uint64_t> taken{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 7; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kAddresses; ++i) taken += table.take(i * 512) ? 1 : 0;
    });
  }
  threads.emplace_back([&] { taken += table.take_all_of_context(2, UINT64_MAX).allocations.size(); });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(taken == kAddresses);
  REQUIRE(table.size() == 0);
}

TEST_CASE("addresses in strides spread over the shards, and over each shard's buckets", "[allocation_table]") {
  constexpr std::uint64_t kKeys = 64 * kShards;
  for (const std::uint64_t stride : {1ULL, 512ULL, 65'536ULL, 1ULL << 20, 1ULL << 21, 3ULL << 21, 1ULL << 30}) {
    std::array<int, kShards> in_shard{};
    std::array<int, kShards> in_bucket_of_first_shard{};
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const std::uint64_t key = 0x7fc000000000 + i * stride;
      ++in_shard[shard_of(key)];
      if (shard_of(key) == 0) ++in_bucket_of_first_shard[AddressHash()(key) % kShards];
    }
    INFO("stride " << stride);
    REQUIRE(*std::max_element(in_shard.begin(), in_shard.end()) <= 2 * 64);
    REQUIRE(*std::max_element(in_bucket_of_first_shard.begin(), in_bucket_of_first_shard.end()) <= 10);
  }
}
