// Every kind of memory under a budget: what it costs, when it comes back, and what is refused.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

constexpr std::uint64_t kContextBytes = 520_MiB;

// Runs the commands and returns the answers, without the names. The guard was on.
std::vector<std::string> answers(Host& host, const std::string& script, Options options = {}) {
  if (options.budget.empty()) options.budget = "2GiB";
  options.input = "init\ndevice 0\n" + script;
  const Run run = host.run(program("kinds"), {}, options);
  CAPTURE(run.err, run.out);
  REQUIRE(run.exit_status == 0);
  CHECK_FALSE(run.log.all("start").empty());
  std::vector<std::string> list;
  for (const std::string& line : run.lines()) list.push_back(line.substr(line.find(' ') + 1));
  list.erase(list.begin(), list.begin() + 2);
  return list;
}

std::string used(std::uint64_t more) { return std::to_string(kContextBytes + more); }

std::string mib(std::uint64_t n) { return std::to_string(n << 20); }

using Answers = std::vector<std::string>;

}  // namespace

TEST_CASE("a physical allocation is charged until its last reference and its last mapping are gone") {
  Host host;
  CHECK(
      answers(host, "create " + mib(100) + "\nreserve " + mib(400) + "\nmap 1 0 " + mib(100) + " 0\nmap 1 " + mib(200) +
                        " " + mib(100) + " 0\nrelease 0\nused\nunmap 1 0 " + mib(100) + "\nused\nretain_handle 1 " +
                        mib(200) + "\nunmap 1 " + mib(200) + " " + mib(100) + "\nused\nrelease 2\nused\n") ==
      Answers{"0 0", "0 1", "0", "0", "0", used(100_MiB), "0", used(100_MiB), "0 2", "0", used(100_MiB), "0", used(0)});
}

TEST_CASE("addresses and memory of the host cost nothing, and a reset of the context frees no physical memory") {
  Host host;
  CHECK(answers(host, "reserve " + mib(4000) + "\ncreate " + mib(64) + " 2 0\ncreate " + mib(64) +
                          "\nused\nreset\ndevice 0\nused\nrelease 2\nused\n") ==
        Answers{"0 0", "0 1", "0 2", used(64_MiB), "0", "0 0", used(64_MiB), "0", used(0)});
}

TEST_CASE("a refused or failed call leaves its output and the books as they were") {
  Host host;
  const std::string faults = "cuMemCreate:1=999,cuMemAllocAsync:1=700,cuArray3DCreate_v2:2=46,cuMemAllocHost_v2:1=2";
  CHECK(answers(host,
                "create " + mib(8) + "\nasync 100\narray 2048 2048 0 0\npin 100\nused\ncreate " + mib(1600) +
                    "\nasync " + mib(1600) + "\narray 16384 32768 0 0\nused\n",
                {.env = {{"VGSIM_FAIL", faults}}}) ==
        Answers{"999", "700", "46", "2", used(0), "2", "2", "2", used(0)});
}

TEST_CASE("a pool counts by what it holds, used or not, and is trimmed before anything is refused") {
  Host host;
  const std::string keep = "default_pool 0\nkeep 0\nasync " + mib(1000) + "\nused\nfree_async 1\nsynchronize\nused\n";
  CHECK(answers(host, keep + "linear " + mib(1500) + "\nused\n") ==
        Answers{"0 0", "0", "0 1", used(1024_MiB), "0", "0", used(1024_MiB), "0 2", used(1500_MiB)});
  CHECK(answers(host, keep + "create " + mib(1500) + "\nused\n").back() == used(1500_MiB));
  // What is in use cannot be given back.
  CHECK(answers(host, "default_pool 0\nkeep 0\nasync " + mib(1000) + "\nlinear " + mib(1500) + "\nused\n") ==
        Answers{"0 0", "0", "0 1", "2", used(1024_MiB)});
}

TEST_CASE("a pool gives back what its destroyer leaves, and of live allocations nothing is forgotten") {
  Host host;
  CHECK(answers(host, "pool\nkeep 0\nfrom 0 " + mib(100) + "\nfree_async 1\nsynchronize\nused\nend_pool 0\nused\n") ==
        Answers{"0 0", "0", "0 1", "0", "0", used(128_MiB), "0", used(0)});
  CHECK(answers(host,
                "pool\nfrom 0 " + mib(100) + "\nend_pool 0\nused\nfree_async 1\nsynchronize\nlimit 0 1024\nused\n") ==
        Answers{"0 0", "0 1", "0", used(128_MiB), "0", "0", "0", used(0)});
}

