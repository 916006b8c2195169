// A thread that captures a stream is not kept waiting; every other one is, whoever ended what it once captured.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

using Lines = std::vector<std::string>;

// Runs the commands; "waits" and "at once" are 900 MiB that do not fit, and what is to be expected of it.
void check(const Lines& commands) {
  Host host;
  std::string input = "a ask 1400\n";
  Lines codes = {"a ask 0"}, expected, seen;
  for (const std::string& command : commands) {
    const std::string thread = command.substr(0, 2), rest = command.substr(2);
    const bool asks = rest == "waits" || rest == "at once";
    if (asks) expected.push_back(rest);
    const std::size_t code = rest.rfind(" = ");
    input += asks ? thread + "ask 900\n" : thread + rest.substr(0, code) + "\n";
    codes.push_back(asks ? thread + "ask 2"
                         : thread + rest.substr(0, rest.find(' ')) +
                               (code == std::string::npos ? " 0" : rest.substr(code + 2)));
  }
  const Run run = host.run(program("captures"), {},
                           {.budget = "2GiB",
                            .env = {{"VRAMGUARD_POLICY", "wait-and-retry"}, {"VRAMGUARD_OOM_WAIT_TIMEOUT", "50ms"}},
                            .input = input});
  CHECK(run.lines() == codes);
  for (const Record& record : run.log.all("oom_returned"))
    seen.push_back(record["reason"] == "wait_timeout" ? "waits" : "at once");
  CHECK(seen == expected);
}

}  // namespace

TEST_CASE("a capture that another thread ends keeps neither of them from waiting") {
  check({"a begin 2", "a at once", "b waits", "b end", "a waits", "b waits", "a begin 2", "a at once", "a end",
         "a waits"});
}

TEST_CASE("a capture that is begun and ended by other threads is that of the thread that began it last") {
  check({"a begin 2", "b end", "b begin 2", "b at once", "a waits", "a end", "b waits"});
}

TEST_CASE("a capture ends with its stream, and with its stream's context") {
  check({"a begin 2", "a end_stream", "a waits", "a stream", "a begin 2", "a at once", "b end_stream", "a waits"});
  check({"a begin_inner", "a at once", "b waits", "a end_inner", "a device", "a waits"});
  check({"a stream", "a begin 2", "a reset", "a device", "a ask 1400", "a waits"});
}

TEST_CASE("a capture that is refused its end goes on, and a ruined one ends with it") {
  check({"a begin 0", "b end = 908", "a at once", "b waits", "a end = 901", "a waits"});
}

TEST_CASE("a capture that is refused its begin belongs to nobody") {
  check({"a begin 2", "b begin 2 = 401", "b waits", "a at once", "a end", "a waits"});
}

TEST_CASE("each thread has a default stream of its own to capture") {
  check({"a begin_own 1", "b waits", "b begin_own 1", "b end_own", "b waits", "a at once", "a end_own", "a waits"});
}

TEST_CASE("a capture into a graph counts as any other, whatever the mode of its thread") {
  check({"a exchange 2", "a begin_to_graph 0", "a at once", "b waits", "a end", "a exchange 0", "a waits"});
}
