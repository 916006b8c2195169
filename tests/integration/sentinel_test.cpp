// Memory held so that neighbours cannot take it: what the card, the program and NVML see of it.
#include "tests/integration/short_memory.h"

using namespace vramguard::integration;

namespace {

Options with_sentinel(const std::string& sentinel, const std::string& budget = "2GiB",
                      std::map<std::string, std::string> env = {}) {
  env["VRAMGUARD_SENTINEL"] = sentinel;
  return {.budget = budget, .env = std::move(env)};
}

// Until the card's use is that; it follows within a second or so.
bool reaches(Host& host, int gpu, std::uint64_t bytes) {
  for (const Stopwatch time; time.ms() < 10'000; usleep(20'000)) {
    if (host.used_bytes(gpu) == bytes) return true;
  }
  CHECK(host.used_bytes(gpu) == bytes);
  return false;
}

}  // namespace

TEST_CASE("an emergency sentinel is there before any context, is not seen as use, and serves what is short") {
  Host host;
  ShortMemory program(host, with_sentinel("200MiB"), ShortMemory::Begin::WithoutContext);
  CHECK(program.ask("init") == "0");
  CHECK(host.used_bytes(0) == 200_MiB);
  program.ask("device 0");
  CHECK(program.ask("info") == "0 1528 2048");
  CHECK(program.ask("books") == "520 720");
  CHECK(program.ask("linear 1328") == "0 0");
  CHECK(host.used_bytes(0) == 2_GiB);
  CHECK(program.ask("linear 300") == "2");  // it would not be enough
  CHECK(host.used_bytes(0) == 2_GiB);
  CHECK(program.ask("linear 100") == "0 1");
  CHECK(program.ask("books") == "1948 2012");
  CHECK(program.ask("linear 100") == "0 2");
  CHECK(host.used_bytes(0) == 2_GiB);
  CHECK(program.ask("info") == "0 0 2048");
  CHECK(program.ask("linear 2") == "2");
  program.finish();
  const Log log = host.log();
  CHECK(log.one("device").number("budget_bytes") == 2_GiB);
  CHECK(log.all("sentinel").at(0)["state"] == "placed");
  CHECK(log.all("oom_recovered").size() == 2);
  CHECK(log.all("oom_recovered").at(0)["by"] == "sentinel");
  CHECK(log.all("oom_returned").size() == 2);
}

TEST_CASE("a sentinel of all holds the budget against neighbours, and the program has all of it") {
  for (const std::string card : {"2GiB", "8GiB"}) {
    CAPTURE(card);
    Host host({card});
    ShortMemory program(host, with_sentinel("all"), ShortMemory::Begin::WithoutContext);
    CHECK(program.ask("init") == "0");
    CHECK(host.used_bytes(0) == 2_GiB);
    program.ask("device 0");  // on a card of 2 GiB there is no room for a context but by the sentinel's
    CHECK(host.used_bytes(0) <= 2_GiB);
    CHECK(program.ask("info") == "0 1528 2048");
    CHECK(reaches(host, 0, 2_GiB));
    for (int i = 0; i < 4; ++i) {
      CHECK(program.ask("linear 300") == "0 " + std::to_string(i));
      CHECK(host.used_bytes(0) <= 2_GiB);
      CHECK(program.ask("info") == "0 " + std::to_string(1528 - 300 * (i + 1)) + " 2048");
    }
    CHECK(program.ask("free 1") == "0");
    CHECK(program.ask("info") == "0 628 2048");
    CHECK(reaches(host, 0, 2_GiB));
    CHECK(program.ask("async 600") == "0 4");
    CHECK(host.used_bytes(0) <= 2_GiB);
    program.finish();
    CHECK(host.used_bytes(0) == 0);
    CHECK(host.log().all("oom_refused").empty());
    CHECK(host.log().one("exit").number("refused") == 0);
  }
}

TEST_CASE("contexts that come and go, a reset and a fork leave a sentinel within the budget and the books right") {
  for (const std::string sentinel : {"512MiB", "all"}) {
    CAPTURE(sentinel);
    Host host;
    ShortMemory program(host, with_sentinel(sentinel));
    CHECK(program.ask("context") == "0");
    CHECK(host.used_bytes(0) <= 2_GiB);
    CHECK(program.ask("info") == "0 1008 2048");
    CHECK(program.ask("context") == "0");
    CHECK(host.used_bytes(0) <= 2_GiB);
    CHECK(program.ask("info") == "0 488 2048");
    CHECK(program.ask("reset") == "0");
    CHECK(program.ask("info") == "0 1008 2048");
    CHECK(program.ask("fork") == "0");
    CHECK(program.ask("linear 1008") == "0 0");
    CHECK(host.used_bytes(0) == 2_GiB);
    CHECK(program.ask("info") == "0 0 2048");
    const Run run = program.finish();
    CHECK(run.exit_status == 0);
    CHECK(run.err.empty());
    CHECK(host.log().all("exit").size() == 1);
  }
}

