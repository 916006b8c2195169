// MemoryGuard: hooks that make room for a request.
#include "core/memory_guard.h"

#include <catch2/catch.hpp>

#include <stdexcept>

#include "tests/unit/memory_guard_fixture.h"

namespace vramguard {

TEST_CASE("hooks run by priority, then estimate, then age, until the request fits and no further") {
  FullGuard full;
  full.guard.register_hook(full.hook("late", 10, 8_GiB));
  full.guard.register_hook(full.hook("small", 0, 1_MiB));
  full.guard.register_hook(full.hook("large", 0, 1_GiB));
  full.guard.register_hook(full.hook("younger", 0, 1_GiB));
  full.guard.register_hook(full.hook("first", -1));
  const auto buffer = full.guard.safe_alloc_with_hooks<char>(512_MiB);
  CHECK(full.ran == Names{"first", "large", "younger", "small"});
  CHECK(full.device->zeroed(buffer.address()) == 512_MiB);
  CHECK(full.guard.stats().used == 1_GiB);
  CHECK(full.guard.stats().oom_recoveries == 1);
}

TEST_CASE("a request that fits runs no hook, nor does one that did not ask for them") {
  FullGuard full;
  full.guard.register_hook(full.hook("hook"));
  CHECK_THROWS_AS(full.guard.safe_alloc<char>(1_MiB), BudgetExceeded);
  full.cache.pop_back();
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(full.ran.empty());
}

TEST_CASE("requests of any size run hooks") {
  FullGuard full;
  full.guard.register_hook(full.hook("hook"));
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(1));
  CHECK(full.ran == Names{"hook"});
}

TEST_CASE("a request that the whole budget could not hold runs no hook") {
  FullGuard full;
  full.guard.register_hook(full.hook("hook"));
  CHECK_THROWS_AS(full.guard.safe_alloc_with_hooks<char>(1_GiB + 1), BudgetExceeded);
  CHECK(full.ran.empty());
}

TEST_CASE("what a hook says it has freed is not believed") {
  FullGuard full;
  int liars = 0;
  full.guard.register_hook({.name = "liar", .priority = -1, .callback = [&](const MemoryShortage&) {
                              ++liars;
                              return Bytes{1024_GiB};
                            }});
  CHECK_THROWS_AS(full.guard.safe_alloc_with_hooks<char>(128_MiB), BudgetExceeded);
  CHECK(full.guard.stats().used == 1_GiB);
  CHECK(full.guard.stats().oom_recoveries == 0);
  full.guard.register_hook({.name = "modest", .callback = [&](const MemoryShortage&) {
                              full.cache.pop_back();
                              return Bytes{0};
                            }});
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(liars == 2);
  CHECK(full.device->most_used() == 1_GiB);
}

TEST_CASE("a hook is told what was asked, what is missing and what is left") {
  FullGuard full;
  full.cache.pop_back();
  MemoryShortage told;
  full.guard.register_hook({.name = "hook", .callback = [&](const MemoryShortage& shortage) {
                              told = shortage;
                              return Bytes{0};
                            }});
  CHECK_THROWS_AS(full.guard.safe_alloc_with_hooks<char>(200_MiB), BudgetExceeded);
  CHECK(told.requested == 200_MiB);
  CHECK(told.missing == 72_MiB);
  CHECK(told.used == 896_MiB);
  CHECK(told.budget == 1_GiB);
  CHECK(told.device_free == 16_GiB - 896_MiB);
  CHECK(told.attempt >= 1);
}

TEST_CASE("a hook is skipped while less is free than it needs itself") {
  FullGuard full;
  MemoryHook hungry = full.hook("hungry", -1);
  hungry.execution_overhead_bytes = 64_MiB;
  full.guard.register_hook(hungry);
  full.guard.register_hook(full.hook("frugal"));
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(full.ran == Names{"frugal"});
  full.ran.clear();
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(256_MiB));  // 128 MiB are free now
  CHECK(full.ran.front() == "hungry");
}

TEST_CASE("a hook that throws is a failed one, and the next is asked") {
  FullGuard full;
  full.guard.register_hook({.name = "thrower", .priority = -1, .callback = [](const MemoryShortage&) -> Bytes {
                              throw std::runtime_error("hook");
                            }});
  full.guard.register_hook(full.hook("good"));
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(full.ran == Names{"good"});
}

TEST_CASE("a hook may use the guard; what it asks for runs no hook") {
  FullGuard full;
  int runs = 0, refused = 0;
  full.guard.register_hook({.name = "asking", .callback = [&](const MemoryShortage&) {
                              ++runs;
                              try {
                                (void)full.guard.safe_alloc_with_hooks<char>(64_MiB);
                              } catch (const BudgetExceeded&) {
                                ++refused;
                              }
                              full.cache.pop_back();
                              (void)full.guard.safe_alloc_with_hooks<char>(64_MiB);
                              return full.guard.stats().used;
                            }});
  CHECK_NOTHROW(full.guard.safe_alloc_with_hooks<char>(128_MiB));
  CHECK(runs == 1);
  CHECK(refused == 1);
}

TEST_CASE("a removed hook runs no more, and removing says whether there was one") {
  FullGuard full;
  full.guard.register_hook(full.hook("hook"));
  CHECK(full.guard.remove_hook("hook"));
  CHECK_FALSE(full.guard.remove_hook("hook"));
  CHECK_THROWS_AS(full.guard.safe_alloc_with_hooks<char>(128_MiB), BudgetExceeded);
  CHECK(full.ran.empty());
}

}  // namespace vramguard
