// MemoryGuard: what it gives, counts, takes back and says. tests/unit/memory_guard_oom_test.cpp has what does not fit.
#include "core/memory_guard.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/fake_device.h"

namespace vramguard {
namespace {

std::shared_ptr<FakeDevice> device_of(Bytes total = 16_GiB) { return std::make_shared<FakeDevice>(total); }

constexpr std::size_t kGiBOfFloats = 1_GiB / sizeof(float);

}  // namespace

TEST_CASE("memory comes zeroed to its last byte, is counted by the page, and goes back with its buffer") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(2_GiB).build();
  {
    const DeviceBuffer<float> buffer = guard.safe_alloc<float>(1'000'001);
    CHECK(buffer.size() == 1'000'001);
    CHECK(buffer.bytes() == 4'000'004);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) == buffer.address());
    CHECK(device->zeroed(buffer.address()) == 4'000'004);
    CHECK_FALSE(buffer.on_host());
    CHECK(guard.stats().used == 4_MiB);
    CHECK(guard.stats().allocations == 1);
  }
  CHECK(device->live() == 0);
  CHECK(guard.stats().used == 0);
  CHECK(guard.stats().peak == 4_MiB);
  guard.reset_peak_stats();
  CHECK(guard.stats().peak == 0);
}

TEST_CASE("a copy has what the host has, and nothing is zeroed for it") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).build();
  std::vector<std::uint16_t> data(1000);
  std::iota(data.begin(), data.end(), std::uint16_t{7});
  const auto buffer = guard.safe_alloc_copy<std::uint16_t>(data);
  CHECK(buffer.size() == 1000);
  const std::vector<unsigned char> content = device->content(buffer.address());
  REQUIRE(content.size() == 2000);
  CHECK(std::memcmp(content.data(), data.data(), 2000) == 0);
  CHECK(device->zeroed(buffer.address()) == 0);
}

TEST_CASE("a guard without budget refuses nothing and feels no pressure; a budget set later counts what is there") {
  MemoryGuard guard = MemoryGuardBuilder(device_of()).build();
  CHECK(guard.budget() == 0);
  const auto first = guard.safe_alloc<float>(kGiBOfFloats);
  CHECK(guard.pressure_level() == PressureLevel::None);
  guard.set_budget(1_GiB + 2_MiB);
  CHECK(guard.stats().budget == 1_GiB + 2_MiB);
  CHECK(guard.pressure_level() == PressureLevel::High);
  const auto second = guard.safe_alloc<char>(2_MiB);
  CHECK(guard.pressure_level() == PressureLevel::Critical);
  CHECK_THROWS_AS(guard.safe_alloc<char>(1), BudgetExceeded);
  guard.set_budget(0);
  CHECK_NOTHROW(guard.safe_alloc<char>(1));
  CHECK(guard.pressure_level() == PressureLevel::None);
}

TEST_CASE("a request beyond the budget does not reach the device, and says what is short and what can be done") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).build();
  const auto held = guard.safe_alloc<char>(768_MiB);
  try {
    (void)guard.safe_alloc<char>(512_MiB);
    FAIL("admitted");
  } catch (const BudgetExceeded& error) {
    CHECK(error.requested() == 512_MiB);
    CHECK(error.missing() == 256_MiB);
    CHECK(error.used() == 768_MiB);
    CHECK(error.budget() == 1_GiB);
    CHECK(std::string(error.what()) ==
          "512MiB do not fit into the budget: 768MiB of 1GiB are used, 256MiB are missing; free something, register a "
          "hook that does, or raise the budget (set_budget)");
  }
  CHECK(device->allocations == 1);
  CHECK(guard.stats().used == 768_MiB);
}