TEST_CASE("a pool of the host costs the device nothing") {
  Host host;
  CHECK(answers(host, "pool 2 0\nfrom 0 " + mib(100) + "\nused\n").back() == used(0));
}

TEST_CASE("frees cross the families") {
  Host host;
  CHECK(answers(host, "linear " + mib(100) + "\nasync " + mib(32) + "\nfree_async 0\nfree 1\nsynchronize\nused\n") ==
        Answers{"0 0", "0 1", "0", "0", "0", used(0)});
  CHECK(answers(host, "linear " + mib(100) + "\nfree 0\nfree 0\nfree_async 0\nused\n") ==
        Answers{"0 0", "0", "1", "1", used(0)});
}

TEST_CASE("arrays are charged as the device lays them out, sparse and deferred ones not at all") {
  Host host;
  CHECK(answers(host, "array 2048 2048 0 0\nused\nmipmaps 2048 2048 8\narray 4096 4096 0 128\narray 4096 4096 0 64\n")
            .at(1) == used(16_MiB));
  const Answers list = answers(host, "array 4096 4096 0 128\narray 2048 2048 6 1\nused\nend_array 1\nused\n");
  CHECK(list == Answers{"0 0", "0 1", used(96_MiB), "0", used(0)});
}

TEST_CASE("small arrays share pages, and are charged by the page") {
  Host host;
  CHECK(answers(host, "array 128 128 0 0\nused\narray 128 128 0 0\nused\nend_array 0\nused\nend_array 1\nused\n") ==
        Answers{"0 0", used(2_MiB), "0 1", used(2_MiB), "0", used(2_MiB), "0", used(0)});
}

TEST_CASE("arrays leave the books with their context") {
  Host host;
  CHECK(answers(host, "array 2048 2048 0 0\narray 100 100 0 0\nreset\ndevice 0\nused\n").back() == used(0));
}

TEST_CASE(
    "where NVML tells nothing, arrays leave the books with their context and a destroyed pool's rest stays in them") {
  constexpr std::uint64_t kEstimate = 600_MiB;  // what a context is charged then
  const Options hidden{.env = {{"VGSIM_NVML", "hidden"}}};
  Host host;
  CHECK(answers(host, "array 2048 2048 0 0\nused\nreset\ndevice 0\nused\n", hidden) ==
        Answers{"0 0", std::to_string(kEstimate + 16_MiB), "0", "0 0", std::to_string(kEstimate)});
  CHECK(answers(host, "pool\nfrom 0 " + mib(100) + "\nend_pool 0\nused\n", hidden).back() ==
        std::to_string(kEstimate + 128_MiB));
}

TEST_CASE("a graph costs nothing until it is launched, and then until its memory is trimmed") {
  Host host;
  CHECK(
      answers(host, "graph 1 " + mib(64) +
                        " 1\nused\nlaunch 0\nused\nlaunch 0\nsynchronize\nend_graph 0\nused\ntrim_graphs 0\nused\n") ==
      Answers{"0 0", used(0), "0", used(64_MiB), "0", "0", "0", used(64_MiB), "0", used(0)});
}

TEST_CASE("a graph whose nodes share memory is admitted by what it needs, not by their sum") {
  Host host;
  CHECK(answers(host, "graph 30 " + mib(64) + " 1\nlaunch 0\nused\n") == Answers{"0 0", "0", used(64_MiB)});
  CHECK(answers(host, "graph 30 " + mib(64) + " 0\nlaunch 0\nused\n") == Answers{"0 0", "2", used(0)});
}

TEST_CASE("an allocation inside a capture becomes a node, and one that is not allowed there ruins it as without us") {
  Host host;
  CHECK(answers(host, "captured async " + mib(4000) + "\nused\ncaptured linear 1000\nused\n") ==
        Answers{"0 0 0 graph", used(0), "0 900 901 none", used(0)});
}

TEST_CASE("managed memory that does not fit is kept on the host, and nothing moves it to the device") {
  Host host;
  const Answers list = answers(host, "managed " + mib(1000) + "\nmanaged " + mib(1000) + "\nused\ntouch 1 " +
                                         mib(1000) + "\nprefetch 1 " + mib(1000) + " 0\nadvise 1 " + mib(1000) +
                                         " 3\ntouch 1 " + mib(1000) + "\ninfo\nfree 1\nfree 0\nused\n");
  CHECK(list == Answers{"0 0", "0 1", used(1000_MiB), "0", "0 0", "0 0", "0", "0 " + mib(528) + " " + mib(2048), "0",
                        "0", used(0)});
}

