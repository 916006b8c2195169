#include "core/physical_table.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/allocation_failure.h"

using namespace vramguard;

namespace {

constexpr PhysicalHandle kHandle = 0x5500;
constexpr std::uint64_t kBase = 0x7fc000000000;

// The calls of a program, where the driver agrees.
struct Program {
  Bytes release(PhysicalHandle handle) {
    const auto block = table.take_reference(handle);
    const auto gone = block ? table.end_reference(*block) : std::nullopt;
    return gone ? gone->bytes : 0;
  }
  bool map(PhysicalHandle handle, std::uint64_t address, Bytes bytes) {
    const auto block = table.begin_mapping(handle);
    return block && table.mapped(*block, address, bytes);
  }
  Bytes unmap(std::uint64_t address, Bytes bytes) {
    PhysicalTable::Mappings mappings = table.take_mappings(address, bytes);
    Bytes sum = 0;
    for (std::optional<PhysicalBlock> gone; table.end_mapping(mappings, gone);) sum += gone ? gone->bytes : 0;
    return sum;
  }

  PhysicalTable table;
};

}  // namespace

TEST_CASE("a physical allocation without mappings ends with its handle", "[physical_table]") {
  Program program;
  REQUIRE(program.table.add(kHandle, {3, 64_MiB}));
  const auto block = program.table.take_reference(kHandle);
  REQUIRE(block);
  REQUIRE_FALSE(program.table.take_reference(kHandle));
  const auto gone = program.table.end_reference(*block);
  REQUIRE(gone);
  REQUIRE(gone->device == 3);
  REQUIRE(gone->bytes == 64_MiB);
  REQUIRE_FALSE(program.table.end_reference(*block));
  REQUIRE_FALSE(program.table.take_reference(kHandle));
}

TEST_CASE("a physical allocation lives until handle and mappings are gone, in any order", "[physical_table]") {
  Program program;
  program.table.add(kHandle, {0, 64_MiB});
  REQUIRE(program.map(kHandle, kBase, 64_MiB));
  REQUIRE(program.map(kHandle, kBase + 1_GiB, 64_MiB));
  SECTION("handle first") {
    REQUIRE(program.release(kHandle) == 0);
    REQUIRE(program.unmap(kBase + 1_GiB, 64_MiB) == 0);
    REQUIRE(program.unmap(kBase, 64_MiB) == 64_MiB);
  }
  SECTION("mappings first") {
    REQUIRE(program.unmap(kBase, 64_MiB) == 0);
    REQUIRE(program.unmap(kBase + 1_GiB, 64_MiB) == 0);
    REQUIRE(program.release(kHandle) == 64_MiB);
  }
  SECTION("handle in between") {
    REQUIRE(program.unmap(kBase, 64_MiB) == 0);
    REQUIRE(program.release(kHandle) == 0);
    REQUIRE(program.unmap(kBase + 1_GiB, 64_MiB) == 64_MiB);
  }
}

TEST_CASE("one unmapping ends all mappings that begin in its range, and no other", "[physical_table]") {
  Program program;
  for (std::uint64_t i = 0; i < 4; ++i) {
    program.table.add(kHandle + i, {0, 2_MiB << i});
    REQUIRE(program.map(kHandle + i, kBase + i * 32_MiB, 2_MiB << i));
    REQUIRE(program.release(kHandle + i) == 0);
  }
  REQUIRE(program.unmap(kBase + 32_MiB, 64_MiB) == 12_MiB);
  REQUIRE(program.unmap(kBase + 32_MiB, 64_MiB) == 0);
  REQUIRE(program.unmap(0, UINT64_MAX) == 18_MiB);
}

TEST_CASE("a mapping at the end of the address space is found", "[physical_table]") {
  Program program;
  const std::uint64_t last = UINT64_MAX - 2_MiB + 1;
  program.table.add(kHandle, {0, 2_MiB});
  REQUIRE(program.map(kHandle, last, 2_MiB));
  REQUIRE(program.release(kHandle) == 0);
  program.table.retained(kHandle, UINT64_MAX);
  REQUIRE(program.unmap(last, 2_MiB) == 0);
  REQUIRE(program.release(kHandle) == 2_MiB);
}

