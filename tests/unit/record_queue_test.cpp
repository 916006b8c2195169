#include "core/record_queue.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace vramguard {
namespace {

TEST_CASE("a queue gives back in order what it was given, round and round") {
  RecordQueue<int, 4> queue;
  int value = 0;
  CHECK(queue.empty());
  CHECK_FALSE(queue.pop(value));
  for (int i = 0; i < 11; ++i) {
    CHECK(queue.push(i));
    CHECK(queue.push(-i));
    CHECK_FALSE(queue.empty());
    REQUIRE(queue.pop(value));
    CHECK(value == i);
    REQUIRE(queue.pop(value));
    CHECK(value == -i);
  }
  CHECK(queue.pushed() == 22);
}

TEST_CASE("a full queue refuses and keeps what it has") {
  RecordQueue<int, 4> queue;
  for (int i = 0; i < 4; ++i) CHECK(queue.push(i));
  CHECK_FALSE(queue.push(4));
  int value = -1;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(queue.pop(value));
    CHECK(value == i);
  }
  CHECK(queue.push(5));
}

TEST_CASE("sixteen threads lose, double and tear nothing, and each thread's values stay in order") {
  struct Wide {
    std::uint64_t thread;
    std::uint64_t number;
    std::uint64_t copies[30];
  };
  constexpr std::uint64_t kThreads = 16;
  constexpr std::uint64_t kEach = 2000;
  const auto queue = std::make_unique<RecordQueue<Wide, 256>>();

  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&queue, thread] {
      for (std::uint64_t number = 0; number < kEach; ++number) {
        Wide value{thread, number, {}};
        for (auto& copy : value.copies) copy = thread * kEach + number;
        while (!queue->push(value)) std::this_thread::yield();
      }
    });
  }

  std::uint64_t next[kThreads] = {};
  bool whole = true;
  bool in_order = true;
  for (std::uint64_t taken = 0; taken < kThreads * kEach;) {
    Wide value;
    if (!queue->pop(value)) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    in_order = in_order && value.number == next[value.thread]++;
    for (const auto copy : value.copies) whole = whole && copy == value.thread * kEach + value.number;
  }
  for (auto& thread : threads) thread.join();
  CHECK(whole);
  CHECK(in_order);
  CHECK(queue->empty());
}

}  // namespace
}  // namespace vramguard
