// Hooks inside a refused call.
#include "core/hook_runner.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <thread>

#include "tests/support/temporary_folder.h"
#include "tests/unit/hook_fixture.h"

namespace vramguard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

AddressRange range(Bytes bytes) { return {0x7fc000000000, bytes}; }

void take(Ledger& books, Bytes bytes) {
  auto reservation = books.reserve_linear(bytes);
  REQUIRE(reservation);
  REQUIRE(books.settle(*reservation, range(bytes)));
}

TEST_CASE("the exit status of an oom hook says what comes next", "[hook]") {
  RunnerFixture fixture;
  CHECK(fixture.run(fixture.shell("exit 0")) == HookOutcome::Ok);
  CHECK(fixture.run(fixture.shell("exit 75")) == HookOutcome::Background);
  CHECK(fixture.run(fixture.shell("exit 1")) == HookOutcome::Failed);
  CHECK(fixture.run(fixture.shell("kill -9 $$")) == HookOutcome::Signaled);
  const auto ends = fixture.host.posted("hook_end");
  REQUIRE(ends.size() == 4);
  CHECK(contains(ends[0], " outcome=ok code=0 "));
  CHECK(contains(ends[1], " outcome=background code=75 "));
  CHECK(contains(ends[2], " outcome=failed code=1 "));
  CHECK(contains(ends[3], " outcome=signaled code=9 "));
  CHECK(fixture.host.posted("hook_start").size() == 4);
}

TEST_CASE("a hook that is missing or not executable is a failure that says why", "[hook]") {
  RunnerFixture fixture;
  for (const auto& [file, error] : {std::pair{"/no/such/hook", ENOENT}, std::pair{"/etc/passwd", EACCES}}) {
    HookConfig config;
    config.on = HookEvent::Oom;
    config.argv = {file};
    const auto hook = fixture.hook(config);
    CHECK(fixture.run(hook) == HookOutcome::CannotStart);
    CHECK(contains(fixture.host.posted("hook_end").back(), " outcome=cannot_start code=" + std::to_string(error)));
    CHECK(hook->gate.failures() == 1);
    CHECK_FALSE(hook->gate.running());
  }
}

TEST_CASE("a hook is told by its environment, and what it says is in the log", "[hook]") {
  RunnerFixture fixture;
  const auto hook =
      fixture.shell("echo $VRAMGUARD_HOOK_EVENT $VRAMGUARD_HOOK_RUN $VRAMGUARD_HOOK_LOG $VRAMGUARD_HOOK_SEQ");
  fixture.run(hook);
  fixture.run(fixture.shell("true"));
  fixture.run(hook);
  const auto ends = fixture.host.posted("hook_end");
  CHECK(contains(ends.at(0), "output=oom 1 /var/log/p.log 1\n"));
  CHECK(contains(ends.at(2), "output=oom 2 /var/log/p.log 3\n"));
  CHECK(contains(ends.at(2), " run=2 "));
  CHECK(contains(fixture.host.posted("hook_start").at(0), " reason=oom level=high timeout_ms=10000"));
}

TEST_CASE("a hook gets no more time than its request has left", "[hook]") {
  RunnerFixture fixture;
  fixture.run(fixture.shell("true"), milliseconds(3000));
  const std::string start = fixture.host.posted("hook_start").back();
  CHECK(std::stoi(start.substr(start.rfind('=') + 1)) <= 3000);
  CHECK(std::stoi(start.substr(start.rfind('=') + 1)) > 1000);
}

TEST_CASE("a hook that hangs holds its request up to the deadline, is ended, and then may run again", "[hook]") {
  RunnerFixture fixture;
  const auto hook = fixture.shell("exec sleep 1000");
  const auto began = std::chrono::steady_clock::now();
  CHECK(fixture.run(hook, milliseconds(100)) == HookOutcome::TimedOut);
  CHECK(std::chrono::steady_clock::now() - began < seconds(2));
  CHECK(fixture.wakes > 0);
  REQUIRE(fixture.work_until_ended(1));
  CHECK(contains(fixture.host.posted("hook_end").back(), " outcome=timeout code=15 "));
  CHECK_FALSE(hook->gate.running());
}

TEST_CASE("a hook that its request has left behind is not started again before it has ended", "[hook]") {
  RunnerFixture fixture;
  const auto hook = fixture.shell("trap '' TERM; while :; do sleep 1; done");
  REQUIRE(fixture.run(hook, milliseconds(50)) == HookOutcome::TimedOut);
  CHECK(fixture.run(hook) == std::nullopt);
  CHECK(fixture.host.posted("hook_skip") == std::vector<std::string>{"hook_skip hook=h reason=running"});
  const auto began = std::chrono::steady_clock::now();
  REQUIRE(fixture.work_until_ended(1));  // it is deaf: killed 2 s after it was asked to end
  CHECK(std::chrono::steady_clock::now() - began < seconds(5));
  CHECK(contains(fixture.host.posted("hook_end").back(), " outcome=timeout code=9 "));
}

TEST_CASE("what a hook freed is measured, whatever it says that it frees", "[hook]") {
  RunnerFixture fixture;
  take(fixture.host.books(), 1_GiB);
  HookConfig config;
  config.on = HookEvent::Oom;
  config.estimated_free = 3_GiB;
  CHECK(fixture.run(fixture.hook(config, [](const HookFacts&) { return 3_GiB; })) == HookOutcome::Ok);
  CHECK(contains(fixture.host.posted("hook_end").back(), " freed_bytes=0 estimated_bytes=3221225472"));
  CHECK(fixture.run(fixture.hook(config, [&](const HookFacts&) {
    fixture.host.books().release(range(1_GiB));
    return Bytes{0};
  })) == HookOutcome::Ok);
  CHECK(contains(fixture.host.posted("hook_end").back(), " freed_bytes=1073741824 "));
}

