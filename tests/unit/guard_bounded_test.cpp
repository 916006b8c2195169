// What only the driver knows: reading and trimming pools and graph memory.
#include "tests/unit/allocation_failure.h"
#include "tests/unit/guard_fixture.h"

using namespace vramguard;

namespace {

struct BoundedFixture : GuardFixture {
  explicit BoundedFixture(Bytes budget = 2_GiB) : GuardFixture(budget) {
    device.pools_used = true;
    device.graphs_used = true;
  }
  void add_pool(PoolHandle pool, Bytes bytes) {
    reader.pools[pool] = bytes;
    REQUIRE(guard.pools().add(pool, 0));
  }
  void take(BoundedHolder holder, Bytes bytes) {
    auto reservation = device.memory.reserve(bytes);
    REQUIRE(reservation);
    device.memory.settle_bound(*reservation, holder);
  }
  Bytes held(BoundedHolder holder) const { return device.memory.held(holder); }
};

}  // namespace

TEST_CASE("a reading charges what the pools of the device and its graphs hold", "[guard][bounded]") {
  BoundedFixture f;
  f.add_pool(1, 64_MiB);
  f.add_pool(2, 32_MiB);
  f.guard.pools().add(3, 1);
  f.reader.pools[3] = 1_GiB;
  f.reader.graphs = 96_MiB;
  f.take(BoundedHolder::Pools, 160_MiB);
  f.take(BoundedHolder::Graphs, 128_MiB);
  REQUIRE(f.guard.read_bounded(f.device));
  REQUIRE(f.held(BoundedHolder::Pools) == 96_MiB);
  REQUIRE(f.held(BoundedHolder::Graphs) == 96_MiB);
  REQUIRE(f.device.memory.admitted() == 192_MiB);
  REQUIRE(f.device.memory.used() == 192_MiB);
  REQUIRE_FALSE(f.guard.read_bounded(f.device));
}

TEST_CASE("nobody is asked for pools and graphs before there are any", "[guard][bounded]") {
  GuardFixture f;
  f.guard.pools().add(1, 0);
  f.reader.pools[1] = 64_MiB;
  f.reader.graphs = 64_MiB;
  REQUIRE_FALSE(f.guard.read_bounded(f.device));
  REQUIRE_FALSE(f.guard.trim(f.device));
  REQUIRE(f.reader.pool_readings == 0);
  REQUIRE(f.reader.pool_trims == 0);
  REQUIRE(f.device.memory.used() == 0);
}

TEST_CASE("where one pool does not tell, the bound stays", "[guard][bounded]") {
  BoundedFixture f;
  f.add_pool(1, 64_MiB);
  f.guard.pools().add(2, 0);
  f.reader.graphs = std::nullopt;
  f.take(BoundedHolder::Pools, 160_MiB);
  f.take(BoundedHolder::Graphs, 32_MiB);
  REQUIRE_FALSE(f.guard.read_bounded(f.device));
  REQUIRE(f.device.memory.admitted() == 192_MiB);
  REQUIRE(f.device.memory.used() == 0);
}

TEST_CASE("what is taken while the driver is asked stays on top of the answer", "[guard][bounded]") {
  BoundedFixture f;
  f.add_pool(1, 64_MiB);
  f.take(BoundedHolder::Pools, 160_MiB);
  bool taken = false;
  f.reader.while_reading_pool = [&](PoolHandle) {
    if (!std::exchange(taken, true)) f.take(BoundedHolder::Pools, 32_MiB);
  };
  f.guard.read_bounded(f.device);
  REQUIRE(f.device.memory.admitted() == 96_MiB);
}

TEST_CASE("pools that come or go during a reading are read again", "[guard][bounded]") {
  BoundedFixture f;
  f.add_pool(1, 64_MiB);
  f.add_pool(2, 32_MiB);
  f.take(BoundedHolder::Pools, 160_MiB);
  bool done = false;
  const auto once = [&](auto change) {
    f.reader.while_reading_pool = [&f, &done, change](PoolHandle pool) {
      if (pool == 1 && !std::exchange(done, true)) change(f.guard.pools());
    };
  };
  Bytes expected = 96_MiB;
  SECTION("one comes") {
    f.reader.pools[3] = 2_MiB;
    once([](PoolTable& pools) { pools.add(3, 0); });
    expected += 2_MiB;
  }
  SECTION("one goes") {
    once([](PoolTable& pools) {
      pools.close(2);
      pools.remove(2);
    });
    expected -= 32_MiB;
  }
  SECTION("one was to go, and the driver refused after we had passed by") {
    once([](PoolTable& pools) { pools.close(2); });
    f.reader.while_reading_pool = [&f, hook = f.reader.while_reading_pool, round = 0](PoolHandle pool) mutable {
      hook(pool);
      if (pool == 1 && round++ == 1) f.guard.pools().reopen(2);
    };
  }
  f.guard.read_bounded(f.device);
  REQUIRE(done);
  REQUIRE(f.held(BoundedHolder::Pools) == expected);
  REQUIRE(f.device.memory.admitted() == expected);
}