TEST_CASE("managed memory takes nothing of the device while it is kept on the host") {
  Host host;
  const auto process = host.start(program("kinds"), {}, {.budget = "1GiB"});
  process->write("init\ndevice 0\nlinear " + mib(504) + "\nmanaged " + mib(800) + "\ntouch 1 " + mib(800) +
                 "\nprefetch 1 " + mib(800) + " 0\n");
  for (int i = 0; i < 6; ++i) process->read_line();
  CHECK(host.used_bytes(0) == 1_GiB);
  process->finish();
  const Record kept = host.log().one("kept_on_host");
  CHECK(kept.number("request_bytes") == 800_MiB);
  CHECK(host.log().one("exit").number("refused") == 0);
}

TEST_CASE("managed memory can be refused instead, or not counted") {
  Host host;
  CHECK(answers(host, "managed " + mib(1000) + "\nmanaged " + mib(1000) + "\nused\n",
                {.env = {{"VRAMGUARD_MANAGED", "count"}}}) == Answers{"0 0", "2", used(1000_MiB)});
  CHECK(answers(host, "managed " + mib(1000) + "\nmanaged " + mib(1000) + "\nused\nfree 0\nfree 1\nused\n",
                {.env = {{"VRAMGUARD_MANAGED", "ignore"}}}) == Answers{"0 0", "0 1", used(0), "0", "0", used(0)});
}

TEST_CASE("pinned host memory has a budget of its own") {
  Host host;
  CHECK(answers(host, "pin " + mib(60) + "\npin " + mib(60) + "\nunpin 0\npin " + mib(60) + "\nused\n",
                {.env = {{"VRAMGUARD_HOST_PINNED", "100MiB"}}}) == Answers{"0 0", "2", "0", "0 1", used(0)});
  CHECK(answers(host, "pin " + mib(60) + "\npin " + mib(60) + "\n") == Answers{"0 0", "0 1"});
}

TEST_CASE("a stack limit is charged when it is set") {
  Host host({"16GiB"});
  CHECK(answers(host, "limit 0 8192\nused\n", {.budget = "4GiB"}) ==
        Answers{"0", used(8192 * 264_KiB - 1024 * 264_KiB)});
}

TEST_CASE("calls that name another device than the current one are charged there") {
  Host host({"8GiB", "8GiB"});
  const auto process = host.start(program("kinds"), {}, {.budget = "2GiB"});
  // The stream and the pool are of device 1, the current context of device 0.
  process->write("init\ndevice 1\ncurrent 0\nasync " + mib(100) + "\ncreate " + mib(64) + " 1 1\npool 1 1\nfrom 2 " +
                 mib(40) + "\nused\ncurrent 1\nused\nfree_async 0\nrelease 1\nfree_async 3\nsynchronize\nused\n");
  std::vector<std::string> lines;
  for (int i = 0; i < 15; ++i) lines.push_back(process->read_line());
  CHECK(lines.at(7) == "used " + used(0));
  CHECK(lines.at(9) == "used " + used(128_MiB + 64_MiB + 64_MiB));
  CHECK(lines.at(14) == "used " + used(0));
  process->finish();
}

TEST_CASE("a stream that ends is forgotten: the next one with its handle may be another device's") {
  Host host({"8GiB", "8GiB"});
  const Run run = host.run(
      program("kinds"), {},
      {.budget = "2GiB", .input = "init\ndevice 0\nasync 1000\nasync 1000\ncurrent 1\nstream\nasync 1000\nused\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.lines().at(5) == "stream 0 0 1");
  CHECK(run.lines().at(7) == "used " + used(32_MiB));
}

TEST_CASE("a stream's own device decides whether its allocation fits, not the current one") {
  Host host({"8GiB", "8GiB"});
  const Run run = host.run(program("kinds"), {},
                           {.budget = "2GiB",
                            .input = "init\ndevice 1\nlinear " + mib(1000) + "\ncurrent 0\nasync " + mib(1000) +
                                     "\nasync " + mib(400) + "\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.lines() ==
        std::vector<std::string>{"init 0", "device 0 0", "linear 0 0", "current 0", "async 2", "async 0 1"});
  CHECK(run.log.one("oom_returned")["dev"] == "1");
}
