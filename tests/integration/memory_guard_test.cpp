// MemoryGuard on the simulated driver, by itself; memory_guard_attached_test.cpp has it under the preload.
#include <catch2/catch.hpp>

#include "tests/integration/memory_guard_session.h"

using namespace vramguard::integration;

TEST_CASE("a MemoryGuard keeps its budget on the driver to the page, and gives everything back") {
  for (const char* sim : {"sim", "sim-old"}) {
    Host host;
    MemoryGuardSession session(host, {.preload = false, .sim = sim});
    REQUIRE(session("guard", 2_GiB, "0 fail") == "ok");
    CHECK(host.used_bytes(0) == kContextBytes);
    CHECK(session("alloc", 1000) == "device zero");
    CHECK(session("copy", 3'000'000) == "same");
    CHECK(host.used_bytes(0) == kContextBytes + 6_MiB);
    CHECK(session("used") == std::to_string(6_MiB));
    CHECK(session("free") == "ok");
    CHECK(session("fill", 256_MiB) == "8 budget");
    CHECK(host.used_bytes(0) == kContextBytes + 2_GiB);
    CHECK(session("free") == "ok");
    CHECK(host.used_bytes(0) == kContextBytes);
    CHECK(session("used") == "0");
    CHECK(session("fill", 64_KiB) == std::to_string(2_GiB / 64_KiB) + " budget");  // 32 to a page
    CHECK(session.end().exit_status == 0);
    CHECK(host.used_bytes(0) == 0);
  }
}

TEST_CASE("a reservation is held on the driver, where neighbours see it") {
  Host host({"4GiB"});
  MemoryGuardSession session(host);
  REQUIRE(session("guard", 2_GiB, std::to_string(512_MiB) + " fail") == "ok");
  CHECK(host.used_bytes(0) == kContextBytes + 512_MiB);
  host.simctl({"neighbour", "0", std::to_string(4_GiB - kContextBytes - 512_MiB)});
  CHECK(session("alloc", 256_MiB) == "device zero");
  CHECK(session("release") == std::to_string(256_MiB));
  CHECK(session("alloc", 512_MiB) == "OutOfDeviceMemory");
  CHECK(session("alloc", 256_MiB) == "device zero");
}

TEST_CASE("what pools keep for nobody is taken from them") {
  Host host({"4GiB"});
  MemoryGuardSession session(host);
  REQUIRE(session("guard 0 0 retry") == "ok");
  REQUIRE(session("pool", 2_GiB) == "ok");
  CHECK(host.used_bytes(0) == kContextBytes + 2_GiB);
  CHECK(session("alloc", 3_GiB) == "device zero");
  CHECK(host.used_bytes(0) == kContextBytes + 3_GiB);
}

TEST_CASE("spilled memory is zeroed and copied to as any other, and takes nothing of the device") {
  Host host;
  MemoryGuardSession session(host);
  REQUIRE(session("guard", 64_MiB, "0 spill") == "ok");
  CHECK(session("alloc", 64_MiB) == "device zero");
  CHECK(session("alloc", 32_MiB) == "host zero");
  CHECK(session("copy", 10'000'000) == "same");
  CHECK(host.used_bytes(0) == kContextBytes + 64_MiB);
  CHECK(session("free") == "ok");
  CHECK(host.used_bytes(0) == kContextBytes);
}

TEST_CASE("a MemoryGuard that waits gets what a neighbour leaves") {
  Host host({"4GiB"});
  host.simctl({"neighbour", "0", "3GiB"});
  auto process = host.start(program("memory_guard"), {}, {.preload = false});
  process->write("guard 0 0 wait\n");
  CHECK(process->read_line() == "ok");
  process->write("alloc " + std::to_string(1_GiB) + "\n");
  while (host.calls("cuMemAlloc_v2") < 3) {
  }
  host.simctl({"neighbour", "0", "0"});
  CHECK(process->read_line() == "device zero");
}

TEST_CASE("memory comes from the context that is current if that is one of the device, and what is current stays so") {
  Host host({"4GiB", "4GiB"});
  MemoryGuardSession session(host);
  REQUIRE(session("guard 0 0 fail") == "ok");
  CHECK(session("alloc", 10) == "device zero");
  CHECK(session("current") == "none primary");
  REQUIRE(session("context 0") == "ok");
  CHECK(session("alloc", 10) == "device zero");
  CHECK(session("current") == "own own");
  CHECK(session("free") == "ok");
  REQUIRE(session("context 1") == "ok");
  const std::uint64_t before = host.used_bytes(1);
  CHECK(session("alloc", 4_MiB) == "device zero");
  CHECK(session("current") == "own primary");
  CHECK(host.used_bytes(1) == before);
  CHECK(session("free") == "ok");
  CHECK(host.used_bytes(1) == before);
}

TEST_CASE("what the driver says is in the error") {
  Host host;
  {
    MemoryGuardSession session(host, {.env = {{"VGSIM_FAIL", "cuInit:1=100"}}, .preload = false});
    CHECK(session("guard 0 0 fail") ==
          "DeviceError 100 cuInit failed: CUDA_ERROR_NO_DEVICE (100), no CUDA-capable device is detected");
  }
  MemoryGuardSession session(host,
                             {.env = {{"VGSIM_FAIL", "cuMemAlloc_v2:1=999,cuMemsetD8_v2:1=700"}}, .preload = false});
  REQUIRE(session("guard", 1_GiB, "0 spill") == "ok");
  CHECK_THAT(session("alloc 100"), Catch::StartsWith("DeviceError 999 cuMemAlloc failed: "));
  CHECK_THAT(session("alloc 100"), Catch::StartsWith("DeviceError 700 cuMemsetD8 failed: "));
  CHECK(session("used") == "0");
  CHECK(host.used_bytes(0) == kContextBytes);
}
