// MemoryGuard under the preload: one budget, counted once, whoever asks.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/integration/memory_guard_session.h"

using namespace vramguard::integration;

namespace {

std::string bytes(std::uint64_t number) { return std::to_string(number); }

}  // namespace

TEST_CASE("under the preload the budget of the process holds for a MemoryGuard and plain calls together") {
  if (sanitized()) return;
  Host host;
  MemoryGuardSession session(host, {.budget = "2GiB"});
  REQUIRE(session("guard", 4_GiB, "0 unsaid") == "ok");
  CHECK(session("attached") == "yes");
  CHECK(session("budget") == bytes(2_GiB));
  CHECK(session("fill", 256_MiB) == "5 budget");  // and the context
  CHECK(session("used") == bytes(kContextBytes + 5 * 256_MiB));
  CHECK(host.used_bytes(0) == kContextBytes + 5 * 256_MiB);
  CHECK(session("raw", 256_MiB) == "2");
  CHECK(session("free") == "ok");
  CHECK(session("raw", 1_GiB) == "0");
  CHECK(session("fill", 256_MiB) == "1 budget");
  CHECK(session.end().exit_status == 0);
  CHECK(host.log().all("oom_returned").size() == 3);
}

TEST_CASE("a MemoryGuard that asks for less lowers the budget of the process while it lives") {
  if (sanitized()) return;
  Host host;
  MemoryGuardSession session(host, {.budget = "4GiB"});
  REQUIRE(session("guard", 1_GiB, "0 unsaid") == "ok");
  CHECK(session("raw", 1_GiB) == "2");
  CHECK(session("alloc", 256_MiB) == "device zero");
  CHECK(session("free") == "ok");
  CHECK(session("end") == "ok");
  CHECK(session("raw", 1_GiB) == "0");
}

TEST_CASE("hooks of a MemoryGuard run among those of the process, in its refused calls, as its hooks do") {
  if (sanitized()) return;
  for (const char* defer : {"never", "always"}) {
    CAPTURE(defer);
    Host host;
    MemoryGuardSession session(host, {.budget = "2GiB", .env = {{"VRAMGUARD_OOM_DEFER_FIRST_REFUSAL", defer}}});
    REQUIRE(session("guard 0 0 unsaid") == "ok");
    CHECK(session("hook fails 0") == "ok");
    CHECK(session("hook too-large", 1_GiB) == "ok");
    CHECK(session("fill", 256_MiB) == "5 budget");
    CHECK(session("hook cache 0") == "ok");
    CHECK(session("alloc", 256_MiB) == "device zero");
    CHECK(session("recovered") == "1");
    CHECK(session("unhook cache") == "ok");
    CHECK(session("unhook cache") == "none");
    CHECK(session("alloc", 256_MiB) == "BudgetExceeded");
    const Log log = host.log();
    CHECK(log.one("oom_recovered")["by"] == "hook");
    CHECK(log.all("hook_end").at(0)["hook"] == "fails");
    CHECK(log.all("hook_end").at(0)["outcome"] == "failed");
    CHECK(log.all("hook_skip").at(0)["reason"] == "overhead");
    CHECK(log.all("oom_refused").at(0).has("deferred") == (defer == std::string("always")));
  }
}

TEST_CASE("the checkpoint of a MemoryGuard is called once, and policies are those of the process") {
  if (sanitized()) return;
  Host host({"4GiB"});
  MemoryGuardSession session(host, {.budget = "2GiB"});
  REQUIRE(session("guard 0 0 checkpoint") == "ok");
  CHECK(session("checkpoint") == "ok");
  CHECK(session("raw", 2_GiB) == "2");
  CHECK(session("alloc", 2_GiB) == "BudgetExceeded");
  CHECK(session("saved") == bytes(2_GiB));
  CHECK(session("end") == "ok");
  REQUIRE(session("guard 0 0 spill") == "ok");
  CHECK(session("alloc", 2_GiB) == "host zero");
  CHECK(host.used_bytes(0) == kContextBytes);
  CHECK(session("free") == "ok");
  host.simctl({"neighbour", "0", "3GiB"});
  REQUIRE(session("guard 0 0 retry") == "ok");
  CHECK(session("alloc", 1_GiB) == "OutOfDeviceMemory");
  CHECK(host.log().one("checkpoint")["by"] == "callback");
}

TEST_CASE("a reservation of a MemoryGuard is the sentinel of the process") {
  if (sanitized()) return;
  Host host;
  MemoryGuardSession session(host, {.budget = "2GiB"});
  REQUIRE(session("guard", 0, bytes(512_MiB) + " unsaid") == "ok");
  CHECK(host.used_bytes(0) == kContextBytes + 512_MiB);
  CHECK(session("raw", 1_GiB + 128_MiB) == "0");
  CHECK(host.used_bytes(0) <= 2_GiB);
  CHECK(session("release") == bytes(320_MiB));
  CHECK(session("end") == "ok");
  CHECK(host.used_bytes(0) == kContextBytes + 1_GiB + 128_MiB);
}

TEST_CASE("a listener of a MemoryGuard hears what is published") {
  if (sanitized()) return;
  Host host;
  MemoryGuardSession session(host, {.budget = "2GiB"});
  REQUIRE(session("guard 0 0 unsaid") == "ok");
  CHECK(session("listen") == "ok");
  CHECK(session("fill", 64_MiB) == "23 budget");
  std::string heard;
  for (int i = 0; i < 500 && (heard = session("heard")) == "none"; ++i) usleep(10'000);
  CHECK(heard != "none");
  CHECK(session.end().exit_status == 0);
}

TEST_CASE("a MemoryGuard keeps books of its own where the library is switched off") {
  if (sanitized()) return;
  Host host;
  MemoryGuardSession session(host, {.budget = "2GiB", .env = {{"VRAMGUARD", "0"}}});
  REQUIRE(session("guard", 1_GiB, "0 fail") == "ok");
  CHECK(session("attached") == "no");
  CHECK(session("fill", 256_MiB) == "4 budget");
}
