#include "config/value.h"

#include "config/nearest_name.h"

#include <catch2/catch.hpp>

using namespace vramguard;
using std::chrono::milliseconds;

namespace {

bool is_error(const ValueResult& result) { return std::holds_alternative<ValueError>(result); }

}  // namespace

TEST_CASE("durations are whole numbers with a unit") {
  struct Row {
    const char* text;
    milliseconds length;
  };
  for (const Row& row : {Row{"0s", milliseconds(0)}, Row{"100ms", milliseconds(100)}, Row{"5s", milliseconds(5'000)},
                         Row{"10m", milliseconds(600'000)}, Row{"2h", milliseconds(7'200'000)}}) {
    CAPTURE(row.text);
    CHECK(parse_duration(row.text) == ValueResult{Value{row.length}});
    CHECK(format_duration(row.length) == row.text);
  }
  for (const char* text : {"", "5", "s", "-5s", "1.5s", "5 s", "5S", "5sec", "5s ", "9999999999s", "0x5s", "1e3s"}) {
    CAPTURE(text);
    CHECK(is_error(parse_duration(text)));
  }
}

TEST_CASE("thresholds are a share, a size or the lower of one of each") {
  CHECK(parse_threshold("10%") == ValueResult{Value{Threshold{10.0, {}}}});
  CHECK(parse_threshold("2GiB") == ValueResult{Value{Threshold{{}, 2_GiB}}});
  CHECK(parse_threshold("10%,8GiB") == ValueResult{Value{Threshold{10.0, 8_GiB}}});
  CHECK(parse_threshold("8GiB,10%") == ValueResult{Value{Threshold{10.0, 8_GiB}}});
  for (const char* text :
       {"", ",", "10%,", ",10%", "10%,5%", "1GiB,2GiB", "10%,8GiB,1GiB", "10% ,8GiB", "0%", "0", "unlimited", "10"}) {
    CAPTURE(text);
    CHECK(is_error(parse_threshold(text)));
  }
}

TEST_CASE("the nearest name is found within a third of its letters, or none") {
  CHECK(edit_distance("medium", "mediun") == 1);
  CHECK(edit_distance("budget", "bugdet") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(nearest_name("mediun", {"low", "medium", "high"}) == "medium");
  CHECK(nearest_name("lo", {"low", "medium", "high"}) == "low");
  CHECK(nearest_name("zzz", {"low", "medium", "high"}).empty());
  CHECK(nearest_name("", {"low"}).empty());
  CHECK(nearest_name(std::string(10'000, 'a'), {"low"}).empty());
}