TEST_CASE("a release that the driver refuses changes nothing", "[physical_table]") {
  Program program;
  program.table.add(kHandle, {0, 64_MiB});
  const auto block = program.table.take_reference(kHandle);
  SECTION("with nothing in between") {}
  SECTION("while the last mapping goes") {
    program.table.put_back_reference(kHandle, *block);
    REQUIRE(program.map(kHandle, kBase, 64_MiB));
    REQUIRE(program.table.take_reference(kHandle) == block);
    REQUIRE(program.unmap(kBase, 64_MiB) == 0);
  }
  program.table.put_back_reference(kHandle, *block);
  REQUIRE(program.release(kHandle) == 64_MiB);
}

TEST_CASE("an unmapping that the driver refuses changes nothing", "[physical_table]") {
  Program program;
  program.table.add(kHandle, {0, 64_MiB});
  REQUIRE(program.map(kHandle, kBase, 64_MiB));
  REQUIRE(program.release(kHandle) == 0);
  PhysicalTable::Mappings mappings = program.table.take_mappings(kBase, 64_MiB);
  REQUIRE(mappings.size() == 1);
  program.table.put_back(std::move(mappings));
  REQUIRE(program.unmap(kBase, 64_MiB) == 64_MiB);
}

TEST_CASE("a mapping under way keeps its block from a release", "[physical_table]") {
  Program program;
  program.table.add(kHandle, {0, 64_MiB});
  const auto block = program.table.begin_mapping(kHandle);
  REQUIRE(block);
  REQUIRE(program.release(kHandle) == 0);
  SECTION("the driver maps") {
    REQUIRE(program.table.mapped(*block, kBase, 64_MiB));
    REQUIRE(program.unmap(kBase, 64_MiB) == 64_MiB);
  }
  SECTION("the driver refuses") {
    const auto gone = program.table.not_mapped(*block);
    REQUIRE(gone);
    REQUIRE(gone->bytes == 64_MiB);
  }
}

TEST_CASE("a retained handle needs one release more, also where only a mapping was left", "[physical_table]") {
  Program program;
  program.table.add(kHandle, {0, 64_MiB});
  REQUIRE(program.map(kHandle, kBase, 32_MiB));
  SECTION("while the handle lives") {
    program.table.retained(kHandle, kBase + 32_MiB - 1);
    REQUIRE(program.release(kHandle) == 0);
  }
  SECTION("after its last release") {
    REQUIRE(program.release(kHandle) == 0);
    REQUIRE_FALSE(program.table.take_reference(kHandle));
    program.table.retained(kHandle, kBase);
  }
  REQUIRE(program.unmap(kBase, 32_MiB) == 0);
  REQUIRE(program.release(kHandle) == 64_MiB);
}

TEST_CASE("a retain at an address where nothing is mapped changes nothing", "[physical_table]") {
  Program program;
  program.table.retained(kHandle, kBase);
  program.table.add(kHandle, {0, 64_MiB});
  program.table.retained(kHandle, kBase);
  REQUIRE(program.map(kHandle, kBase, 32_MiB));
  program.table.retained(kHandle, kBase - 1);
  program.table.retained(kHandle, kBase + 32_MiB);
  REQUIRE(program.unmap(kBase, 32_MiB) == 0);
  REQUIRE(program.release(kHandle) == 64_MiB);
}

TEST_CASE("handles of others, and their mappings, are unknown", "[physical_table]") {
  Program program;
  REQUIRE_FALSE(program.table.take_reference(kHandle));
  REQUIRE_FALSE(program.table.begin_mapping(kHandle));
  REQUIRE_FALSE(program.table.end_reference(1));
  program.table.put_back_reference(kHandle, 1);
  REQUIRE_FALSE(program.table.take_reference(kHandle));
  REQUIRE(program.unmap(kBase, 1_GiB) == 0);
}

TEST_CASE("a new block with the handle of one that lives on in a mapping is its own", "[physical_table]") {
  Program program;
  program.table.add(kHandle, {0, 64_MiB});
  REQUIRE(program.map(kHandle, kBase, 64_MiB));
  REQUIRE(program.release(kHandle) == 0);
  program.table.add(kHandle, {1, 2_MiB});
  REQUIRE(program.unmap(kBase, 64_MiB) == 64_MiB);
  REQUIRE(program.release(kHandle) == 2_MiB);
}

