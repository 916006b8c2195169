// Many threads at the limit: the part of the unit tests that the thread sanitizer is for.
#include <catch2/catch.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "core/ledger.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/random_ranges.h"

using namespace vramguard;

namespace {

constexpr int kThreads = 16;
constexpr std::uint64_t kBase = 0x7fc000000000;

// Hands out addresses without any limit, as a card with room for all would.
class Driver {
 public:
  std::optional<AddressRange> allocate(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    return ranges_.take(bytes);
  }
  void free(AddressRange range) {
    const std::lock_guard lock(mutex_);
    ranges_.give_back(range);
  }

 private:
  std::mutex mutex_;
  RandomRanges ranges_{7, kBase, 60 * kPageBytes};
};

// The distinct pages of all ranges that programs hold.
class HeldPages {
 public:
  Bytes enter(AddressRange range) { return change(range, +1); }
  Bytes leave(AddressRange range) { return change(range, -1); }

 private:
  Bytes change(AddressRange range, int by) {
    const std::lock_guard lock(mutex_);
    for (auto page = range.address / kPageBytes; page <= (range.address + range.bytes - 1) / kPageBytes; ++page) {
      if ((users_[page] += by) == 0) users_.erase(page);
    }
    return users_.size() * kPageBytes;
  }

  std::mutex mutex_;
  std::map<std::uint64_t, int> users_;
};

// Lets threads leave within the few nanoseconds that a race needs, which a barrier that sleeps does not. Yields after a
// while, or it would take its time slices where there are fewer cores than threads.
class StartingLine {
 public:
  explicit StartingLine(int threads) : threads_(threads) {}

  // `nth` is 1 at the first meeting, then 2 and so on.
  void meet(int nth) {
    ++arrived_;
    for (int spins = 0; arrived_ < threads_ * nth; ++spins) {
      if (spins > 10'000) std::this_thread::yield();
    }
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
};

}  // namespace

TEST_CASE("16 threads at the limit never take more than the budget, and leave nothing behind", "[ledger][stress]") {
  const Bytes limit = 30 * kPageBytes;
  Ledger guard(limit, nullptr, nullptr);
  Driver driver;
  HeldPages held;
  std::atomic<int> over{0};
  std::atomic<int> refused{0};
  std::atomic<int> undone{0};
  std::atomic<int> settled{0};
  std::atomic<bool> done{false};

  std::thread evaluator([&] {
    ManualClock clock;
    while (!done) {
      clock.advance(std::chrono::milliseconds(100));
      guard.evaluate_pressure(clock.now());
      guard.set_unseen(clock.now().time_since_epoch().count() / 100'000'000 % 2 == 0 ? 0 : 1_MiB);
      std::this_thread::yield();
    }
    guard.set_unseen(0);
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(thread);
      std::vector<AddressRange> own;
      const auto free_one = [&] {
        const AddressRange range = own.back();
        own.pop_back();
        held.leave(range);
        guard.free_begins();
        driver.free(range);
        guard.release(range);
        guard.free_ends();
      };
      for (int i = 0; i < 3'000; ++i) {
        if (!own.empty() && random() % 2 == 0) {
          std::swap(own[random() % own.size()], own.back());
          free_one();
          continue;
        }
        const Bytes bytes = random() % 4 == 0 ? 1 + random() % (4 * kPageBytes) : 1 + random() % 400'000;
        auto reservation = guard.reserve_linear(bytes);
        if (guard.linear() > limit) ++over;
        if (!reservation) {
          ++refused;
          guard.count_refusal();
          continue;
        }
        const auto range = driver.allocate(bytes);
        if (!range) continue;  // the driver fails
        if (!guard.settle(*reservation, *range)) {
          driver.free(*range);
          ++undone;
          continue;
        }
        ++settled;
        own.push_back(*range);
        if (held.enter(*range) > limit) ++over;
      }
      while (!own.empty()) free_one();
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  evaluator.join();

  REQUIRE(over == 0);
  REQUIRE(settled > 1'000);
  REQUIRE(refused > 0);
  REQUIRE(undone > 0);
  REQUIRE(guard.linear() == 0);
  REQUIRE(guard.used() == 0);
  REQUIRE(guard.admitted() == 0);
  REQUIRE(guard.inconsistencies() == 0);
  REQUIRE(guard.stats().allocations == static_cast<std::uint64_t>(settled));
  REQUIRE(guard.stats().frees == static_cast<std::uint64_t>(settled));
  REQUIRE_FALSE(guard.wait_for_calls(512, 1000));
  std::optional<Reservation> whole = guard.reserve(limit);
  REQUIRE(guard.settle(*whole, {kBase, limit}));
}

TEST_CASE("threads whose ranges share a page all get it and pay for it once, even if it is the last that fits",
          "[ledger][stress]") {
  constexpr int kRounds = 2'000;
  const int sharers = GENERATE(2, 8);
  const Bytes pages = GENERATE(1, 8);
  Ledger guard(pages * kPageBytes, nullptr, nullptr);
  std::atomic<int> refused{0};
  std::atomic<int> wrong_sum{0};
  StartingLine line(sharers);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < sharers; ++thread) {
    threads.emplace_back([&, thread] {
      const AddressRange range{kBase + 512 * static_cast<std::uint64_t>(thread), 512};
      for (int nth = 0; nth < 4 * kRounds;) {
        auto reservation = guard.reserve(0);
        line.meet(++nth);
        const bool fits = reservation && guard.settle(*reservation, range);
        refused += fits ? 0 : 1;
        line.meet(++nth);
        wrong_sum += guard.admitted() == kPageBytes && guard.used() == kPageBytes ? 0 : 1;
        line.meet(++nth);
        if (fits) guard.release(range);
        line.meet(++nth);
        wrong_sum += guard.admitted() == 0 && guard.used() == 0 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(refused == 0);
  REQUIRE(wrong_sum == 0);
}

TEST_CASE("a boundary that is crossed while the guard sets it is not missed", "[ledger][stress]") {
  constexpr int kRounds = 3'000;
  const auto count = [](void* wakes) noexcept { ++*static_cast<std::atomic<int>*>(wakes); };
  std::atomic<int> wakes{0};
  ManualClock clock;
  Ledger guard(kUnlimitedBytes, count, &wakes);
  int missed = 0;
  StartingLine line(2);

  std::thread program([&] {
    for (int i = 0; i < kRounds; ++i) {
      line.meet(2 * i + 1);
      guard.set_unseen(1000);
      line.meet(2 * i + 2);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    guard.evaluate_pressure(clock.now());  // without a budget there are no boundaries
    guard.set_budget(1000);
    wakes = 0;
    line.meet(2 * i + 1);
    guard.evaluate_pressure(clock.now());
    line.meet(2 * i + 2);
    while (wakes.exchange(0) > 0) guard.evaluate_pressure(clock.now());
    missed += guard.pressure_level() == PressureLevel::Critical ? 0 : 1;

    guard.set_budget(kUnlimitedBytes);
    guard.set_unseen(0);
    clock.advance(std::chrono::seconds(1));
  }
  program.join();
  REQUIRE(missed == 0);
}