TEST_CASE("a pool that is closed and reopened behind a reading's back is not left out of it", "[guard][bounded]") {
  BoundedFixture f;
  f.add_pool(1, 64_MiB);
  f.add_pool(2, 32_MiB);
  f.add_pool(3, 16_MiB);
  f.reader.while_reading_pool = [&](PoolHandle pool) {
    if (f.reader.pool_readings >= 2) return;
    if (pool == 1) f.guard.pools().close(2);
    if (pool == 3) f.guard.pools().reopen(2);
  };
  f.guard.read_bounded(f.device);
  REQUIRE(f.held(BoundedHolder::Pools) == 112_MiB);
}

TEST_CASE("while a pool is being destroyed, or pools never rest, the bound stays", "[guard][bounded]") {
  BoundedFixture f;
  f.add_pool(1, 64_MiB);
  f.take(BoundedHolder::Pools, 160_MiB);
  SECTION("destroyed") { f.guard.pools().close(1); }
  SECTION("restless") {
    PoolHandle next = 100;
    f.reader.while_reading_pool = [&](PoolHandle pool) {
      if (pool == 1) f.add_pool(next++, 2_MiB);
    };
  }
  REQUIRE_FALSE(f.guard.read_bounded(f.device));
  REQUIRE(f.device.memory.admitted() == 160_MiB);
}

TEST_CASE("a trim gives back what pools and graph memory keep for nobody", "[guard][bounded]") {
  BoundedFixture f;
  f.add_pool(1, 64_MiB);
  f.add_pool(2, 96_MiB);
  f.reader.graphs = 96_MiB;
  f.take(BoundedHolder::Pools, 160_MiB);
  f.take(BoundedHolder::Graphs, 96_MiB);
  f.reader.pools_in_use = 32_MiB;
  SECTION("as last read") { f.guard.read_bounded(f.device); }
  SECTION("never read") {}
  REQUIRE(f.guard.trim(f.device));
  REQUIRE(f.device.memory.admitted() == 64_MiB);
  REQUIRE(f.device.memory.used() == 64_MiB);
  REQUIRE(f.guard.graph_trims() == 1);
  REQUIRE_FALSE(f.guard.trim(f.device));
}

TEST_CASE("graph memory that the driver would not trim stays, and graphs stay backed", "[guard][bounded]") {
  BoundedFixture f;
  f.reader.graphs = 96_MiB;
  f.reader.trims_graphs = false;
  f.guard.read_bounded(f.device);
  REQUIRE_FALSE(f.guard.trim(f.device));
  REQUIRE(f.device.memory.used() == 96_MiB);
  REQUIRE(f.guard.graph_trims() == 0);
}

TEST_CASE("a trim by the program is read at once, and every graph needs its memory again", "[guard][bounded]") {
  BoundedFixture f;
  f.reader.graphs = 96_MiB;
  f.guard.read_graphs(f.device);
  REQUIRE(f.device.memory.used() == 96_MiB);
  f.reader.graphs = 32_MiB;
  f.guard.graphs_trimmed(f.device);
  REQUIRE(f.device.memory.used() == 32_MiB);
  REQUIRE(f.guard.graph_trims() == 1);
}

TEST_CASE("a destroyed pool's live allocations are part of what no call shows, until that is measured",
          "[guard][bounded]") {
  BoundedFixture f;
  f.reader.process = 520_MiB;
  f.guard.context_created(f.device, kContext, true);
  f.add_pool(1, 64_MiB);
  f.add_pool(2, 32_MiB);
  f.guard.read_bounded(f.device);
  REQUIRE(f.guard.pools().close(1));
  SECTION("with live allocations") {
    f.guard.pool_destroyed(f.device, 1, 64_MiB);
    REQUIRE(f.device.memory.unseen() == 584_MiB);
    REQUIRE(f.device.memory.used() == 616_MiB);
    f.reader.process = 520_MiB + 32_MiB + 40_MiB;  // kept for nobody: 24 MiB, which went
    REQUIRE(f.guard.measure_missed(f.device));
    REQUIRE(f.device.memory.unseen() == 560_MiB);
  }
  SECTION("without") {
    f.guard.pool_destroyed(f.device, 1, 0);
    REQUIRE(f.device.memory.unseen() == 520_MiB);
    REQUIRE_FALSE(f.device.measure_again);
  }
  REQUIRE(f.held(BoundedHolder::Pools) == 32_MiB);
  REQUIRE(f.guard.pool_bytes(2) == 32_MiB);
  REQUIRE(f.guard.pool_bytes(9) == 0);
  REQUIRE(f.device.memory.admitted() == f.device.memory.used());
}

TEST_CASE("reading and trimming need no memory", "[guard][bounded]") {
  BoundedFixture f;
  f.add_pool(1, 64_MiB);
  f.reader.graphs = 32_MiB;
  f.reader.pools_in_use = 2_MiB;
  const AllocationFailure failure;
  f.guard.read_bounded(f.device);
  const Bytes read = f.device.memory.used();
  const bool trimmed = f.guard.trim(f.device);
  REQUIRE(read == 96_MiB);
  REQUIRE(trimmed);
}
