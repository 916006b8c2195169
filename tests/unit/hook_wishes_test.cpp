// Hooks that are wished for, on the guard's thread.
#include "core/hook_runner.h"

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"
#include "tests/unit/hook_fixture.h"

namespace vramguard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("hooks that are wished for run one after another, in the order of the wishes", "[hook]") {
  RunnerFixture fixture;
  TemporaryFolder folder;
  const std::string file = folder.path() + "/order";
  std::vector<std::shared_ptr<Hook>> hooks;
  for (const char* name : {"a", "b", "c"}) {
    HookConfig config;
    config.name = name;
    config.argv = {"/bin/sh", "-c", std::string("echo +") + name + " >>" + file + "; echo -" + name + " >>" + file};
    hooks.push_back(fixture.hook(config));
    fixture.wish(hooks.back());
  }
  REQUIRE(fixture.work_until_ended(3));
  CHECK(content_of(file) == "+a\n-a\n+b\n-b\n+c\n-c\n");
}

TEST_CASE("of a hook that still runs one wish is kept, the one of the highest level", "[hook]") {
  RunnerFixture fixture;
  TemporaryFolder folder;
  HookConfig config;
  config.cooldown = milliseconds(0);
  config.argv = {"/bin/sh", "-c",
                 "echo $VRAMGUARD_HOOK_LEVEL; while ! [ -e " + folder.path() + "/go ]; do sleep 0.01; done"};
  const auto hook = fixture.hook(config);
  fixture.wish(hook, PressureLevel::Low);
  fixture.runner.work(fixture.clock.now());
  REQUIRE(hook->gate.running());
  for (const PressureLevel level : {PressureLevel::Medium, PressureLevel::Critical, PressureLevel::High}) {
    fixture.wish(hook, level);
    fixture.runner.work(fixture.clock.now());
  }
  CHECK(hook->gate.runs() == 1);
  std::ofstream(folder.path() + "/go") << "";
  REQUIRE(fixture.work_until_ended(2));
  fixture.runner.work(fixture.clock.now());
  CHECK(hook->gate.runs() == 2);
  CHECK(contains(fixture.host.posted("hook_end").at(0), "output=low"));
  CHECK(contains(fixture.host.posted("hook_end").at(1), "output=critical"));
  CHECK(fixture.host.posted("hook_skip").empty());
}

TEST_CASE("a wish for another device is not lost behind the first", "[hook]") {
  RunnerFixture fixture;
  FakeHost second(1);
  HookConfig config;
  config.cooldown = milliseconds(0);
  config.argv = {"/bin/sh", "-c", "echo $VRAMGUARD_HOOK_DEVICE"};
  const auto hook = fixture.hook(config);
  fixture.wish(hook);
  fixture.wish(hook, PressureLevel::High, &second);
  REQUIRE(fixture.work_until_ended(1, &second));
  CHECK(contains(fixture.host.posted("hook_end").at(0), "output=0"));
  CHECK(contains(second.posted("hook_end").at(0), "output=1"));
}

TEST_CASE("a hook of the guard's thread never waits for what the card says", "[hook]") {
  RunnerFixture fixture;
  const auto hook = fixture.shell("true", HookEvent::OomReturned);
  HookFacts facts = fixture.facts(HookEvent::OomReturned);
  facts.scope = "device";
  fixture.runner.wish(hook, fixture.host, facts);
  REQUIRE(fixture.work_until_ended(1));
  CHECK(fixture.host.questions == 0);
}

TEST_CASE("a hook that hangs on the guard's thread is ended by its own timeout, and others go on", "[hook]") {
  RunnerFixture fixture;
  HookConfig config;
  config.name = "hangs";
  config.timeout = milliseconds(100);
  config.argv = {"/bin/sleep", "1000"};
  fixture.wish(fixture.hook(config));
  fixture.wish(fixture.shell("true", HookEvent::Pressure));
  const auto began = std::chrono::steady_clock::now();
  REQUIRE(fixture.work_until_ended(2));
  CHECK(std::chrono::steady_clock::now() - began < seconds(3));
  CHECK(contains(fixture.host.posted("hook_end").at(0), "hook=hangs run=1 outcome=timeout code=15 "));
  CHECK(contains(fixture.host.posted("hook_end").at(1), "hook=h run=1 outcome=ok "));
}

TEST_CASE("nobody needs to call again when nothing runs", "[hook]") {
  RunnerFixture fixture;
  CHECK(fixture.runner.work(fixture.clock.now()) == MonotonicTime::max());
  fixture.wish(fixture.shell("true", HookEvent::Pressure));
  CHECK(fixture.wakes == 1);
  REQUIRE(fixture.work_until_ended(1));
  CHECK(fixture.runner.work(fixture.clock.now()) == MonotonicTime::max());
}

TEST_CASE("a callback that is wished for runs on the guard's thread", "[hook]") {
  RunnerFixture fixture;
  HookConfig config;
  config.on = HookEvent::Budget;
  int calls = 0;
  const auto hook = fixture.hook(config, [&](const HookFacts& facts) {
    CHECK(facts.event == HookEvent::Budget);
    ++calls;
    return Bytes{0};
  });
  fixture.wish(hook);
  CHECK(calls == 0);
  fixture.runner.work(fixture.clock.now());
  CHECK(calls == 1);
}

}  // namespace
}  // namespace vramguard
