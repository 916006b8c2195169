// What programs are told of the card: the budget, never more than the card has, never wrapped.
#include <cstdio>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

constexpr std::uint64_t kContextBytes = 520_MiB;

struct Told {
  std::uint64_t free, total, device_total;
};

Told told(Host& host, const Options& options, const std::string& before = "") {
  Options with_script = options;
  with_script.input = "init 0\ntotal 0\nretain 0\n" + before + "total_of_info\nfree_of_info\ninfo\ntotal 0\n";
  const Run run = host.run(program("console"), {}, with_script);
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.all("start").size() == (options.preload ? 1 : 0));
  const std::vector<std::string> lines = run.lines();
  const std::size_t end = lines.size();
  Told told{};
  REQUIRE(std::sscanf(lines.at(end - 2).c_str(), "info 0 %lu %lu", &told.free, &told.total) == 2);
  REQUIRE(std::sscanf(lines.at(end - 1).c_str(), "total 0 %lu", &told.device_total) == 1);
  // One at a time they say the same; the total does not depend on a context.
  CHECK(lines.at(end - 4) == "total_of_info 0 " + std::to_string(told.total));
  CHECK(lines.at(end - 3) == "free_of_info 0 " + std::to_string(told.free));
  CHECK(lines.at(1) == lines.at(end - 1));
  CHECK(told.free <= told.total);
  CHECK(told.total <= 8_GiB);
  return told;
}

}  // namespace

TEST_CASE("programs see the budget as the card, and what is left of it as free") {
  Host host;
  const Told seen = told(host, {.budget = "2GiB"}, "alloc_v2 104857600\n");
  CHECK(seen.total == 2_GiB);
  CHECK(seen.device_total == 2_GiB);
  CHECK(seen.free == 2_GiB - kContextBytes - 100_MiB);
}

TEST_CASE("a percentage is one of the card") {
  Host host;
  const Told seen = told(host, {.budget = "25%"});
  CHECK(seen.total == 2_GiB);
  CHECK(seen.free == 2_GiB - kContextBytes);
}

TEST_CASE("without a budget and with virtualize none programs see the card") {
  for (const Options& options :
       {Options{.budget = "unlimited"}, Options{}, Options{.budget = "2GiB", .env = {{"VRAMGUARD_VIRTUALIZE", "none"}}},
        Options{.preload = false}}) {
    Host host;
    const Told seen = told(host, options);
    CHECK(seen.total == 8_GiB);
    CHECK(seen.device_total == 8_GiB);
    CHECK(seen.free == 8_GiB - kContextBytes);
  }
}

TEST_CASE("virtualize none still refuses at the budget") {
  Host host;
  const Run run = host.run(program("console"), {},
                           {.budget = "2GiB",
                            .env = {{"VRAMGUARD_VIRTUALIZE", "none"}},
                            .input = "init 0\nretain 0\nfill alloc_v2 33554432\n"});
  CHECK(run.log.one("device").number("budget_bytes") == 2_GiB);
  CHECK(run.lines().back() == "fill 2 47");
}

TEST_CASE("a budget above the card is the card") {
  for (const std::string budget : {"8GiB", "20GiB", "16777215TiB"}) {
    Host host;
    const Told seen = told(host, {.budget = budget});
    CHECK(seen.total == 8_GiB);
    CHECK(seen.device_total == 8_GiB);
    CHECK(seen.free == 8_GiB - kContextBytes);
  }
}

TEST_CASE("a budget below what contexts take leaves nothing free, and nothing wraps") {
  for (const std::string budget : {"1MiB", "345MiB", "520MiB"}) {
    Host host;
    const Told seen = told(host, {.budget = budget});
    CHECK(seen.total == seen.device_total);
    CHECK(seen.free == 0);
  }
  // A second context comes after memory that already fills the budget.
  Host host;
  const Told seen = told(host, {.budget = "600MiB"}, "fill alloc_v2 2097152\ncreate 0\n");
  CHECK(seen.total == 600_MiB);
  CHECK(seen.free == 0);
}

TEST_CASE("what a neighbour takes is not promised") {
  Host host;
  host.simctl({"neighbour", "0", "7GiB"});
  Told seen = told(host, {.budget = "2GiB"});
  CHECK(seen.total == 2_GiB);
  CHECK(seen.free == 1_GiB - kContextBytes);

  Host roomy;
  roomy.simctl({"neighbour", "0", "3GiB"});
  seen = told(roomy, {.budget = "2GiB"});
  CHECK(seen.free == 2_GiB - kContextBytes);
}

TEST_CASE("a card that is full refuses, and the record says that it was the card") {
  Host host;
  host.simctl({"neighbour", "0", "7GiB"});
  const Run run =
      host.run(program("console"), {}, {.budget = "4GiB", .input = "init 0\nretain 0\nfill alloc_v2 33554432\ninfo\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.one("device").number("budget_bytes") == 4_GiB);
  CHECK(run.lines().at(2) == "fill 2 15");  // of the 504 MiB that were left
  CHECK(run.lines().at(3) == "info 0 25165824 4294967296");
  const Record returned = run.log.one("oom_returned");
  CHECK(returned["scope"] == "device");
  CHECK(returned.number("device_free_bytes") == 24_MiB);
  CHECK(returned.number("short_bytes") == 8_MiB);
}

TEST_CASE("programs of 32 bits see the budget where it fits into 32 bits, and what the driver tells where not") {
  const std::string script = "init 0\nretain 0\ninfo_v1\ntotal_v1 0\n";
  Host small, large;
  Run run = small.run(program("console"), {}, {.budget = "2GiB", .input = script});
  CHECK(run.log.all("start").size() == 1);
  CHECK(run.lines().at(2) == "info_v1 0 1602224128 2147483648");
  CHECK(run.lines().at(3) == "total_v1 0 2147483648");
  run = large.run(program("console"), {}, {.budget = "6GiB", .input = script});
  const Run plain = Host().run(program("console"), {}, {.preload = false, .input = script});
  CHECK(run.lines() == plain.lines());
}
