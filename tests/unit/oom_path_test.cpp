#include "core/oom_path.h"

#include <sys/mman.h>

#include <cstdio>

#include "tests/unit/oom_fixture.h"

using namespace vramguard;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

OomRequest of(Bytes bytes) { return {.api = "cuMemCreate", .bytes = bytes, .worst = bytes}; }

// Maps a file as the loader maps a library.
struct MappedFile {
  explicit MappedFile(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "w+");
    REQUIRE(file != nullptr);
    REQUIRE(std::fputs("mapped", file) >= 0);
    std::fflush(file);
    address = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    std::fclose(file);
    REQUIRE(address != MAP_FAILED);
  }
  ~MappedFile() { munmap(address, 4096); }
  void* address;
};

}  // namespace

TEST_CASE("every request that does not fit is one refusal, and each that was not deferred has one end", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::Fail, Defer::Always));
  f.take(2_GiB);
  REQUIRE(f.ask(10_MiB) == Answer::Refused);  // deferred
  REQUIRE(f.ask(10_MiB) == Answer::Refused);
  f.add_hook("frees", [&](const HookFacts&) -> Bytes {
    f.give_back(20_MiB);
    return 0;
  });
  REQUIRE(f.ask(20_MiB) == Answer::Refused);  // deferred
  REQUIRE(f.ask(20_MiB) == Answer::Served);
  REQUIRE(f.ask(500_KiB) == Answer::Refused);
  REQUIRE(f.records("oom_refused").size() == 5);
  REQUIRE(f.records("oom_returned").size() == 2);
  REQUIRE(has(f.only("oom_recovered"), "request_bytes=20971520 by=hook attempts=2 hooks=1 wait_ms=0"));
  REQUIRE(f.device.memory.stats().refusals == 5);
  f.guard.write_exit_record();
  REQUIRE(has(f.only("exit"), "refused=5 recovered=1 hooks_run=1"));
}

TEST_CASE("a request that fits after readings and trims is no refusal", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::Fail, Defer::Always));
  const PoolHandle pool = 0x77;
  f.guard.pools().add(pool, 0);
  f.device.pools_used = true;
  f.reader.pools[pool] = 1_GiB;
  f.guard.read_bounded(f.device);
  REQUIRE(f.ask(2_GiB) == Answer::Served);
  REQUIRE(f.reader.pool_trims == 1);
  REQUIRE(f.records("oom_refused").empty());
}

TEST_CASE("an absurd request trims nothing", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::Fail));
  f.guard.pools().add(0x77, 0);
  f.device.pools_used = true;
  f.reader.pools[0x77] = 1_GiB;
  REQUIRE(f.ask(3_GiB) == Answer::Refused);
  REQUIRE(f.reader.pool_trims == 0);
}

TEST_CASE("a deferred request that is served after a trim is forgotten too", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::Fail, Defer::Always));
  f.guard.pools().add(0x77, 0);
  f.device.pools_used = true;
  f.reader.pools[0x77] = f.reader.pools_in_use = 2_GiB;
  f.guard.read_bounded(f.device);
  REQUIRE(f.ask(1_GiB) == Answer::Refused);
  f.reader.pools_in_use = 0;  // flushes its cache
  REQUIRE(f.ask(1_GiB) == Answer::Served);
  f.take(1_GiB);
  REQUIRE(f.ask(1_GiB) == Answer::Refused);
  REQUIRE(has(f.records("oom_refused").back(), "deferred=1"));
}

TEST_CASE("a call that fails otherwise after a rescue still ends its refusal in the log", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::Fail));
  f.take(2_GiB);
  f.add_hook("does nothing", [](const HookFacts&) -> Bytes { return 0; });
  {
    OomAttempt attempt(f.device.oom, of(1_GiB));
    REQUIRE(attempt.failed(RefusalScope::Budget) == OomAttempt::Next::TryAgain);
  }  // the driver said something else
  REQUIRE(has(f.only("oom_returned"), "reason=driver_error"));
  REQUIRE(f.device.oom.recovered() == 0);
}

