// A guard of one device that a test asks, and a reader that tells what the test wants to be told.
#pragma once

#include "core/guard.h"

#include <catch2/catch.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

namespace vramguard {

constexpr std::uint64_t kBase = 0x7fc000000000;
constexpr ContextHandle kContext = 0x1000;

// Of one thread. A hook may do what other threads would do at that moment.
class Reader final : public DeviceReader {
 public:
  void prepare() noexcept override {}
  std::optional<Bytes> bytes_of_this_process(int) noexcept override {
    while_looking();
    return process;
  }
  std::optional<Bytes> free_bytes(int) noexcept override { return card_free; }

  std::optional<Bytes> pool_bytes(PoolHandle pool) noexcept override {
    while_reading_pool(pool);
    ++pool_readings;
    const auto found = pools.find(pool);
    return found == pools.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Bytes> graph_bytes(int) noexcept override { return graphs; }
  bool trim_pool(PoolHandle pool) noexcept override {
    ++pool_trims;
    pools[pool] = pools_in_use;
    return true;
  }
  bool trim_graphs(int) noexcept override {
    if (!trims_graphs) return false;
    graphs = 0;
    return true;
  }

  std::optional<Chunk> take_chunk(int, Bytes bytes) noexcept override {
    while_moving_chunk();
    if (card_free && *card_free < bytes) return std::nullopt;
    if (card_free) *card_free -= bytes;
    chunks[++last_chunk] = bytes;
    return last_chunk;
  }
  void give_chunk(Chunk chunk) noexcept override {
    while_moving_chunk();
    if (card_free) *card_free += chunks[chunk];
    chunks.erase(chunk);
  }

  std::optional<Bytes> card_free;
  std::map<Chunk, Bytes> chunks;
  Chunk last_chunk = 0;
  std::optional<Bytes> process;
  std::map<PoolHandle, Bytes> pools;
  Bytes pools_in_use = 0;  // by each
  std::optional<Bytes> graphs = 0;
  bool trims_graphs = true;
  int pool_readings = 0;
  int pool_trims = 0;
  std::function<void()> while_looking = [] {};
  std::function<void()> while_moving_chunk = [] {};
  std::function<void(PoolHandle)> while_reading_pool = [](PoolHandle) {};
};

// It was not started: it has no thread, so each record is in the file when post() returns.
struct GuardFixture {
  explicit GuardFixture(Bytes budget = 2_GiB, GuardConfig settings = {})
      : guard(with_log(std::move(settings)), {{0, "GPU-1", "0000:3b:00.0", 16_GiB}}, {budget}, reader, clock),
        device(*guard.device(0)) {}

  GuardConfig with_log(GuardConfig settings) const {
    settings.log.path = folder.path() + "/p.log";
    return settings;
  }
  void allocate(AddressRange range, AllocationKind kind = AllocationKind::Linear) {
    auto reservation = device.memory.reserve_linear(range.bytes);
    REQUIRE(reservation);
    REQUIRE(device.memory.settle(*reservation, range));
    guard.remember(device, kind, guard.context_in_use(device, kContext), range);
  }
  void free(std::uint64_t address) {
    const auto record = guard.take(address);
    REQUIRE(record);
    device.memory.free_begins();
    guard.forget(address, *record);
    device.memory.free_ends();
  }
  std::vector<std::string> records(const std::string& event) const {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(folder.path() + "/p.log")) {
      if (line.find(" ev=" + event + " ") != std::string::npos) found.push_back(line);
    }
    return found;
  }

  TemporaryFolder folder;
  ManualClock clock;
  Reader reader;
  Guard guard;
  GuardedDevice& device;
};

}  // namespace vramguard
