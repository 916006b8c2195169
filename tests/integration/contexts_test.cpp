// Contexts take memory that no allocation call shows, and take their linear memory along when they end.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::size_t count(const Run& run, const std::string& line) {
  std::size_t n = 0;
  for (const std::string& other : run.lines()) n += other == line;
  return n;
}

const std::string kHalf = "1073741824";  // of the budget

}  // namespace

TEST_CASE("half the budget can be had again and again from a primary context that is reset or released") {
  for (const std::string end : {"reset 0\n", "reset_v1 0\n", "release 0\n", "release_v1 0\n"}) {
    CAPTURE(end);
    Host host;
    std::string script = "init 0\n" + repeated("retain 0\nalloc_v2 " + kHalf + "\n" + end, 8) + "retain 0\ninfo\n";
    const Run run = host.run(program("console"), {}, {.budget = "2GiB", .input = script});
    REQUIRE(run.exit_status == 0);
    CHECK(run.log.all("start").size() == 1);
    CHECK(run.log.all("oom_refused").empty());
    for (int i = 0; i < 8; ++i) CHECK(count(run, "alloc_v2 0 " + std::to_string(i)) == 1);
    CHECK(run.lines().back() == "info 0 1602224128 2147483648");
  }
}

TEST_CASE("half the budget can be had again and again from a context that is created and destroyed") {
  for (const std::string create : {"create", "create_v1", "create_v3", "create_v4"}) {
    CAPTURE(create);
    Host host;
    std::string script = "init 0\nretain 0\n";
    for (int i = 0; i < 8; ++i) {
      script +=
          create + " 0\nalloc_v2 805306368\n" + (i % 2 == 0 ? "destroy " : "destroy_v1 ") + std::to_string(i) + "\n";
    }
    const Run run = host.run(program("console"), {}, {.budget = "2GiB", .input = script + "retain 0\ninfo\n"});
    REQUIRE(run.exit_status == 0);
    CHECK(run.log.all("start").size() == 1);
    CHECK(run.log.all("oom_refused").empty());
    for (int i = 0; i < 8; ++i) CHECK(count(run, "alloc_v2 0 " + std::to_string(i)) == 1);
    CHECK(run.lines().back() == "info 0 1602224128 2147483648");
  }
}

TEST_CASE("a context takes only its own memory along") {
  Host host;
  const Run run = host.run(program("console"), {},
                           {.budget = "4GiB",
                            .input = "init 0\nretain 0\nalloc_v2 104857600\ncreate 0\nalloc_v2 209715200\nretain 0\n"
                                     "info\ndestroy 0\ninfo\nfree 1\ninfo\nfree 0\ninfo\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.all("start").size() == 1);
  const std::vector<std::string> lines = run.lines();
  const auto info = [](std::uint64_t used) { return "info 0 " + std::to_string(4_GiB - used) + " 4294967296"; };
  CHECK(lines.at(6) == info(1040_MiB + 300_MiB));
  CHECK(lines.at(8) == info(520_MiB + 100_MiB));
  CHECK(lines.at(9) == "free 1");
  CHECK(lines.at(10) == lines.at(8));
  CHECK(lines.at(12) == info(520_MiB));
}

TEST_CASE("a primary context that is retained twice keeps its memory at the first release") {
  for (const std::string nvml :
       {"", "hidden"}) {  // measured, what is lost from the books would come back as a context's
    CAPTURE(nvml);
    Host host;
    const Run run = host.run(program("console"), {},
                             {.budget = "2GiB",
                              .env = {{"VGSIM_NVML", nvml}},
                              .input = "init 0\nretain 0\nretain 0\nalloc_v2 " + kHalf + "\ninfo\nrelease 0\ninfo\n" +
                                       "alloc_v2 " + kHalf + "\nrelease 0\nretain 0\nalloc_v2 " + kHalf + "\n"});
    REQUIRE(run.exit_status == 0);
    CHECK(run.log.all("start").size() == 1);
    const std::vector<std::string> lines = run.lines();
    CHECK(lines.at(6) == lines.at(4));
    CHECK(lines.at(7) == "alloc_v2 2");
    CHECK(lines.at(10) == "alloc_v2 0 1");
  }
}

TEST_CASE("what a context takes is measured, and charged before anything is allocated") {
  Host host;
  const Run run = host.run(program("console"), {}, {.budget = "2GiB", .input = "init 0\nretain 0\ncreate 0\ninfo\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.all("start").size() == 1);
  const std::vector<Record> contexts = run.log.all("context");
  REQUIRE(contexts.size() == 2);
  CHECK(contexts[0]["source"] == "nvml");
  CHECK(contexts[0].number("context_bytes") == 520_MiB);
  CHECK(contexts[1].number("context_bytes") == 1040_MiB);
  CHECK(run.lines().back() == "info 0 " + std::to_string(2_GiB - 1040_MiB) + " 2147483648");
}

TEST_CASE("where NVML does not tell a context is charged an estimate, and the record says so") {
  for (const std::string mode : {"hidden", "zero"}) {
    CAPTURE(mode);
    Host host;
    const Run run = host.run(program("console"), {},
                             {.budget = "2GiB",
                              .env = {{"VGSIM_NVML", mode}},
                              .input = "init 0\nretain 0\ninfo\nfill alloc_v2 33554432\nreset 0\nretain 0\ninfo\n"});
    REQUIRE(run.exit_status == 0);
    CHECK(run.log.all("start").size() == 1);
    CHECK(run.log.all("context").at(0)["source"] == "estimate");
    CHECK(run.log.all("context").at(0).number("context_bytes") == 600_MiB);
    CHECK(run.lines().at(2) == "info 0 " + std::to_string(2_GiB - 600_MiB) + " 2147483648");
    CHECK(run.lines().at(3) == "fill 2 45");
    CHECK(run.lines().back() == run.lines().at(2));
  }
}

TEST_CASE("a context is never refused, and one that exceeds the budget by itself is told clearly") {
  Host host;
  const Run run =
      host.run(program("console"), {}, {.budget = "256MiB", .input = "init 0\nretain 0\ncreate 0\nalloc_v2 1\ninfo\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.one("device").number("budget_bytes") == 256_MiB);
  CHECK(run.lines().at(1) == "retain 0 0");
  CHECK(run.lines().at(2) == "create 0 0");
  CHECK(run.lines().at(3) == "alloc_v2 2");
  CHECK(run.lines().at(4) == "info 0 0 268435456");
  const Record context = run.log.all("context").at(0);
  CHECK(context["lvl"] == "warn");
  CHECK(context["over_budget"] == "1");
}