TEST_CASE("more than the whole budget, or the card, is refused at once and is no pressure", "[oom_path]") {
  for (const Bytes budget : {2_GiB, kUnlimitedBytes}) {
    OomFixture f(OomFixture::with(OomPolicy::WaitAndRetry, Defer::Always), budget);
    const IdleThread other;
    int runs = 0;
    f.add_hook("never", [&](const HookFacts&) -> Bytes { return ++runs; });
    f.reader.card_free = 16_GiB;
    REQUIRE(f.ask(17_GiB) == Answer::Refused);
    REQUIRE(f.tries == 1);
    REQUIRE(runs == 0);
    REQUIRE(f.raw_level() == PressureLevel::None);
    REQUIRE(has(f.only("oom_returned"), "policy=wait-and-retry attempts=1 wait_ms=0"));
    REQUIRE_FALSE(has(f.only("oom_refused"), "deferred"));
  }
}

TEST_CASE("below one MiB nothing is deferred, no hook runs and nobody waits", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::WaitAndRetry, Defer::Always));
  const IdleThread other;
  int runs = 0;
  f.add_hook("never", [&](const HookFacts&) -> Bytes { return ++runs; });
  f.take(2_GiB);
  REQUIRE(f.ask(1_MiB - 1) == Answer::Refused);
  REQUIRE(f.tries == 1);
  REQUIRE(runs == 0);
  REQUIRE(f.records("oom_returned").size() == 1);
}

TEST_CASE("a thread that captures a stream is not kept waiting", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::WaitAndRetry));
  const IdleThread other;
  int runs = 0;
  f.add_hook("never", [&](const HookFacts&) -> Bytes { return ++runs; });
  f.take(2_GiB);
  REQUIRE(f.ask(1_GiB, {.capturing = true}) == Answer::Refused);
  REQUIRE(f.tries == 1);
  REQUIRE(runs == 0);
}

TEST_CASE("hooks run in their order until the request fits, and not beyond the deadline", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::Fail));
  f.take(2_GiB);
  std::string order;
  f.add_hook(
      "b", [&](const HookFacts&) -> Bytes { return order += 'b', f.give_back(64_MiB), 0; }, 2);
  f.add_hook(
      "a", [&](const HookFacts&) -> Bytes { return order += 'a', 64_MiB; }, 1);  // it says so
  f.add_hook(
      "c", [&](const HookFacts&) -> Bytes { return order += 'c', 0; }, 3);
  REQUIRE(f.ask(64_MiB) == Answer::Served);
  REQUIRE(order == "ab");
  f.guard.hooks().remove("b");
  f.add_hook(
      "late", [&](const HookFacts&) -> Bytes { return order += 'l', f.clock.advance(seconds(5)), 0; }, 0);
  REQUIRE(f.ask(64_MiB) == Answer::Refused);
  REQUIRE(order == "abl");
}

TEST_CASE("a hook's own request that is refused runs no hook and waits for nothing", "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::WaitAndRetry));
  f.device.oom.settings().wait_timeout = seconds(0);
  f.take(2_GiB);
  int runs = 0;
  Answer inside = Answer::Served;
  f.add_hook("asks", [&](const HookFacts&) -> Bytes {
    ++runs;
    inside = f.ask(2_MiB);
    return 0;
  });
  REQUIRE(f.ask(1_GiB) == Answer::Refused);
  REQUIRE(inside == Answer::Refused);
  REQUIRE(runs == 1);
}

