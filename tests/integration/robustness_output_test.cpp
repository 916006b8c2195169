// The program's output is its own: not a byte of ours in it.
#include "tests/integration/robustness.h"

using namespace vramguard::integration;

namespace {

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("where stderr is no terminal, refusals leave no byte in a program's output") {
  Host host;
  const Run run = host.run(program("output"), {"json"}, {.budget = "2GiB"});
  CHECK(run.exit_status == 0);
  CHECK(run.out == "{\"refused\": 2}\n");
  CHECK(run.err.empty());
  CHECK(run.log.all("oom_returned").size() == 6);
}

TEST_CASE("files that a program opened in place of its standard descriptors hold only what it wrote") {
  Host host;
  const Run run =
      host.run(program("output"), {"reuse", host.path("0"), host.path("1"), host.path("2")}, {.budget = "2GiB"});
  CHECK(run.exit_status == 0);
  for (const char* file : {"0", "1", "2"}) CHECK(vramguard::content_of(host.path(file)) == "before\nafter\n");
  CHECK(run.log.all("oom_returned").size() == 5);
}

TEST_CASE("a program that closes its standard descriptors runs on and is logged") {
  Host host;
  const Run run = host.run(program("output"), {"closed"}, {.budget = "2GiB"});
  CHECK(run.exit_status == 7);
  CHECK(run.out.empty());
  CHECK(run.log.all("oom_returned").size() == 10);
  CHECK(run.log.all("exit").size() == 1);
}

TEST_CASE("a program that closes every descriptor it does not know keeps its log, and its files to itself") {
  Host host;
  const Run run = host.run(program("output"), {"closefrom", host.path("data")}, {.budget = "2GiB"});
  CHECK(run.exit_status == 0);
  CHECK(vramguard::content_of(host.path("data")) == "mine\nmine\nmine\nmine\nmine\nmine\n");
  CHECK(run.log.all("oom_returned").size() == 20);
  CHECK(run.log.one("exit").number("log_dropped") == 0);
}

TEST_CASE("on a terminal the first refusal is one line, and none when told to be quiet") {
  Host host;
  const std::vector<std::string> command{program("output"), "json"};
  const Run run = host.run(program("terminal"), command, {.budget = "2GiB"});
  CAPTURE(run.out);
  CHECK(run.exit_status == 0);
  CHECK(count_of(run.out, "vramguard: ") == 1);
  CHECK(count_of(run.out, "\n") == 2);
  CHECK(run.out.find("1TiB asked for") != std::string::npos);
  CHECK(run.out.find("VRAMGUARD_BUDGET") != std::string::npos);

  const Run quiet = host.run(program("terminal"), command, {.budget = "2GiB", .env = {{"VRAMGUARD_QUIET", "1"}}});
  CHECK(quiet.out == "{\"refused\": 2}\r\n");
}
