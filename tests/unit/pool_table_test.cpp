#include "core/pool_table.h"

#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "tests/unit/allocation_failure.h"

using namespace vramguard;

namespace {

std::vector<PoolHandle> round(PoolTable& table, int device) {
  std::vector<PoolHandle> met;
  std::size_t cursor = 0;
  while (const auto use = table.next(device, cursor)) met.push_back(use->pool());
  return met;
}

}  // namespace

TEST_CASE("a round meets each pool of the device once", "[pool_table]") {
  PoolTable table;
  REQUIRE(round(table, 0).empty());
  REQUIRE(table.add(10, 0));
  REQUIRE(table.add(20, 1));
  REQUIRE(table.add(30, 0));
  REQUIRE(round(table, 0) == std::vector<PoolHandle>{10, 30});
  REQUIRE(round(table, 1) == std::vector<PoolHandle>{20});
  REQUIRE(table.device_of(20) == 1);
  REQUIRE_FALSE(table.device_of(40));
}

TEST_CASE("a pool that is added again is still one pool, and no reason to look again", "[pool_table]") {
  PoolTable table;
  table.add(10, 0);
  const auto changes = table.changes();
  REQUIRE(table.add(10, 0));
  REQUIRE(round(table, 0) == std::vector<PoolHandle>{10});
  REQUIRE(table.changes() == changes);
}

TEST_CASE("a pool that comes or goes during a round is told by the changes", "[pool_table]") {
  PoolTable table;
  table.add(10, 0);
  const auto before = table.changes();
  REQUIRE(before);
  REQUIRE(table.changes() == before);
  SECTION("comes") { table.add(20, 1); }
  SECTION("goes") {
    REQUIRE(table.close(10));
    table.remove(10);
  }
  SECTION("was about to go, but the driver refused") {
    REQUIRE(table.close(10));
    table.reopen(10);
  }
  REQUIRE(table.changes());
  REQUIRE(table.changes() != before);
}

TEST_CASE("a closed pool is met by no round and makes every round incomplete", "[pool_table]") {
  PoolTable table;
  table.add(10, 0);
  REQUIRE(table.close(10));
  REQUIRE(round(table, 0).empty());
  REQUIRE_FALSE(table.changes());
  REQUIRE(table.device_of(10) == 0);
  table.reopen(10);
  REQUIRE(round(table, 0) == std::vector<PoolHandle>{10});
  REQUIRE(table.changes());
}

TEST_CASE("only one of those who destroy a pool closes it, and nobody one that is unknown", "[pool_table]") {
  PoolTable table;
  REQUIRE_FALSE(table.close(10));
  table.add(10, 0);
  REQUIRE(table.close(10));
  REQUIRE_FALSE(table.close(10));
  table.remove(10);
  REQUIRE_FALSE(table.close(10));
  table.remove(10);
  table.reopen(10);
  REQUIRE_FALSE(table.device_of(10));
}

TEST_CASE("a new pool with the handle of one that is being destroyed stays when that is removed", "[pool_table]") {
  PoolTable table;
  table.add(10, 0);
  REQUIRE(table.close(10));
  REQUIRE(table.add(10, 1));  // the driver has ended the old one and given its handle away
  REQUIRE(table.device_of(10) == 1);
  SECTION("while it is alive") {
    {
      std::size_t cursor = 0;
      const auto use = table.next(1, cursor);
      REQUIRE(use);
      table.remove(10);
    }
    REQUIRE(round(table, 1) == std::vector<PoolHandle>{10});
    REQUIRE(table.changes());
    REQUIRE(table.close(10));  // its use has ended
  }
  SECTION("while it is being destroyed itself") {
    REQUIRE(table.close(10));
    table.remove(10);
    REQUIRE_FALSE(table.changes());
    table.reopen(10);
    REQUIRE(table.changes());
    REQUIRE(table.close(10));
  }
}

TEST_CASE("whoever closes a pool waits until nobody looks at it any more", "[pool_table]") {
  PoolTable table;
  table.add(10, 0);
  std::atomic<bool> closed{false};
  std::thread destroyer;
  {
    std::size_t cursor = 0;
    auto first = table.next(0, cursor);
    std::size_t again = 0;
    const auto second = table.next(0, again);
    REQUIRE(first);
    REQUIRE(second);
    destroyer = std::thread([&] { closed = table.close(10); });
    while (table.changes()) std::this_thread::yield();
    REQUIRE(round(table, 0).empty());
    const PoolTable::Use moved(std::move(*first));
    first.reset();
    REQUIRE(moved.pool() == 10);
    REQUIRE_FALSE(closed);
  }
  destroyer.join();
  REQUIRE(closed);
}

TEST_CASE("a pool for which there is no memory is refused, and the others stay", "[pool_table]") {
  PoolTable table;
  table.add(10, 0);
  {
    const AllocationFailure failure;
    REQUIRE(table.add(10, 0));
    REQUIRE_FALSE(table.add(20, 0));
  }
  REQUIRE(round(table, 0) == std::vector<PoolHandle>{10});
  REQUIRE(table.add(20, 0));
  REQUIRE(round(table, 0) == std::vector<PoolHandle>{10, 20});
}

TEST_CASE("threads that look at pools never see one that is destroyed meanwhile, and count right between changes",
          "[pool_table][stress]") {
  constexpr int kPools = 8;
  PoolTable table;
  std::array<std::atomic<bool>, kPools + 1> alive{};  // by handle, as the driver knows it
  std::atomic<int> dead_seen{0}, wrong_rounds{0}, whole_rounds{0};
  std::atomic<int> owners{4};

  std::vector<std::thread> threads;
  for (int owner = 0; owner < 4; ++owner) {
    threads.emplace_back([&, owner] {
      std::mt19937 random(owner);
      for (int i = 0; i < 4'000; ++i) {
        const PoolHandle pool = 1 + owner * 2 + random() % 2;
        if (!alive[pool]) {
          alive[pool] = true;
          table.add(pool, 0);
          continue;
        }
        if (!table.close(pool)) {
          ++wrong_rounds;
        } else if (random() % 4 == 0) {
          table.reopen(pool);
        } else {
          alive[pool] = false;
          table.remove(pool);
        }
      }
      --owners;
    });
  }
  for (int looker = 0; looker < 6; ++looker) {
    threads.emplace_back([&] {
      do {
        const auto before = table.changes();
        int met = 0, open = 0;
        for (int pool = 1; pool <= kPools; ++pool) open += table.device_of(pool) ? 1 : 0;
        std::size_t cursor = 0;
        while (const auto use = table.next(0, cursor)) {
          ++met;
          if (!alive[use->pool()]) ++dead_seen;
        }
        if (!before || table.changes() != before) continue;
        ++whole_rounds;
        if (met != open) ++wrong_rounds;
      } while (owners > 0 || whole_rounds == 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(dead_seen == 0);
  REQUIRE(wrong_rounds == 0);
  REQUIRE(whole_rounds > 0);
  REQUIRE(table.changes());
  for (PoolHandle pool = 1; pool <= kPools; ++pool) REQUIRE(table.device_of(pool).has_value() == alive[pool]);
}