TEST_CASE("where the card is short it is the card that is measured, and nothing is said where nobody knows", "[hook]") {
  RunnerFixture fixture;
  HookConfig config;
  config.on = HookEvent::Oom;
  HookFacts facts = fixture.facts();
  facts.scope = to_string(RefusalScope::Device);
  fixture.host.card = 1_GiB;
  const auto frees = fixture.hook(config, [&](const HookFacts&) {
    fixture.host.card = 3_GiB;
    return Bytes{0};
  });
  fixture.runner.run_now(frees, fixture.host, facts, fixture.in(seconds(9)));
  CHECK(contains(fixture.host.posted("hook_end").back(), " freed_bytes=2147483648"));
  fixture.host.card.reset();
  fixture.runner.run_now(frees, fixture.host, facts, fixture.in(seconds(9)));
  CHECK_FALSE(contains(fixture.host.posted("hook_end").back(), "freed_bytes"));
}

TEST_CASE("a callback that throws has failed, and nothing leaves it", "[hook]") {
  RunnerFixture fixture;
  HookConfig config;
  config.on = HookEvent::Oom;
  CHECK(fixture.run(fixture.hook(config, [](const HookFacts&) -> Bytes { throw 7; })) == HookOutcome::Failed);
  CHECK_FALSE(fixture.runner.inside_hook());
}

TEST_CASE("inside a hook no hook runs or is wished for", "[hook]") {
  RunnerFixture fixture;
  HookConfig config;
  config.on = HookEvent::Oom;
  const auto inner = fixture.shell("true");
  bool inside = false, other_thread_inside = true;
  fixture.run(fixture.hook(config, [&](const HookFacts&) {
    inside = fixture.runner.inside_hook();
    std::thread([&] { other_thread_inside = fixture.runner.inside_hook(); }).join();
    CHECK(fixture.run(inner) == std::nullopt);
    fixture.wish(inner);
    return Bytes{0};
  }));
  CHECK(inside);
  CHECK_FALSE(other_thread_inside);
  CHECK(fixture.host.posted("hook_skip") == std::vector<std::string>(2, "hook_skip hook=h reason=inside_hook"));
  fixture.runner.work(fixture.clock.now());
  CHECK(inner->gate.runs() == 0);
  CHECK(fixture.run(inner) == HookOutcome::Ok);
}

TEST_CASE("every hook that is not run is a record with the reason", "[hook]") {
  RunnerFixture fixture;
  HookConfig config;
  config.on = HookEvent::Oom;
  config.overhead = 5_GiB;
  const auto hook = fixture.hook(config, [](const HookFacts&) { return Bytes{0}; });
  CHECK(fixture.run(hook) == std::nullopt);
  CHECK(fixture.host.posted("hook_skip").back() ==
        "hook_skip hook=h reason=overhead overhead_bytes=5368709120 headroom_bytes=4294967296");
  fixture.runner.enable(false);
  CHECK(fixture.run(hook) == std::nullopt);
  CHECK(fixture.host.posted("hook_skip").back() == "hook_skip hook=h reason=disabled");
  CHECK(hook->gate.runs() == 0);
}

TEST_CASE("a hook that needs memory is skipped where the card has less free than the budget", "[hook]") {
  RunnerFixture fixture;
  HookConfig config;
  config.on = HookEvent::Oom;
  config.overhead = 1_GiB;
  HookFacts facts = fixture.facts();
  facts.card_free = 1_GiB - 1;
  const auto hook = fixture.hook(config, [](const HookFacts&) { return Bytes{0}; });
  CHECK(fixture.runner.run_now(hook, fixture.host, facts, fixture.in(seconds(9))) == std::nullopt);
  CHECK(contains(fixture.host.posted("hook_skip").back(), " headroom_bytes=1073741823"));
}

TEST_CASE("a signal that nobody handles is not sent, and the log says so", "[hook]") {
  RunnerFixture fixture;
  HookConfig config;
  config.on = HookEvent::Oom;
  config.signal = SignalAction{SIGUSR2, SignalTarget::Self, true};
  const auto hook = fixture.hook(config);
  CHECK(fixture.run(hook) == HookOutcome::NotSent);
  CHECK(contains(fixture.host.posted("hook_end").back(), " outcome=not_sent code=12 "));
  CHECK(contains(fixture.host.posted("hook_end").back(), " reason=no_handler"));
  CHECK(hook->gate.failures() == 1);
}

TEST_CASE("a signal carries the level", "[hook]") {
  static volatile sig_atomic_t value;
  value = -1;
  struct sigaction action {
  }, before{};
  action.sa_sigaction = [](int, siginfo_t* info, void*) { value = info->si_value.sival_int; };
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR2, &action, &before);
  RunnerFixture fixture;
  HookConfig config;
  config.on = HookEvent::Oom;
  config.signal = SignalAction{SIGUSR2, SignalTarget::Self, true};
  CHECK(fixture.run(fixture.hook(config)) == HookOutcome::Sent);
  CHECK(happens([] { return value != -1; }));
  CHECK(value == static_cast<int>(PressureLevel::High));
  sigaction(SIGUSR2, &before, nullptr);
}

}  // namespace
}  // namespace vramguard
