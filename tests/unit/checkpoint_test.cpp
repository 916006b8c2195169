#include "core/checkpoint.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <thread>

#include "tests/unit/hook_fixture.h"

namespace vramguard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Fixture {
  void run() {
    HookFacts facts;
    facts.event = HookEvent::Oom;
    facts.device = &host.identity();
    facts.requested = 77;
    checkpoint.run(host, facts);
  }
  std::vector<std::string> records() { return host.posted("checkpoint"); }

  OomConfig config;
  FakeHost host;
  Clock clock;
  Checkpoint checkpoint{config, "/var/log/p.log", clock};
};

TEST_CASE("a checkpoint's command runs to its end, is told of the request, and runs once", "[checkpoint]") {
  Fixture fixture;
  fixture.config.checkpoint = {"/bin/sh", "-c", "echo $VRAMGUARD_HOOK_NAME $VRAMGUARD_HOOK_REQUESTED_BYTES; exit 3"};
  fixture.run();
  fixture.run();
  REQUIRE(fixture.records().size() == 1);
  CHECK(contains(fixture.records()[0], "by=command outcome=failed code=3 "));
  CHECK(contains(fixture.records()[0], "output=checkpoint 77"));
}

TEST_CASE("without a checkpoint there is nothing to run, and the one chance is not used up", "[checkpoint]") {
  Fixture fixture;
  fixture.run();
  CHECK(fixture.records().empty());
  fixture.config.checkpoint = {"/bin/true"};
  fixture.run();
  REQUIRE(fixture.records().size() == 1);
  CHECK(contains(fixture.records()[0], "by=command outcome=ok code=0 "));
}

TEST_CASE("a checkpoint that hangs is ended at its timeout", "[checkpoint]") {
  Fixture fixture;
  fixture.config.checkpoint = {"/bin/sleep", "1000"};
  fixture.config.checkpoint_timeout = milliseconds(100);
  const auto began = std::chrono::steady_clock::now();
  fixture.run();
  CHECK(std::chrono::steady_clock::now() - began < seconds(3));
  CHECK(contains(fixture.records().at(0), "by=command outcome=timeout code=15 "));
}

TEST_CASE("a checkpoint that cannot start says why", "[checkpoint]") {
  Fixture fixture;
  fixture.config.checkpoint = {"/no/such/file"};
  fixture.run();
  CHECK(contains(fixture.records().at(0), "by=command outcome=failed code=2 "));
}

TEST_CASE("what the program offers goes before what is configured, and may throw", "[checkpoint]") {
  Fixture fixture;
  fixture.config.checkpoint = {"/bin/true"};
  Bytes requested = 0;
  fixture.checkpoint.set_callback([&](const HookFacts& facts) {
    requested = facts.requested;
    fixture.run();  // a request that is refused inside
    throw 7;
  });
  fixture.run();
  CHECK(requested == 77);
  REQUIRE(fixture.records().size() == 1);
  CHECK(contains(fixture.records()[0], "by=callback outcome=failed code=0 "));
}

TEST_CASE("a callback that is taken away leaves what is configured", "[checkpoint]") {
  Fixture fixture;
  fixture.config.checkpoint = {"/bin/true"};
  fixture.checkpoint.set_callback([](const HookFacts&) {});
  fixture.checkpoint.set_callback(nullptr);
  fixture.run();
  CHECK(contains(fixture.records().at(0), "by=command outcome=ok "));
}

TEST_CASE("a checkpoint's signal is sent and not waited for, or not sent where nobody handles it", "[checkpoint]") {
  static volatile sig_atomic_t value;
  value = -1;
  for (const bool handled : {false, true}) {
    struct sigaction action {
    }, before{};
    action.sa_sigaction = [](int, siginfo_t* info, void*) { value = info->si_value.sival_int; };
    action.sa_flags = SA_SIGINFO;
    if (handled) sigaction(SIGUSR2, &action, &before);
    Fixture fixture;
    fixture.config.checkpoint_signal = SignalAction{SIGUSR2, SignalTarget::Self, true};
    fixture.run();
    REQUIRE(fixture.records().size() == 1);
    if (handled) {
      CHECK(contains(fixture.records()[0], "by=signal outcome=sent code=12 "));
      CHECK(happens([] { return value == static_cast<int>(PressureLevel::Critical); }));
      sigaction(SIGUSR2, &before, nullptr);
    } else {
      CHECK(contains(fixture.records()[0], "by=signal outcome=not_sent code=12 "));
      CHECK(contains(fixture.records()[0], " reason=no_handler"));
      CHECK(value == -1);
    }
  }
}

TEST_CASE("of threads that are refused together one runs the checkpoint, and none waits for it", "[checkpoint]") {
  Fixture fixture;
  std::atomic<int> inside{0}, returned{0};
  std::atomic<bool> go_on{false};
  fixture.checkpoint.set_callback([&](const HookFacts&) {
    ++inside;
    while (!go_on) std::this_thread::yield();
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      fixture.run();
      ++returned;
    });
  CHECK(happens([&] { return inside == 1 && returned == 3; }));
  go_on = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(inside == 1);
  CHECK(fixture.records().size() == 1);
}

}  // namespace
}  // namespace vramguard