TEST_CASE("threads that are refused at once share one run of the hooks, and each has its own verdict", "[oom_path]") {
  constexpr int kThreads = 4;
  OomFixture f(OomFixture::with(OomPolicy::Fail));
  f.take(2_GiB);
  const auto hook = f.add_hook("frees", [&](const HookFacts&) -> Bytes {
    while (f.device.memory.stats().refusals < kThreads) std::this_thread::yield();
    f.give_back(300_MiB);
    return 0;
  });
  std::atomic<int> served{0}, refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { ++(f.ask(100_MiB) == Answer::Served ? served : refused); });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(served == 3);
  REQUIRE(refused == 1);
  REQUIRE(hook->gate.runs() == 1);
  REQUIRE(f.records("oom_refused").size() == kThreads);
  REQUIRE(f.records("oom_recovered").size() == 3);
  REQUIRE(f.records("oom_returned").size() == 1);
}

TEST_CASE("a thread tries again before it runs hooks that another one has just run, and goes on where that stopped",
          "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::Fail));
  f.take(2_GiB);
  const auto first = f.add_hook(
      "first", [&](const HookFacts&) -> Bytes { return f.give_back(64_MiB), 0; }, 1);
  const auto second = f.add_hook(
      "second", [&](const HookFacts&) -> Bytes { return 0; }, 2);
  OomAttempt late(f.device.oom, of(128_MiB));  // refused, and not yet at the hooks
  REQUIRE(f.ask(64_MiB) == Answer::Served);    // another thread, served by the first of them
  REQUIRE(late.failed(RefusalScope::Budget) == OomAttempt::Next::TryAgain);
  REQUIRE(first->gate.runs() == 1);
  REQUIRE(second->gate.runs() == 0);
  REQUIRE(late.failed(RefusalScope::Budget) == OomAttempt::Next::TryAgain);
  REQUIRE(first->gate.runs() == 1);
  REQUIRE(second->gate.runs() == 1);
  REQUIRE(late.failed(RefusalScope::Budget) == OomAttempt::Next::GiveUp);
  REQUIRE(f.ask(64_MiB) == Answer::Served);  // a later request begins with the first again
  REQUIRE(first->gate.runs() == 2);
}

TEST_CASE("a first refusal is deferred without a level or a hook, and forgotten when the request is served",
          "[oom_path]") {
  OomFixture f(OomFixture::with(OomPolicy::Fail, Defer::Always));
  int runs = 0;
  f.add_hook("counts", [&](const HookFacts&) -> Bytes { return ++runs; });
  f.take(1_GiB);
  f.take(1_GiB);
  for (int round = 0; round < 3; ++round) {
    REQUIRE(f.ask(1_GiB) == Answer::Refused);
    f.give_back(1_GiB);  // flushes its cache
    REQUIRE(f.ask(1_GiB) == Answer::Served);
  }
  REQUIRE(runs == 0);
  REQUIRE(f.records("oom_refused").size() == 3);
  REQUIRE(has(f.records("oom_refused").at(2), "deferred=1"));
  REQUIRE(f.records("oom_returned").empty());
  REQUIRE(f.ask(1_GiB) == Answer::Refused);
  REQUIRE(runs == 0);
  REQUIRE(f.ask(1_GiB) == Answer::Refused);  // it asked again, and it does not fit
  REQUIRE(runs == 1);
  REQUIRE(f.raw_level() == PressureLevel::Critical);
}

TEST_CASE("a refusal is deferred by itself only where a caching allocator is mapped", "[oom_path]") {
  for (const std::string name : {"libc10_cuda.so", "libsomething.so"}) {
    OomFixture f(OomFixture::with(OomPolicy::Fail, Defer::Auto));
    f.take(2_GiB);
    REQUIRE(f.ask(10_MiB) == Answer::Refused);
    REQUIRE(f.records("oom_returned").size() == 1);
    const MappedFile mapped(f.folder.path() + "/" + name);
    f.clock.advance(seconds(1));  // it is not looked for all the time
    REQUIRE(f.ask(10_MiB) == Answer::Refused);
    REQUIRE(f.records("oom_returned").size() == (name == "libc10_cuda.so" ? 1 : 2));
  }
}
