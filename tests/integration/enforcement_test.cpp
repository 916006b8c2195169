// Held to the budget to the page, whatever is asked for and however; and not refused before.
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

constexpr std::uint64_t kContextBytes = 520_MiB;  // of the simulated driver

struct Edge {
  std::string request;  // as the console's `fill` takes it
  std::uint64_t bytes;  // that one request takes; of a row for pitched memory
  std::uint64_t rows = 1;
};

std::uint64_t most_pages(const Edge& edge) { return (edge.bytes * edge.rows + kPageBytes - 1) / kPageBytes; }

// Of the sizes that others have got wrong, and their neighbours.
const std::vector<Edge> kEdges = {
    {"alloc_v2 65536", 64_KiB},       {"alloc_v2 300000", 300000},      {"alloc_v2 1048576", 1_MiB},
    {"alloc_v2 1048577", 1_MiB + 1},  {"alloc_v2 2097151", 2_MiB - 1},  {"alloc_v2 2097152", 2_MiB},
    {"alloc_v2 2097153", 2_MiB + 1},  {"alloc_v2 3145728", 3_MiB},      {"alloc_v2 41943040", 40_MiB},
    {"pitch_v2 8 2000 4", 512, 2000}, {"pitch_v2 8 8000 4", 512, 8000}, {"pitch_v2 1048584 7 4", 1_MiB + 512, 7},
};

std::string answer(Process& process, const std::string& command) {
  process.write(command + "\n");
  return process.read_line();
}

int count_of_fill(const std::string& line) {
  std::istringstream in(line);
  std::string word;
  int code = -1, count = -1;
  in >> word >> code >> count;
  CHECK(word == "fill");
  CHECK(code == 2);
  return count;
}

std::unique_ptr<Process> open(Host& host, const std::string& file, const std::string& way, const std::string& budget,
                              const std::string& sim = "sim") {
  auto process =
      host.start(program(file), {way}, {.budget = budget, .env = {{"VRAMGUARD_MANAGED", "count"}}, .sim = sim});
  REQUIRE(answer(*process, "init 0") == "init 0");
  REQUIRE(answer(*process, "retain 0") == "retain 0 0");
  return process;
}

// Filled to the last page that fits and no further, emptied without a rest, and filled again.
void check_edge(Host& host, Process& process, const Edge& edge, std::uint64_t budget) {
  CAPTURE(edge.request);
  const std::string before = answer(process, "info");
  const int count = count_of_fill(answer(process, "fill " + edge.request));
  const std::uint64_t physical = host.used_bytes(0);
  CHECK(physical <= budget);
  CHECK(physical > budget - most_pages(edge) * kPageBytes);
  CHECK(answer(process, "free_all") == "free_all 0");
  CHECK(answer(process, "info") == before);
  CHECK(host.used_bytes(0) == kContextBytes);
  CHECK(count_of_fill(answer(process, "fill " + edge.request)) == count);
  CHECK(answer(process, "free_all") == "free_all 0");
}

void check_end(Host& host, Process& process, const std::string& budget_bytes) {
  const Run run = process.finish();
  CHECK(run.exit_status == 0);
  CHECK(run.err.empty());
  const Log log = host.log();
  CHECK(log.one("start")["mode"] == "enforce");
  CHECK(log.one("device")["budget_bytes"] == budget_bytes);
  CHECK_FALSE(log.all("oom_returned").empty());
}

struct Way {
  std::string program, name, sim = "sim";
};

}  // namespace

TEST_CASE("every size is held to the budget and freed without a rest through every way in") {
  for (const Way& way :
       {Way{"console_linked", "link"}, Way{"console", "dlsym"}, Way{"console", "dlvsym", "sim-versioned"},
        Way{"console", "default"}, Way{"console", "next"}, Way{"console", "proc"}, Way{"console", "proc_v2"},
        Way{"console", "proc_self"}, Way{"console", "dlsym", "sim-old"}, Way{"console", "proc", "sim-old"}}) {
    CAPTURE(way.name, way.sim);
    Host host;
    const auto process = open(host, way.program, way.name, "2GiB", way.sim);
    for (const Edge& edge : kEdges) check_edge(host, *process, edge, 2_GiB);
    check_end(host, *process, "2147483648");
  }
}

TEST_CASE("the smallest requests and those of 32-bit programs are held to the budget as well") {
  for (const Way& way :
       {Way{"console_linked", "link"}, Way{"console", "dlsym"}, Way{"console", "proc"}, Way{"console", "proc_v2"}}) {
    CAPTURE(way.name);
    Host host;
    const auto process = open(host, way.program, way.name, "544MiB");  // 24 MiB beside the context
    check_edge(host, *process, {"alloc_v2 512", 512}, 544_MiB);
    check_edge(host, *process, {"alloc 300000", 300000}, 544_MiB);
    check_edge(host, *process, {"alloc 2097153", 2_MiB + 1}, 544_MiB);
    check_edge(host, *process, {"pitch 8 8000 4", 512, 8000}, 544_MiB);
    check_end(host, *process, "570425344");
  }
}

