#include "core/graph_table.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "tests/unit/allocation_failure.h"

using namespace vramguard;

namespace {

constexpr GraphBacking kFirst{1, 0};

Bytes most_of(const GraphTable& table, GraphExecHandle exec, const GraphBacking& backing) {
  std::vector<GraphDemand> demands;
  REQUIRE(table.demands(exec, backing, demands));
  Bytes sum = 0;
  for (const GraphDemand& demand : demands) sum += demand.most;
  return sum;
}

}  // namespace

TEST_CASE("a graph demands its memory until it is backed, of each device its part", "[graph_table]") {
  GraphTable table;
  REQUIRE(table.set(7, {{0, 32_MiB}, {1, 64_MiB}}));
  std::vector<GraphDemand> demands;
  REQUIRE(table.demands(7, kFirst, demands));
  REQUIRE(demands.size() == 2);
  REQUIRE(demands[1].device == 1);
  REQUIRE(demands[1].most == 64_MiB);
  table.backed(7, kFirst);
  REQUIRE(most_of(table, 7, kFirst) == 0);
}

TEST_CASE("a backed graph demands its memory again on another stream and after a trim", "[graph_table]") {
  GraphTable table;
  table.set(7, {{0, 32_MiB}});
  table.backed(7, kFirst);
  REQUIRE(most_of(table, 7, {2, 0}) == 32_MiB);
  REQUIRE(most_of(table, 7, {1, 1}) == 32_MiB);
  table.backed(7, {1, 1});
  REQUIRE(most_of(table, 7, {1, 1}) == 0);
  REQUIRE(most_of(table, 7, kFirst) == 32_MiB);
}

TEST_CASE("a handle that comes again is a new graph, which nothing backs", "[graph_table]") {
  GraphTable table;
  table.set(7, {{0, 32_MiB}});
  table.backed(7, kFirst);
  SECTION("with other demands") {
    table.set(7, {{0, 96_MiB}});
    REQUIRE(most_of(table, 7, kFirst) == 96_MiB);
  }
  SECTION("without any") {
    table.set(7, {});
    table.backed(7, kFirst);
    REQUIRE(most_of(table, 7, {2, 0}) == 0);
    REQUIRE(table.take(7).empty());
  }
}

TEST_CASE("a graph without memory demands nothing, whatever the caller's list held", "[graph_table]") {
  GraphTable table;
  table.set(8, {{0, 32_MiB}});
  table.backed(8, kFirst);
  for (const GraphExecHandle exec : {7, 8}) {
    std::vector<GraphDemand> demands{{0, 1_GiB}};
    REQUIRE(table.demands(exec, kFirst, demands));
    REQUIRE(demands.empty());
  }
}

TEST_CASE("a graph that is taken out is unknown until it is set again", "[graph_table]") {
  GraphTable table;
  table.set(7, {{0, 32_MiB}});
  table.backed(7, kFirst);
  std::vector<GraphDemand> demands = table.take(7);
  REQUIRE(demands.size() == 1);
  REQUIRE(most_of(table, 7, kFirst) == 0);
  REQUIRE(table.take(7).empty());
  table.set(7, std::move(demands));
  REQUIRE(most_of(table, 7, kFirst) == 32_MiB);
}

TEST_CASE("without memory a graph is not noted or not told, and what is known stays", "[graph_table]") {
  GraphTable table;
  REQUIRE(table.set(7, {{0, 32_MiB}}));
  std::vector<GraphDemand> demands{{0, 96_MiB}}, result;
  {
    const AllocationFailure failure;
    REQUIRE_FALSE(table.demands(7, kFirst, result));
    REQUIRE(table.set(7, std::move(demands)));  // its place is there already
  }
  REQUIRE(most_of(table, 7, kFirst) == 96_MiB);

  GraphTable empty;
  demands = {{0, 96_MiB}};
  {
    const AllocationFailure failure;
    REQUIRE_FALSE(empty.set(7, std::move(demands)));
  }
  REQUIRE(most_of(empty, 7, kFirst) == 0);
}

TEST_CASE("threads that launch, trim and destroy graphs see each graph whole or not at all", "[graph_table][stress]") {
  GraphTable table;
  std::atomic<std::uint64_t> trims{0};
  std::atomic<int> torn{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      const GraphExecHandle own = 100 + thread;
      for (int i = 0; i < 2'000; ++i) {
        table.set(own, {{0, 32_MiB}, {1, 32_MiB}});
        for (GraphExecHandle exec = 100; exec < 108; ++exec) {
          const GraphBacking backing{thread, trims.load()};
          std::vector<GraphDemand> demands;
          if (!table.demands(exec, backing, demands) || (demands.size() != 0 && demands.size() != 2)) ++torn;
          table.backed(exec, backing);
        }
        if (i % 16 == 0) ++trims;
        if (table.take(own).size() != 2) ++torn;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(torn == 0);
  for (GraphExecHandle exec = 100; exec < 108; ++exec) REQUIRE(table.take(exec).empty());
}
