#include "core/signal_name.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <string>

namespace vramguard {
namespace {

TEST_CASE("a signal is known with and without SIG, and by its number") {
  CHECK(parse_signal_name("SIGUSR1") == SIGUSR1);
  CHECK(parse_signal_name("USR1") == SIGUSR1);
  CHECK(parse_signal_name("10") == 10);
  CHECK(parse_signal_name("SIGCHLD") == SIGCHLD);
  CHECK(parse_signal_name("KILL") == SIGKILL);
  CHECK(parse_signal_name("1") == 1);
  CHECK(parse_signal_name("31") == 31);
}

TEST_CASE("real-time signals count from either end, and never leave their range") {
  CHECK(parse_signal_name("RTMIN") == SIGRTMIN);
  CHECK(parse_signal_name("SIGRTMIN+3") == SIGRTMIN + 3);
  CHECK(parse_signal_name("RTMAX-1") == SIGRTMAX - 1);
  CHECK(parse_signal_name("SIGRTMAX") == SIGRTMAX);
  CHECK(parse_signal_name("RTMIN+30") == SIGRTMAX);
  CHECK(parse_signal_name(std::to_string(SIGRTMAX)) == SIGRTMAX);
  CHECK_FALSE(parse_signal_name("RTMIN+31"));
  CHECK_FALSE(parse_signal_name("RTMAX-31"));
  CHECK_FALSE(parse_signal_name("RTMIN-1"));
  CHECK_FALSE(parse_signal_name("RTMAX+1"));
}

TEST_CASE("what is no signal is none, nor are those that the C library keeps") {
  for (const std::string text : {"", "SIG", "0", "-1", "+10", "32", "33", "65", "99999999999", "10 ", "usr1", "USR3",
                                 "SIGSIGUSR1", "RTMIN+", "RTMIN+x", "RTMIN+-1", "RTMINUS", "SIG10"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_signal_name(text));
  }
}

}  // namespace
}  // namespace vramguard