TEST_CASE("managed memory is counted in full and refused at the budget") {
  Host host;
  const auto process = open(host, "console", "dlsym", "2GiB");
  CHECK(count_of_fill(answer(*process, "fill managed 10485760")) == 152);  // of 1,528 MiB beside the context
  CHECK(answer(*process, "info") == "info 0 8388608 2147483648");
  CHECK(host.used_bytes(0) == kContextBytes);  // it has not been touched yet
  CHECK(answer(*process, "free_all") == "free_all 0");
  CHECK(answer(*process, "info") == "info 0 1602224128 2147483648");
  check_end(host, *process, "2147483648");
}

TEST_CASE("a refused request never reaches the driver when more than a shared page is short") {
  Host host;
  const auto process = open(host, "console", "dlsym", "2GiB");
  CHECK(count_of_fill(answer(*process, "fill alloc_v2 41943040")) == 38);
  CHECK(host.calls("cuMemAlloc_v2") == 38);
  for (const std::string request : {"alloc_v2 41943040", "alloc_v2 1099511627776", "alloc_v2 18446744073709551615"}) {
    CHECK(answer(*process, request) == "alloc_v2 2");
  }
  CHECK(answer(*process, "pitch_v2 18446744073709551615 2 4") == "pitch_v2 2");
  CHECK(answer(*process, "managed 41943040") == "managed 2");
  CHECK(host.calls("cuMemAlloc_v2") == 38);
  CHECK(host.calls("cuMemAllocPitch_v2") == 0);
  CHECK(host.calls("cuMemAllocManaged") == 0);
  check_end(host, *process, "2147483648");
}

TEST_CASE("what fits is not refused: the last page can be had, and shared") {
  Host host;
  const auto process = open(host, "console", "dlsym", "2GiB");
  CHECK(answer(*process, "alloc_v2 1600126976") == "alloc_v2 0 0");  // all but one page
  CHECK(answer(*process, "alloc_v2 2097152") == "alloc_v2 0 1");
  CHECK(host.used_bytes(0) == 2_GiB);
  CHECK(answer(*process, "info") == "info 0 0 2147483648");
  CHECK(answer(*process, "alloc_v2 1") == "alloc_v2 2");
  CHECK(host.used_bytes(0) == 2_GiB);
  CHECK(answer(*process, "free 1") == "free 0");
  CHECK(answer(*process, "alloc_v2 1") == "alloc_v2 0 2");
  CHECK(answer(*process, "alloc_v2 1000000") == "alloc_v2 0 3");  // into the page that is paid for
  CHECK(host.used_bytes(0) == 2_GiB);
  check_end(host, *process, "2147483648");
}

TEST_CASE("threads that race for the last bytes are never given more than the budget") {
  struct Case {
    std::uint64_t bytes, pages;
  };
  for (const Case& test : {Case{1_MiB + 1, 1}, Case{2_MiB, 1}, Case{3_MiB, 2}, Case{40_MiB, 20}}) {
    Host host;
    const Run run = host.run(program("race"), {std::to_string(test.bytes)}, {.budget = "768MiB"});
    CAPTURE(test.bytes, run.out, run.err);
    REQUIRE(run.exit_status == 0);
    CHECK(run.log.one("device").number("budget_bytes") == 768_MiB);
    std::uint64_t most_held = 0, most_seen = 0, least_seen = 0, at_end = 0, other_codes = 0;
    std::istringstream(run.out) >> most_held >> most_seen >> least_seen >> at_end >> other_codes;
    CHECK(most_held + kContextBytes <= 768_MiB);
    CHECK(most_seen <= 768_MiB);
    CHECK(least_seen > 768_MiB - test.pages * kPageBytes);
    CHECK(at_end == kContextBytes);
    CHECK(other_codes == 0);
  }
}

TEST_CASE("a driver call that fails gives its reservation back, leaves the outputs and returns the driver's code") {
  for (const std::string code : {"2", "46", "700", "999"}) {
    Host host;
    const std::string faults =
        "cuMemAlloc_v2:1=" + code + ",cuMemAllocPitch_v2:1=" + code + ",cuMemAllocManaged:1=" + code;
    const Run run = host.run(program("console"), {},
                             {.budget = "2GiB",
                              .env = {{"VGSIM_FAIL", faults}},
                              .input = "init 0\nretain 0\ninfo\noutputs_kept 1000000\ninfo\nfill alloc_v2 33554432\n"});
    REQUIRE(run.exit_status == 0);
    CHECK(run.log.all("start").size() == 1);
    const std::vector<std::string> lines = run.lines();
    CHECK(lines.at(3) == "outputs_kept " + code + " 1 " + code + " 1 1 " + code + " 1");
    CHECK(lines.at(4) == lines.at(2));
    CHECK(lines.at(5) == "fill 2 47");
    // The card's own refusals are told as such; other failures are none.
    CHECK(run.log.all("oom_returned").size() == (code == "2" ? 4 : 1));
  }
}

TEST_CASE("a free that the driver refuses keeps the memory in the books") {
  Host host;
  const Run run = host.run(program("console"), {},
                           {.budget = "2GiB",
                            .env = {{"VGSIM_FAIL", "cuMemFree_v2:1=700"}},
                            .input = "init 0\nretain 0\nalloc_v2 33554432\ninfo\nfree 0\ninfo\nfree 0\ninfo\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.all("start").size() == 1);
  const std::vector<std::string> lines = run.lines();
  CHECK(lines.at(4) == "free 700");
  CHECK(lines.at(5) == lines.at(3));
  CHECK(lines.at(6) == "free 0");
  CHECK(lines.at(7) == "info 0 1602224128 2147483648");
}
