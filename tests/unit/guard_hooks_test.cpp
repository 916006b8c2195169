// Hooks as a guard runs them inside a refused call.
#include "tests/unit/guard_fixture.h"

namespace vramguard {
namespace {

HookConfig hook_of(HookEvent event, const std::string& name) {
  HookConfig config;
  config.name = name;
  config.on = event;
  return config;
}

// As a guarded call does: until it fits or is given up.
bool request(GuardedDevice& device, Bytes bytes) {
  OomAttempt attempt(device.oom, {"cuMemAlloc_v2", bytes, bytes});
  for (;;) {
    auto reservation = device.memory.reserve_linear(bytes);
    if (reservation) {
      attempt.served();
      return true;
    }
    if (attempt.failed(RefusalScope::Budget) == OomAttempt::Next::GiveUp) return false;
  }
}

TEST_CASE("what a hook's callback frees inside the refused call serves the request", "[hook]") {
  GuardFixture fixture;
  fixture.allocate({kBase, 1536_MiB});
  Bytes requested = 0;
  fixture.guard.hooks().add(hook_of(HookEvent::Oom, "frees"), [&](const HookFacts& facts) {
    requested = facts.requested;
    fixture.free(kBase);
    return Bytes{0};
  });
  CHECK(request(fixture.device, 1_GiB));
  CHECK(requested == 1_GiB);
  REQUIRE(fixture.records("oom_recovered").size() == 1);
  CHECK(fixture.records("oom_recovered")[0].find(" by=hook ") != std::string::npos);
  CHECK(fixture.records("hook_end")[0].find(" freed_bytes=1610612736") != std::string::npos);
}

TEST_CASE("a hook's own refusals run no hook, say so, and do not wait for the run they are part of", "[hook]") {
  GuardFixture fixture;
  fixture.allocate({kBase, 1536_MiB});
  int calls = 0;
  bool inner = true;
  fixture.guard.hooks().add(hook_of(HookEvent::Oom, "asks"), [&](const HookFacts&) {
    ++calls;
    inner = request(fixture.device, 1_GiB);
    return Bytes{0};
  });
  fixture.guard.hooks().add(hook_of(HookEvent::OomReturned, "after"), [&](const HookFacts&) {
    ++calls;
    return Bytes{0};
  });
  const auto began = std::chrono::steady_clock::now();
  CHECK_FALSE(request(fixture.device, 1_GiB));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(3));
  CHECK_FALSE(inner);
  CHECK(calls == 1);
  const auto skips = fixture.records("hook_skip");
  REQUIRE(skips.size() == 2);
  CHECK(skips[0].find(" hook=asks reason=inside_hook") != std::string::npos);
  CHECK(skips[1].find(" hook=after reason=inside_hook") != std::string::npos);
  CHECK(fixture.records("oom_returned").size() == 2);
}

}  // namespace
}  // namespace vramguard