TEST_CASE("where a required sentinel cannot be placed cuInit says so each time, until there is room for it") {
  Host host({"2GiB"});
  host.simctl({"neighbour", "0", "1900MiB"});
  ShortMemory program(host, with_sentinel("512MiB", "1GiB", {{"VRAMGUARD_SENTINEL_REQUIRED", "true"}}),
                      ShortMemory::Begin::WithoutContext);
  CHECK(program.ask("init") == "2");
  CHECK(program.ask("init") == "2");
  host.simctl({"neighbour", "0", "0"});
  const Stopwatch time;
  std::string answer;
  while ((answer = program.ask("init")) == "2" && time.ms() < 10'000) usleep(50'000);
  CHECK(answer == "0");
  const Run run = program.finish();
  CHECK(run.err.find("the sentinel of device 0 cannot be placed, and sentinel_required is set; free") !=
        std::string::npos);
  const auto records = host.log().all("sentinel");
  REQUIRE(records.size() == 2);
  CHECK(records[0]["state"] == "missing");
  CHECK(records[1]["state"] == "retaken");
}

TEST_CASE("with several devices a required sentinel that cannot be placed fails the contexts of its device alone") {
  Host host({"4GiB", "4GiB"});
  host.simctl({"neighbour", "1", "3800MiB"});
  ShortMemory program(host, with_sentinel("512MiB", "2GiB", {{"VRAMGUARD_SENTINEL_REQUIRED", "true"}}),
                      ShortMemory::Begin::WithoutContext);
  CHECK(program.ask("init") == "0");
  CHECK(program.ask("context 1") == "2");
  CHECK(program.ask("retain 1") == "2");
  CHECK(program.ask("retain 0") == "0");
  CHECK(program.ask("context 0") == "0");
  CHECK(host.used_bytes(0) == 2 * kContextBytes + 512_MiB);
  host.simctl({"neighbour", "1", "0"});
  const Stopwatch time;
  std::string answer;
  while ((answer = program.ask("retain 1")) == "2" && time.ms() < 10'000) usleep(50'000);
  CHECK(answer == "0");
  CHECK(host.used_bytes(1) == kContextBytes + 512_MiB);
  const Run run = program.finish();
  CHECK(run.err ==
        "vramguard: error: the sentinel of device 1 cannot be placed, and sentinel_required is set; free memory on the "
        "card, or lower 'sentinel'\n");
  std::vector<std::string> states;
  for (const Record& record : host.log().all("sentinel")) states.push_back(record["dev"] + " " + record["state"]);
  CHECK(states == std::vector<std::string>{"1 missing", "0 placed", "1 retaken"});
}

TEST_CASE("one that is not required is missed once, and the program runs") {
  Host host({"2GiB"});
  host.simctl({"neighbour", "0", "1200MiB"});
  ShortMemory program(host, with_sentinel("1GiB"), ShortMemory::Begin::WithoutContext);
  CHECK(program.ask("init") == "0");
  CHECK(host.used_bytes(0) == 2_GiB - 16_MiB);  // what there was, in chunks of 64 MiB
  program.ask("device 0");                      // a context takes its place
  CHECK(program.ask("linear 10") == "0 0");
  program.finish();
  REQUIRE(host.log().all("sentinel").size() == 2);
  CHECK(host.log().all("sentinel").at(0)["state"] == "missing");
  CHECK(host.log().all("sentinel").at(1)["state"] == "released");
}

TEST_CASE("with several devices a sentinel is held where the program has a context, and only there") {
  Host host({"4GiB", "4GiB"});
  ShortMemory program(host, with_sentinel("256MiB"), ShortMemory::Begin::WithoutContext);
  CHECK(program.ask("init") == "0");
  CHECK(host.used_bytes(0) + host.used_bytes(1) == 0);
  program.ask("device 1");
  CHECK(host.used_bytes(0) == 0);
  CHECK(host.used_bytes(1) == kContextBytes + 256_MiB);
  program.ask("device 0");
  CHECK(host.used_bytes(0) == kContextBytes + 256_MiB);
  program.finish();
  CHECK(host.log().all("sentinel").size() == 2);
}
