#include "core/hook.h"

#include <catch2/catch.hpp>

namespace vramguard {
namespace {

HookConfig oom_hook(const std::string& name, std::int64_t priority = 0, Bytes estimated = 0) {
  HookConfig hook;
  hook.name = name;
  hook.on = HookEvent::Oom;
  hook.priority = priority;
  hook.estimated_free = estimated;
  return hook;
}

std::string names(const HookList::Hooks& hooks) {
  std::string out;
  for (const auto& hook : hooks) out += hook->config.name;
  return out;
}

TEST_CASE("hooks come by priority, then by what they are said to free, then as they were defined", "[hook]") {
  HookList list;
  list.add(oom_hook("f", 1));
  list.add(oom_hook("c", 0));
  list.add(oom_hook("b", 0, 1_GiB));
  list.add(oom_hook("a", -7));
  list.add(oom_hook("d", 0));
  list.add(oom_hook("g", 1));
  list.add(oom_hook("e", 1, 2_MiB));
  CHECK(names(list.of(HookEvent::Oom)) == "abcdefg");
}

TEST_CASE("each event has its own hooks", "[hook]") {
  HookList list;
  list.add(oom_hook("a"));
  HookConfig other = oom_hook("b");
  other.on = HookEvent::Budget;
  list.add(other);
  CHECK(names(list.of(HookEvent::Oom)) == "a");
  CHECK(names(list.of(HookEvent::Budget)) == "b");
  CHECK(list.of(HookEvent::Pressure).empty());
  CHECK(list.any(HookEvent::Budget));
  CHECK_FALSE(list.any(HookEvent::OomReturned));
}

TEST_CASE("a registered hook is removed by its name, lives on where it runs, and never starts again", "[hook]") {
  HookList list;
  const HookCallback nothing = [](const HookFacts&) -> Bytes { return 0; };
  list.add(oom_hook("a"), nothing);
  list.add(oom_hook("ab"), nothing);
  const std::shared_ptr<Hook> running = list.of(HookEvent::Oom).at(0);
  REQUIRE_FALSE(running->gate.begin(running->config, {}, PressureLevel::None, 0));
  CHECK(list.remove("a").size() == 1);
  CHECK(list.remove("a").empty());
  CHECK(names(list.of(HookEvent::Oom)) == "ab");
  CHECK(running->config.name == "a");
  CHECK(running->gate.running());
  running->gate.end({}, true);
  CHECK(running->gate.begin(running->config, {}, PressureLevel::None, 0) == HookSkip::Disabled);
}

TEST_CASE("what the user configured is not the program's to remove or replace", "[hook]") {
  HookList list;
  list.add(oom_hook("a"));
  CHECK(list.remove("a").empty());
  HookList::Hooks removed;
  REQUIRE(list.replace(
      oom_hook("a"), [](const HookFacts&) -> Bytes { return 0; }, removed));
  CHECK(removed.empty());
  REQUIRE(list.replace(
      oom_hook("a"), [](const HookFacts&) -> Bytes { return 1; }, removed));
  CHECK(removed.size() == 1);
  CHECK(list.of(HookEvent::Oom).size() == 2);
}

TEST_CASE("hooks with a key go by it, whatever else has their name", "[hook]") {
  HookList list;
  const HookCallback nothing = [](const HookFacts&) -> Bytes { return 0; };
  list.add(oom_hook("a"));
  list.add(oom_hook("a"), nothing);
  list.add(oom_hook("a"), nothing, {.key = 7, .device = {}});
  list.add(oom_hook("a"), nothing, {.key = 8, .device = {}});
  CHECK(list.remove(std::uint64_t{9}).empty());
  CHECK(list.remove("a").size() == 1);
  HookList::Hooks removed;
  REQUIRE(list.replace(oom_hook("a"), nothing, removed));
  CHECK(removed.empty());
  CHECK(list.remove(std::uint64_t{7}).size() == 1);
  CHECK(list.of(HookEvent::Oom).size() == 3);
}

TEST_CASE("a hook of one device is not for requests on another", "[hook]") {
  HookList list;
  list.add(oom_hook("a"));
  list.add(oom_hook("b"), [](const HookFacts&) -> Bytes { return 0; }, {.key = 0, .device = 1});
  CHECK(names(list.of(HookEvent::Oom, 0)) == "a");
  CHECK(names(list.of(HookEvent::Oom, 1)) == "ab");
  CHECK(names(list.of(HookEvent::Oom)) == "ab");
}

TEST_CASE("runs and failures of all hooks are added up", "[hook]") {
  HookList list;
  list.add(oom_hook("a"));
  list.add(oom_hook("b"));
  const MonotonicTime now{};
  for (const auto& hook : list.of(HookEvent::Oom)) {
    REQUIRE_FALSE(hook->gate.begin(hook->config, now, PressureLevel::None, 0));
    hook->gate.end(now, hook->config.name == "a");
  }
  CHECK(list.totals().runs == 2);
  CHECK(list.totals().failures == 1);
}

}  // namespace
}  // namespace vramguard
