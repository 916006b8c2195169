#include "core/room_signal.h"

#include <catch2/catch.hpp>

#include <thread>

using namespace vramguard;

namespace {
// Long enough to be seen as a hang.
MonotonicTime much_later() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }
}  // namespace

TEST_CASE("a wait ends when room is made", "[room_signal]") {
  RoomSignal room;
  std::atomic<bool> listening{false};
  std::thread waiter([&] {
    const RoomSignal::Listening listens(room);
    const std::uint32_t seen = room.now();
    listening = true;
    while (room.now() == seen) room.wait(seen, much_later());
  });
  while (!listening) std::this_thread::yield();
  room.made();
  waiter.join();
}

TEST_CASE("room that was made after the look ends the wait at once", "[room_signal]") {
  RoomSignal room;
  const RoomSignal::Listening listens(room);
  const std::uint32_t seen = room.now();
  room.made();
  const MonotonicTime before = std::chrono::steady_clock::now();
  room.wait(seen, much_later());
  REQUIRE(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
}

TEST_CASE("while nobody listens, room that is made is not told", "[room_signal]") {
  RoomSignal room;
  const std::uint32_t seen = room.now();
  room.made();
  REQUIRE(room.now() == seen);
  const RoomSignal::Listening listens(room);
  room.made();
  REQUIRE(room.now() != seen);
}

TEST_CASE("a wait until a time that has passed returns", "[room_signal]") {
  RoomSignal room;
  room.wait(room.now(), MonotonicTime{});
  room.wait(room.now(), MonotonicTime::min());
  room.wait(room.now(), std::chrono::steady_clock::now());
  SUCCEED();
}