TEST_CASE("a full device is another error than a full budget") {
  const auto device = device_of(4_GiB);
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(3_GiB).build();
  device->neighbour_takes(3_GiB);
  try {
    (void)guard.safe_alloc<char>(2_GiB);
    FAIL("served");
  } catch (const OutOfDeviceMemory& error) {
    CHECK(error.requested() == 2_GiB);
    CHECK(error.missing() == 1_GiB);
    CHECK(error.device_free() == 1_GiB);
    CHECK_THAT(error.what(), Catch::StartsWith("the device has no room for 2GiB, 1GiB are free; "));
  }
  CHECK(guard.stats().used == 0);
  CHECK_NOTHROW(guard.safe_alloc<char>(1_GiB));
}

TEST_CASE("a count whose bytes overflow is an error, and no small allocation") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).build();
  CHECK_THROWS_AS(guard.safe_alloc<std::uint64_t>((std::size_t{1} << 61) + 1), RequestTooLarge);
  CHECK_THROWS_AS(guard.safe_alloc_with_hooks<std::uint64_t>(SIZE_MAX), MemoryError);
  CHECK_THROWS_AS(guard.safe_alloc<char>(SIZE_MAX), OutOfDeviceMemory);
  CHECK(device->live() == 0);
  CHECK(guard.stats().used == 0);
  guard.set_budget(1_GiB);
  CHECK_THROWS_AS(guard.safe_alloc<char>(SIZE_MAX), BudgetExceeded);
}

TEST_CASE("no elements are an empty buffer, which can be freed") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).build();
  auto buffer = guard.safe_alloc<int>(0);
  CHECK(buffer.empty());
  CHECK(buffer.data() == nullptr);
  CHECK_NOTHROW(guard.free(std::move(buffer)));
  CHECK(guard.safe_alloc_copy<int>({}).empty());
  CHECK(device->allocations == 0);
  CHECK(guard.stats().allocations == 0);
}

TEST_CASE("a buffer is moved, assigned and freed once") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).build();
  auto first = guard.safe_alloc<int>(10);
  const DeviceAddress address = first.address();
  DeviceBuffer<int> second(std::move(first));
  CHECK(first.empty());
  CHECK(first.bytes() == 0);
  CHECK(second.address() == address);
  second = guard.safe_alloc<int>(20);
  CHECK(device->live() == 1);
  CHECK(second.size() == 20);
  guard.free(std::move(second));
  CHECK(second.empty());
  CHECK(device->live() == 0);
  CHECK_NOTHROW(guard.free(std::move(second)));
  CHECK(guard.stats().used == 0);
}

TEST_CASE("a buffer of another guard is turned away and kept") {
  const auto device = device_of();
  MemoryGuard one = MemoryGuardBuilder(device).build(), other = MemoryGuardBuilder(device).build();
  auto buffer = one.safe_alloc<int>(10);
  CHECK_THROWS_AS(other.free(std::move(buffer)), std::invalid_argument);
  CHECK(buffer.size() == 10);
  CHECK(one.stats().used == 2_MiB);
  CHECK(other.stats().used == 0);
}

TEST_CASE("a free that the device refuses leaves the buffer and the books as they were") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).build();
  auto buffer = guard.safe_alloc<int>(10);
  device->fails_frees = true;
  CHECK_THROWS_AS(guard.free(std::move(buffer)), DeviceError);
  CHECK(buffer.size() == 10);
  CHECK(guard.stats().used == 2_MiB);
  device->fails_frees = false;
  guard.free(std::move(buffer));
  CHECK(guard.stats().used == 0);
}

TEST_CASE("memory that cannot be filled is given back, and the error says why") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).build();
  device->fails_copies = true;
  CHECK_THROWS_AS(guard.safe_alloc<char>(1_MiB), DeviceError);
  const std::vector<char> data(100);
  CHECK_THROWS_AS(guard.safe_alloc_copy<char>(data), DeviceError);
  CHECK(device->live() == 0);
  CHECK(guard.stats().used == 0);
}

