#include "core/capture_table.h"

#include <catch2/catch.hpp>

#include <thread>

using namespace vramguard;

namespace {

constexpr StreamHandle kStream = 0x5000;

template <typename Call>
void in_another_thread(Call call) {
  std::thread(call).join();
}

}  // namespace

TEST_CASE("a capture belongs to the thread that began it until its stream is taken out", "[capture_table]") {
  CaptureTable captures;
  CHECK_FALSE(captures.take(kStream, 1));
  REQUIRE(captures.add(kStream, 1));
  CHECK(captures.by_this_thread());
  bool there = true, taken = false;
  in_another_thread([&] {
    there = captures.by_this_thread();
    taken = captures.take(kStream, 0).has_value();
  });
  CHECK_FALSE(there);
  CHECK(taken);
  CHECK_FALSE(captures.by_this_thread());
}

TEST_CASE("a thread captures until the last of its streams has ended", "[capture_table]") {
  CaptureTable captures;
  REQUIRE(captures.add(kStream, 1));
  REQUIRE(captures.add(kStream + 1, 1));
  CHECK(captures.take(kStream, 1));
  CHECK(captures.by_this_thread());
  CHECK(captures.take(kStream + 1, 1));
  CHECK_FALSE(captures.by_this_thread());
}

TEST_CASE("a capture that goes on is put back, unless another thread has begun one there meanwhile",
          "[capture_table]") {
  CaptureTable captures;
  REQUIRE(captures.add(kStream, 1));
  const std::optional<Capture> taken = captures.take(kStream, 1);
  REQUIRE(taken);
  captures.put_back(*taken);
  CHECK(captures.by_this_thread());
  REQUIRE(captures.take(kStream, 1));
  in_another_thread([&] { captures.add(kStream, 2); });
  captures.put_back(*taken);
  CHECK_FALSE(captures.by_this_thread());
  REQUIRE(captures.take(kStream, 1));
  CHECK_FALSE(captures.take(kStream, 1));
}

TEST_CASE("a capture that begins replaces what was left of an earlier one on the same handle", "[capture_table]") {
  CaptureTable captures;
  in_another_thread([&] { captures.add(kStream, 1); });
  REQUIRE(captures.add(kStream, 2));
  CHECK(captures.by_this_thread());
  REQUIRE(captures.take(kStream, 2));
  CHECK_FALSE(captures.take(kStream, 2));
}

TEST_CASE("the default streams of threads are told apart by thread and context", "[capture_table]") {
  CaptureTable captures;
  REQUIRE(captures.add(kPerThreadStream, 1));
  REQUIRE(captures.add(kPerThreadStream, 2));
  bool taken = true;
  in_another_thread([&] { taken = captures.take(kPerThreadStream, 1).has_value(); });
  CHECK_FALSE(taken);
  CHECK(captures.take(kPerThreadStream, 1));
  CHECK_FALSE(captures.take(kPerThreadStream, 1));
  CHECK(captures.by_this_thread());
  CHECK(captures.take(kPerThreadStream, 2));
  CHECK_FALSE(captures.by_this_thread());
}

TEST_CASE("captures end with the context of their streams", "[capture_table]") {
  CaptureTable captures;
  REQUIRE(captures.add(kStream, 1));
  REQUIRE(captures.add(kStream + 1, 2));
  captures.context_gone(1);
  CHECK(captures.by_this_thread());
  CHECK_FALSE(captures.take(kStream, 1));
  captures.context_gone(2);
  CHECK_FALSE(captures.by_this_thread());
}
