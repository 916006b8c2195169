// What a program is given when a request does not fit, by policy, for a full budget and for a card that a neighbour
// has filled.
#include "tests/integration/short_memory.h"

using namespace vramguard::integration;

namespace {

// 2 GiB of budget, or a card of 2 GiB without one; 1,528 MiB beside the context.
struct Place {
  bool card;
  Options options(const std::string& policy, std::map<std::string, std::string> env = {}) const {
    env["VRAMGUARD_POLICY"] = policy;
    return {.budget = card ? "" : "2GiB", .env = std::move(env)};
  }
  std::vector<std::string> devices() const { return {card ? "2GiB" : "8GiB"}; }
  std::string scope() const { return card ? "device" : "budget"; }
};

const Place kPlaces[] = {{false}, {true}};
constexpr std::int64_t kAtOnceMs = 2000;  // of waits that would take ten times as long

}  // namespace

TEST_CASE("fail and retry-after-free return what does not fit at once, the latter after one more try") {
  for (const Place& place : kPlaces) {
    for (const std::string policy : {"fail", "retry-after-free"}) {
      CAPTURE(place.scope(), policy);
      Host host(place.devices());
      ShortMemory program(host, place.options(policy));
      CHECK(program.ask("linear 1000") == "0 0");
      CHECK(program.ask("linear 1000") == "2");
      CHECK(program.ask("free 0") == "0");
      CHECK(program.ask("linear 1000") == "0 1");
      program.finish();
      const Record returned = host.log().one("oom_returned");
      CHECK(returned["policy"] == policy);
      CHECK(returned["scope"] == place.scope());
      CHECK(returned.number("attempts") == (policy == "fail" ? 1 : 2));
      CHECK(host.log().one("oom_refused")["tid"] == returned["tid"]);
      CHECK(host.log().one("exit").number("refused") == 1);
    }
  }
}

TEST_CASE("what a pool keeps for nobody is given back before anything is refused, under any policy") {
  for (const Place& place : kPlaces) {
    Host host(place.devices());
    ShortMemory program(host, place.options("retry-after-free"));
    CHECK(program.ask("async 1000") == "0 0");
    CHECK(program.ask("free_async 0") == "0 0");
    CHECK(program.ask("create 1500") == "0 1");
    program.finish();
    CHECK(host.log().all("oom_refused").empty());
  }
}

