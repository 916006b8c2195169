#include "core/log_suppression.h"

#include <catch2/catch.hpp>

namespace vramguard {
namespace {

using std::chrono::milliseconds;

// A time of day in milliseconds.
MonotonicTime at(std::int64_t ms) { return MonotonicTime(std::chrono::hours(1) + milliseconds(ms)); }

int admitted(LogSuppression& suppression, bool errors, int records, MonotonicTime time) {
  int count = 0;
  for (int i = 0; i < records; ++i) count += suppression.admit(errors, time) ? 1 : 0;
  return count;
}

TEST_CASE("a burst of fifty records passes, then ten a second") {
  LogSuppression suppression;
  CHECK(admitted(suppression, false, 60, at(0)) == 50);
  CHECK(admitted(suppression, false, 5, at(99)) == 0);
  CHECK(admitted(suppression, false, 5, at(100)) == 1);
  CHECK(admitted(suppression, false, 50, at(1100)) == 10);
  CHECK(admitted(suppression, false, 500, at(100'000)) == 50);
}

TEST_CASE("errors have an allowance of their own, a hundred a second") {
  LogSuppression suppression;
  CHECK(admitted(suppression, false, 60, at(0)) == 50);
  CHECK(admitted(suppression, true, 150, at(0)) == 100);
  CHECK(admitted(suppression, true, 150, at(500)) == 50);
  CHECK(admitted(suppression, false, 60, at(500)) == 5);
}

TEST_CASE("what was held back is reported once, a second after the first of it") {
  LogSuppression suppression;
  CHECK(suppression.next_report() == MonotonicTime::max());
  CHECK_FALSE(suppression.take_report(at(0)));

  admitted(suppression, false, 50 + 400, at(0));
  admitted(suppression, false, 13, at(500));  // five of which pass
  CHECK(suppression.next_report() == at(1000));
  CHECK_FALSE(suppression.take_report(at(999)));
  const auto report = suppression.take_report(at(1000));
  REQUIRE(report);
  CHECK(report->records == 408);
  CHECK(report->window_ms == 1000);
  CHECK_FALSE(suppression.take_report(at(5000)));
  CHECK(suppression.next_report() == MonotonicTime::max());
}

TEST_CASE("at the end what was held back is reported without waiting") {
  LogSuppression suppression;
  admitted(suppression, false, 52, at(0));
  const auto report = suppression.take_report(at(250), true);
  REQUIRE(report);
  CHECK(report->records == 2);
  CHECK(report->window_ms == 250);
}

TEST_CASE("records that come in out of order neither earn nor lose allowance") {
  LogSuppression suppression;
  CHECK(admitted(suppression, false, 60, at(1000)) == 50);
  CHECK(admitted(suppression, false, 10, at(0)) == 0);
  CHECK(admitted(suppression, false, 10, at(1100)) == 1);
}

}  // namespace
}  // namespace vramguard
