// What breaks elsewhere: virtual memory management, whose memory, addresses and places are three things.
#include <cstdio>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

TEST_CASE("in every order of retain, map, release and unmap physical memory is in the books while the driver has it") {
  Host host;
  const Run run = host.run(program("handle_orders"), {}, {.budget = "2GiB"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_status == 0);
  unsigned orders = 0, steps = 0, wrong_books = 0, wrong_codes = 0;
  REQUIRE(std::sscanf(run.out.c_str(), "%u %u %u %u", &orders, &steps, &wrong_books, &wrong_codes) == 4);
  CHECK(orders > 100);
  CHECK(wrong_books == 0);
  CHECK(wrong_codes == 0);
  CHECK(run.log.all("start").size() == 1);
  CHECK(run.log.all("oom_returned").empty());
}

TEST_CASE("reserving addresses far beyond the budget and the card succeeds and costs nothing") {
  Host host;
  const Run run =
      host.run(program("kinds"), {},
               {.budget = "2GiB",
                .input = "init\ndevice 0\nreserve 34359738368\nreserve 274877906944\nreserve 1099511627776\n"
                         "used\ncreate 536870912\nmap 2 549755813888 536870912 3\nused\n"
                         "unmap 2 549755813888 536870912\nrelease 3\nused\n"});
  REQUIRE(run.exit_status == 0);
  const std::string context = std::to_string(520_MiB), with_memory = std::to_string(520_MiB + 512_MiB);
  CHECK(run.lines() == std::vector<std::string>{"init 0", "device 0 0", "reserve 0 0", "reserve 0 1", "reserve 0 2",
                                                "used " + context, "create 0 3", "map 0", "used " + with_memory,
                                                "unmap 0", "release 0", "used " + context});
}

TEST_CASE("memory of the host and of unknown places is answered as without us and costs nothing") {
  const Run plain = Host({"8GiB", "8GiB"}).run(program("placements"), {}, {.preload = false});
  CAPTURE(plain.err);
  REQUIRE(plain.exit_status == 0);
  REQUIRE(plain.lines().size() > 600);
  Host host({"8GiB", "8GiB"});
  const Run run = host.run(program("placements"), {}, {.budget = "2GiB"});
  CHECK(run.exit_status == 0);
  CHECK(run.lines() == plain.lines());
  const std::string context = std::to_string(520_MiB);
  CHECK(run.err == "before " + context + " as the driver\nafter " + context + " as the driver\n");
  CHECK(run.log.all("start").size() == 1);
  CHECK(run.log.all("oom_returned").empty());
}

TEST_CASE("while one thread is inside a slow cuMemCreate others allocate and free") {
  Host host;
  const Run run = host.run(program("meanwhile"), {}, {.budget = "2GiB", .env = {{"VGSIM_DELAY", "cuMemCreate=500"}}});
  CHECK(run.exit_status == 0);
  CHECK(run.out == "meanwhile\n");
  CHECK(run.log.all("start").size() == 1);
}