TEST_CASE("wait-and-retry: a free by another thread serves the request") {
  Host host;
  ShortMemory program(host, Place{false}.options("wait-and-retry"));
  CHECK(program.ask("linear 1000") == "0 0");
  program.ask("free_later 0 200");
  CHECK(program.ask("linear 1200") == "0 1");
  program.finish();
  const Record recovered = host.log().one("oom_recovered");
  CHECK(recovered["by"] == "wait");
  CHECK(recovered.number("wait_ms") >= 100);
  CHECK(recovered.number("wait_ms") < 10'000);
  CHECK(host.log().one("exit").number("recovered") == 1);
  CHECK(host.log().all("oom_returned").empty());
}

TEST_CASE("wait-and-retry: a neighbour that ends serves the request, of a program with one thread too") {
  Host host({"2GiB"});
  ShortMemory program(host, Place{true}.options("wait-and-retry"));
  host.simctl({"neighbour", "0", "all"});
  program.tell("linear 1000");
  usleep(100'000);
  host.simctl({"neighbour", "0", "0"});
  CHECK(program.answer() == "0 0");
  program.finish();
  CHECK(host.log().one("oom_recovered")["by"] == "wait");
}

TEST_CASE("wait-and-retry: the timeout is kept, and requests for less and less share it") {
  for (const Place& place : kPlaces) {
    Host host(place.devices());
    ShortMemory program(host, place.options("wait-and-retry", {{"VRAMGUARD_OOM_WAIT_TIMEOUT", "400ms"}}));
    program.ask("idle");
    CHECK(program.ask("linear 1500") == "0 0");
    const Stopwatch first;
    CHECK(program.ask("linear 1000") == "2");
    CHECK(first.ms() >= 400);
    const Stopwatch rest;
    for (const std::string mib : {"900", "810", "729", "656"}) CHECK(program.ask("linear " + mib) == "2");
    CHECK(rest.ms() < 400);
    CHECK(program.ask("linear 20") == "0 1");
    program.finish();
    const auto returned = host.log().all("oom_returned");
    REQUIRE(returned.size() == 5);
    CHECK(returned[0]["reason"] == "wait_timeout");
    CHECK(returned[0].number("wait_ms") >= 400);
  }
}

TEST_CASE("wait-and-retry gives up at once where nobody can free, in a capture, and for more than the budget") {
  Host host;
  ShortMemory program(host, Place{false}.options("wait-and-retry"));
  CHECK(program.ask("linear 1500") == "0 0");
  const Stopwatch time;
  CHECK(program.ask("linear 1000") == "2");
  program.ask("idle");
  CHECK(program.ask("captured 1000") == "2");
  CHECK(program.ask("linear 4000") == "2");
  CHECK(time.ms() < kAtOnceMs);
  program.finish();
  CHECK(host.log().all("oom_returned").at(0)["reason"] == "nobody_can_free");
}

TEST_CASE("while a thread waits, another one forks, resets the device and ends the program as ever") {
  Host host;
  ShortMemory program(host, Place{false}.options("wait-and-retry"));
  CHECK(program.ask("linear 1500") == "0 0");
  program.ask("ask_alone 1000");
  const Stopwatch time;
  CHECK(program.ask("fork") == "0");
  CHECK(program.ask("linear 10") == "0 1");
  CHECK(program.ask("reset") == "0");
  program.ask("device 0");
  program.ask("ask_alone 4000");
  program.ask("linear 1400");
  program.ask("ask_alone 1400");
  const Run run = program.finish();
  CHECK(run.exit_status == 0);
  CHECK(time.ms() < kAtOnceMs * 2);
  CHECK(host.log().all("exit").size() == 1);
}

TEST_CASE("checkpoint-and-fail: the command runs to its end first, once, and is told what is short") {
  for (const Place& place : kPlaces) {
    Host host(place.devices());
    configure_host(host,
                   "oom_policy = \"checkpoint-and-fail\"\n[oom]\ncheckpoint = '''sleep 0.1; echo "
                   "$VRAMGUARD_HOOK_REQUESTED_BYTES $VRAMGUARD_HOOK_EVENT >> '" +
                       host.path("saved") + "'; echo saved'''\n");
    ShortMemory program(host, {.budget = place.card ? "" : "2GiB"});
    CHECK(program.ask("linear 1500") == "0 0");
    CHECK(program.ask("linear 1000") == "2");
    CHECK(vramguard::lines_of(host.path("saved")) == std::vector<std::string>{"1048576000 oom"});
    CHECK(program.ask("linear 900") == "2");
    program.finish();
    CHECK(vramguard::lines_of(host.path("saved")).size() == 1);
    const Record checkpoint = host.log().one("checkpoint");
    CHECK(checkpoint["outcome"] == "ok");
    CHECK(checkpoint.number("duration_ms") >= 100);
    CHECK(host.log().all("oom_returned").size() == 2);
  }
}

TEST_CASE("checkpoint-and-fail: a command that takes too long is ended, and a signal is not waited for") {
  Host host;
  configure_host(host,
                 "oom_policy = \"checkpoint-and-fail\"\n[oom]\ncheckpoint = \"sleep 60\"\n"
                 "checkpoint_timeout = \"300ms\"\n");
  {
    ShortMemory program(host, {.budget = "2GiB"});
    const Stopwatch time;
    CHECK(program.ask("linear 1500") == "0 0");
    CHECK(program.ask("linear 1000") == "2");
    CHECK(time.ms() >= 300);
    CHECK(time.ms() < 5000);
    program.finish();
    CHECK(host.log().one("checkpoint")["outcome"] == "timeout");
  }
  configure_host(host, "oom_policy = \"checkpoint-and-fail\"\n[oom]\ncheckpoint = \"signal:SIGUSR1\"\n");
  ShortMemory program(host, {.budget = "2GiB"});
  program.ask("handle 10");
  CHECK(program.ask("linear 1500") == "0 0");
  CHECK(program.ask("linear 1000") == "2");
  CHECK(program.ask("linear 1000") == "2");
  CHECK(program.ask("signals") == "1");
  program.finish();
  CHECK(host.log().all("checkpoint").at(1)["by"] == "signal");
}

TEST_CASE("spill: linear requests are served from host memory, take nothing of the device and are freed as ever") {
  for (const Place& place : kPlaces) {
    CAPTURE(place.scope());
    Host host(place.devices());
    ShortMemory program(host, place.options("spill", {{"VRAMGUARD_OOM_SPILL_LIMIT", "1100MiB"}}));
    CHECK(program.ask("linear 1500") == "0 0");
    const std::uint64_t used = host.used_bytes(0);
    CHECK(program.ask("linear 1000") == "0 1");
    CHECK(program.ask("pitch 1000000 100") == "0 2 1000448");
    CHECK(program.ask("set 1 8") == "0");
    CHECK(host.used_bytes(0) == used);
    CHECK(program.ask("linear 100") == "2");  // the limit
    CHECK(program.ask("create 100") == "2");  // these cannot be
    CHECK(program.ask("async 100") == "2");
    CHECK(program.ask("free 1") == "0");
    CHECK(program.ask("linear 100") == "0 3");
    CHECK(host.used_bytes(0) == used);
    CHECK(program.ask("free 0") == "0");
    CHECK(program.ask("linear 1000") == "0 4");  // there is room on the device again
    CHECK(host.used_bytes(0) == used - 500_MiB);
    program.finish();
    const auto recovered = host.log().all("oom_recovered");
    REQUIRE(recovered.size() == 3);
    CHECK(recovered[0]["by"] == "spill");
    CHECK(recovered[0].number("spilled_bytes") == 1000_MiB);
    CHECK(host.log().all("oom_returned").at(0)["reason"] == "spill_limit");
  }
}

TEST_CASE("an allocator that flushes its cache and asks again at 98 % of the budget is no OOM and costs no hook") {
  Host host;
  configure_host(host, "[[hook]]\nname = \"never\"\non = \"oom\"\nshell = \"true\"\n");
  const std::string library = host.write_file("libc10_cuda.so", "x");
  ShortMemory program(host, {.budget = "2GiB"});
  program.ask("map " + library);
  CHECK(program.ask("linear 1000") == "0 0");
  CHECK(program.ask("linear 480") == "0 1");
  for (int i = 1; i <= 3; ++i) {
    CHECK(program.ask("linear 490") == "2");
    CHECK(program.ask("free " + std::to_string(i)) == "0");
    CHECK(program.ask("linear 490") == "0 " + std::to_string(i + 1));
  }
  program.finish();
  const Log log = host.log();
  CHECK(log.all("oom_refused").size() == 3);
  CHECK(log.all("oom_refused").at(0)["deferred"] == "1");
  CHECK(log.all("oom_returned").empty());
  CHECK(log.all("hook_start").empty());
  for (const Record& record : log.all("pressure")) CHECK(record["to"] != "critical");
}

TEST_CASE("a first refusal is deferred where such an allocator is loaded, always, or never") {
  struct Case {
    std::string file, defer;
    bool deferred;
  };
  for (const Case& test : {Case{"libc10_cuda.so", "auto", true}, Case{"libother.so", "auto", false},
                           Case{"libc10_cuda.so", "never", false}, Case{"libother.so", "always", true}}) {
    CAPTURE(test.file, test.defer);
    Host host;
    const std::string library = host.write_file(test.file, "x");
    ShortMemory program(host, {.budget = "2GiB", .env = {{"VRAMGUARD_OOM_DEFER_FIRST_REFUSAL", test.defer}}});
    program.ask("map " + library);
    CHECK(program.ask("linear 1600") == "2");
    CHECK(program.ask("linear 1600") == "2");
    program.finish();
    REQUIRE(host.log().all("oom_refused").size() == 2);
    CHECK(host.log().all("oom_refused").at(0).has("deferred") == test.deferred);
    CHECK_FALSE(host.log().all("oom_refused").at(1).has("deferred"));
    CHECK(host.log().all("oom_returned").size() == (test.deferred ? 1 : 2));
  }
}

TEST_CASE("an allocator that asks for less and less is not kept waiting while a smaller request fits") {
  Host host;
  const std::string library = host.write_file("xla_cuda_plugin.so", "x");
  ShortMemory program(host, Place{false}.options("wait-and-retry"));
  program.ask("map " + library);
  program.ask("idle");
  CHECK(program.ask("linear 1000") == "0 0");
  const Stopwatch time;
  for (const std::string mib : {"1000", "900", "810", "729", "656", "590", "531"}) {
    CHECK(program.ask("linear " + mib) == "2");
  }
  CHECK(program.ask("linear 478") == "0 1");
  CHECK(time.ms() < kAtOnceMs);
  program.finish();
  CHECK(host.log().all("oom_returned").empty());
}

TEST_CASE("leave_free keeps the card's last bytes from the program, and says so") {
  Host host({"4GiB"});
  ShortMemory program(host, {.env = {{"VRAMGUARD_LEAVE_FREE", "1GiB"}}});
  CHECK(program.ask("linear 2552") == "0 0");  // beside the context: to the page
  CHECK(program.ask("linear 2") == "2");
  CHECK(host.used_bytes(0) == 3_GiB);
  CHECK(program.ask("free 0") == "0");
  host.simctl({"neighbour", "0", "2GiB"});
  usleep(600'000);  // neighbours are seen by polling
  CHECK(program.ask("linear 504") == "0 1");
  CHECK(program.ask("linear 2") == "2");
  host.simctl({"neighbour", "0", "0"});
  CHECK(program.ask("linear 1000") == "0 2");
  program.finish();
  for (const Record& record : host.log().all("oom_returned")) CHECK(record["scope"] == "leave_free");
  CHECK(host.log().all("oom_returned").size() == 2);
}
