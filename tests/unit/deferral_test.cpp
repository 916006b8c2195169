#include "core/deferral.h"

#include <catch2/catch.hpp>

#include "core/bytes.h"

using namespace vramguard;
using std::chrono::seconds;

namespace {
const MonotonicTime kStart{std::chrono::hours(1)};
}

TEST_CASE("the first refusal of a size is a first one, the next is not, and the third is one again", "[deferral]") {
  Deferral deferral;
  REQUIRE(deferral.is_first(7, 1_GiB, kStart));
  REQUIRE(deferral.any());
  REQUIRE_FALSE(deferral.is_first(7, 1_GiB, kStart + seconds(1)));
  REQUIRE_FALSE(deferral.any());
  REQUIRE(deferral.is_first(7, 1_GiB, kStart + seconds(2)));
}

TEST_CASE("a refusal is remembered for its thread and size alone, and for ten seconds", "[deferral]") {
  Deferral deferral;
  REQUIRE(deferral.is_first(7, 1_GiB, kStart));
  REQUIRE(deferral.is_first(8, 1_GiB, kStart));
  REQUIRE(deferral.is_first(7, 2_GiB, kStart));
  REQUIRE_FALSE(deferral.is_first(7, 1_GiB, kStart + seconds(10)));
  REQUIRE(deferral.is_first(8, 1_GiB, kStart + seconds(11)));
  REQUIRE_FALSE(deferral.is_first(8, 1_GiB, kStart + seconds(20)));
}

TEST_CASE("what was served is forgotten", "[deferral]") {
  Deferral deferral;
  REQUIRE(deferral.is_first(7, 1_GiB, kStart));
  deferral.served(7, 2_GiB);
  deferral.served(8, 1_GiB);
  REQUIRE(deferral.any());
  deferral.served(7, 1_GiB);
  REQUIRE_FALSE(deferral.any());
  REQUIRE(deferral.is_first(7, 1_GiB, kStart));
}

TEST_CASE("of more refusals than are remembered, the oldest is forgotten", "[deferral]") {
  Deferral deferral;
  for (Bytes size = 1; size <= 129; ++size) REQUIRE(deferral.is_first(7, size, kStart));
  REQUIRE_FALSE(deferral.is_first(7, 2, kStart));
  REQUIRE_FALSE(deferral.is_first(7, 129, kStart));
  REQUIRE(deferral.is_first(7, 1, kStart));
}