TEST_CASE("a failing device is neither out of memory nor kept in the books") {
  const auto device = device_of();
  MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).oom_policy(Spill{1_GiB}).build();
  device->fails_allocations = true;
  try {
    (void)guard.safe_alloc<char>(1_MiB);
    FAIL("served");
  } catch (const DeviceError& error) {
    CHECK(error.code() == 79);
    CHECK(error.requested() == 1_MiB);
  }
  device->fails_allocations = false;
  CHECK_NOTHROW(guard.safe_alloc<char>(1_GiB));
}

TEST_CASE("buffers may outlive their guard, its reservation does not") {
  const auto device = device_of();
  DeviceBuffer<int> buffer;
  {
    MemoryGuard guard = MemoryGuardBuilder(device).budget_bytes(1_GiB).reserve_bytes(128_MiB).build();
    CHECK(device->chunks() == 2);
    buffer = guard.safe_alloc<int>(10);
    MemoryGuard moved(std::move(guard));
    CHECK(device->chunks() == 2);
    moved = MemoryGuardBuilder(device).build();
    CHECK(device->chunks() == 0);
  }
  CHECK(device->live() == 1);
  buffer = {};
  CHECK(device->live() == 0);
}

TEST_CASE("the device can be printed") {
  MemoryGuard guard = MemoryGuardBuilder(device_of()).build();
  std::ostringstream out;
  out << guard.device();
  CHECK(out.str() == "cuda:0 Fake, 16GiB (GPU-1, 0000:3b:00.0)");
  CHECK(to_string(DeviceDescription{.ordinal = 3, .name = {}, .uuid = {}, .pci_bus_id = {}, .total_bytes = 1_GiB}) ==
        "cuda:3, 1GiB");
}

TEST_CASE("a guard without a device and a hook without a callback are refused") {
  CHECK_THROWS_AS(MemoryGuardBuilder(nullptr), std::invalid_argument);
  MemoryGuard guard = MemoryGuardBuilder(device_of()).build();
  CHECK_THROWS_AS(guard.register_hook({.name = "empty", .callback = {}}), std::invalid_argument);
}

TEST_CASE("listeners hear each change of the level, from where to where, on the thread that made it") {
  MemoryGuard guard = MemoryGuardBuilder(device_of()).budget_bytes(1000_MiB).build();
  std::vector<std::pair<PressureLevel, PressureLevel>> heard;
  guard.add_pressure_listener([&](PressureLevel from, PressureLevel to) { heard.emplace_back(from, to); });
  using enum PressureLevel;
  auto first = guard.safe_alloc<char>(698_MiB);
  CHECK(heard.empty());  // 302 MiB are free
  auto second = guard.safe_alloc<char>(2_MiB);
  CHECK(heard == std::vector{std::pair{None, Low}});
  auto third = guard.safe_alloc<char>(300_MiB);
  CHECK(heard.back() == std::pair{Low, Critical});
  guard.free(std::move(third));
  CHECK(heard.back() == std::pair{Critical, Low});
  first = {};
  CHECK(heard.back() == std::pair{Low, None});
  guard.set_budget(40_MiB);
  CHECK(heard.size() == 4);
  guard.set_budget(2_MiB);
  CHECK(heard.back() == std::pair{None, Critical});
  guard.set_budget(0);
  CHECK(heard.back() == std::pair{Critical, None});
  CHECK(heard.size() == 6);
}

TEST_CASE("a listener that throws spoils neither the allocation nor the next listener") {
  MemoryGuard guard = MemoryGuardBuilder(device_of()).budget_bytes(100_MiB).build();
  int heard = 0;
  guard.add_pressure_listener([](PressureLevel, PressureLevel) { throw std::runtime_error("listener"); });
  guard.add_pressure_listener([&](PressureLevel, PressureLevel) { ++heard; });
  {
    const auto buffer = guard.safe_alloc<char>(100_MiB);
    CHECK(buffer.size() == 100_MiB);
  }
  CHECK(heard == 2);
}

}  // namespace vramguard