TEST_CASE("without memory a block is not noted, and one that is mapped stays charged", "[physical_table]") {
  Program program;
  {
    const AllocationFailure failure;
    REQUIRE_FALSE(program.table.add(kHandle, {0, 64_MiB}));
  }
  REQUIRE_FALSE(program.table.take_reference(kHandle));
  REQUIRE(program.table.add(kHandle, {0, 64_MiB}));
  {
    const AllocationFailure failure;
    REQUIRE_FALSE(program.map(kHandle, kBase, 64_MiB));
  }
  REQUIRE(program.release(kHandle) == 0);
  REQUIRE(program.unmap(kBase, 64_MiB) == 0);
}

TEST_CASE("a release or an unmapping needs no memory, also where it is put back", "[physical_table]") {
  Program program;
  program.table.add(kHandle, {0, 64_MiB});
  REQUIRE(program.map(kHandle, kBase, 64_MiB));
  const AllocationFailure failure;
  const auto block = program.table.take_reference(kHandle);
  program.table.put_back_reference(kHandle, *block);
  program.table.put_back(program.table.take_mappings(kBase, 64_MiB));
  const bool still_charged = program.release(kHandle) == 0;
  const Bytes gone = program.unmap(kBase, 64_MiB);
  REQUIRE(still_charged);
  REQUIRE(gone == 64_MiB);
}

TEST_CASE("threads that map, unmap, release and retain the same blocks end each exactly once",
          "[physical_table][stress]") {
  constexpr int kThreads = 8, kRounds = 300;
  Program program;
  PhysicalTable& table = program.table;
  std::atomic<Bytes> created{0}, gone{0};
  std::atomic<int> wrong{0};
  std::atomic<int> arrived{0};
  const auto meet = [&](int nth) {
    ++arrived;
    while (arrived < kThreads * nth) std::this_thread::yield();
  };
  const auto note = [&](const std::optional<PhysicalBlock>& ended) {
    if (ended) gone += ended->bytes;
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      int meetings = 0;
      for (int round = 0; round < kRounds; ++round) {
        const PhysicalHandle shared = 1'000 + round;
        if (thread == 0) {
          if (!table.add(shared, {0, 2_MiB})) ++wrong;
          created += 2_MiB;
          if (!program.map(shared, kBase, 2_MiB)) ++wrong;
        }
        meet(++meetings);
        // One mapping of the others' keeps the block there for all; each has an address of its own.
        const std::uint64_t own = kBase + (1 + thread) * 1_GiB;
        for (int i = 0; i < 8; ++i) {
          const auto block = table.begin_mapping(shared);
          if (!block) {
            ++wrong;
          } else if (random() % 4 == 0) {
            note(table.not_mapped(*block));
          } else {
            if (!table.mapped(*block, own, 2_MiB)) ++wrong;
            table.retained(shared, own);
            PhysicalTable::Mappings mappings = table.take_mappings(own, 1_GiB);
            if (mappings.size() != 1) ++wrong;
            if (random() % 2 == 0) {
              table.put_back(std::move(mappings));
              mappings = table.take_mappings(own, 1_GiB);
            }
            for (std::optional<PhysicalBlock> ended; table.end_mapping(mappings, ended);) note(ended);
            const auto reference = table.take_reference(shared);
            if (!reference) {
              ++wrong;
            } else if (random() % 2 == 0) {
              table.put_back_reference(shared, *reference);
              note(table.end_reference(*table.take_reference(shared)));
            } else {
              note(table.end_reference(*reference));
            }
          }
        }
        if (gone != created - 2_MiB) ++wrong;
        meet(++meetings);
        // The last handle and the last mapping go at the same moment.
        if (thread == 0) note(table.end_reference(*table.take_reference(shared)));
        if (thread == 1) {
          PhysicalTable::Mappings mappings = table.take_mappings(kBase, 2_MiB);
          for (std::optional<PhysicalBlock> ended; table.end_mapping(mappings, ended);) note(ended);
        }
        meet(++meetings);
        if (gone != created || table.take_reference(shared)) ++wrong;
        meet(++meetings);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == 0);
  REQUIRE(gone == kRounds * 2_MiB);
}
