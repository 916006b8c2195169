// Processes that share one budget: what each of them sees and gets, and what becomes of it when one dies.
#include <signal.h>
#include <sys/stat.h>

#include "tests/integration/short_memory.h"

using namespace vramguard::integration;

namespace {

Options in_group(const std::string& group, const std::string& budget = "4GiB",
                 std::map<std::string, std::string> env = {}) {
  env["VRAMGUARD_GROUP"] = group;
  return {.budget = budget, .env = std::move(env)};
}

// Until it answers that; members look at each other four times a second.
bool comes_to(ShortMemory& program, const std::string& command, const std::string& answer) {
  std::string last;
  for (const Stopwatch time; time.ms() < 10'000; usleep(20'000)) {
    if ((last = program.ask(command)) == answer) return true;
  }
  CHECK(last == answer);
  return false;
}

}  // namespace

TEST_CASE("the members of a group have one budget, and CUDA and NVML show each of them the same of it") {
  Host host;
  ShortMemory one(host, in_group("team")), two(host, in_group("team")), stranger(host, in_group("other"));
  CHECK(one.ask("info") == "0 3056 4096");
  CHECK(two.ask("info") == "0 3056 4096");
  CHECK(one.ask("linear 2000") == "0 0");
  CHECK(two.ask("info") == "0 1056 4096");
  CHECK(two.ask("linear 1058") == "2");
  CHECK(two.ask("linear 1056") == "0 0");
  CHECK(one.ask("linear 2") == "2");
  CHECK(one.ask("info") == "0 0 4096");
  const Run smi = host.run(program("nvml_only"), {"used"}, in_group("team"));
  REQUIRE(smi.lines().size() == 1);
  const std::string line = smi.lines()[0];
  CHECK(line.substr(line.find(' ')) == " " + std::to_string(4_GiB) + " " + std::to_string(4_GiB));
  CHECK(stranger.ask("info") == "0 3576 4096");
  CHECK(two.ask("free 0") == "0");
  CHECK(one.ask("linear 1056") == "0 1");
  one.finish();
  two.finish();
  const Log log = host.log();
  CHECK(log.all("start").at(0)["group"] == "team");
  CHECK(log.all("oom_returned").at(0).number("group_used_bytes") == 3040_MiB);
  CHECK(log.all("oom_returned").at(0).number("used_bytes") == kContextBytes);
}

TEST_CASE("what a member's pool only may have taken is read before another member is refused for it") {
  Host host;
  ShortMemory one(host, in_group("team")), two(host, in_group("team"));
  for (int i = 0; i < 10; ++i) one.ask("async 1");  // each may have taken 32 MiB; together they have
  CHECK(two.ask("linear 3024") == "0 0");
  CHECK(one.ask("info") == "0 0 4096");
}

TEST_CASE("what a member frees serves another one that waits for it") {
  Host host;
  ShortMemory one(host, in_group("team")),
      two(host, in_group("team", "4GiB", {{"VRAMGUARD_POLICY", "wait-and-retry"}}));
  CHECK(one.ask("linear 2000") == "0 0");
  two.tell("linear 2000");
  usleep(300'000);
  CHECK(one.ask("free 0") == "0");
  CHECK(two.answer() == "0 0");
}

TEST_CASE("a killed member's share is free at once, and its place is taken by the next") {
  Host host;
  auto killed = host.start(program("short_memory"), {}, in_group("team"));
  for (const char* command : {"init\n", "device 0\n", "linear 3000\n"}) killed->write(command), killed->read_line();
  ShortMemory heir(host, in_group("team"));
  CHECK(heir.ask("linear 1000") == "2");
  REQUIRE(kill(killed->pid(), SIGKILL) == 0);
  const Stopwatch time;
  comes_to(heir, "linear 3000", "0 0");
  CHECK(time.ms() < 1000);
  ShortMemory next(host, in_group("team"));
  CHECK(next.ask("info") == "0 " + std::to_string(4096 - 3000 - 2 * 520) + " 4096");
}

TEST_CASE("one member of a group holds its sentinel: it serves the others, and goes to another when it ends") {
  Host host;
  const Options options = in_group("team", "4GiB", {{"VRAMGUARD_SENTINEL", "512MiB"}});
  auto holder = std::make_unique<ShortMemory>(host, options);
  ShortMemory other(host, options);
  CHECK(host.used_bytes(0) == 2 * kContextBytes + 512_MiB);
  CHECK(other.ask("info") == "0 3056 4096");
  CHECK(other.ask("linear 3000") == "0 0");
  CHECK(host.used_bytes(0) <= 4_GiB);
  CHECK(other.ask("free 0") == "0");
  holder->finish();
  holder.reset();
  for (const Stopwatch time; time.ms() < 10'000 && host.used_bytes(0) != kContextBytes + 512_MiB;) usleep(20'000);
  CHECK(host.used_bytes(0) == kContextBytes + 512_MiB);
}

TEST_CASE("where its group cannot be reached a process refuses to start, and says why") {
  Host host;
  ShortMemory without_file(host, in_group("run-1-2"), ShortMemory::Begin::WithoutContext);
  CHECK(without_file.ask("init") == "800");
  CHECK(without_file.finish().err.find("the group run-1-2 of 'vramguard run' is not in " + host.state_folder()) !=
        std::string::npos);

  REQUIRE(chmod(host.state_folder().c_str(), 0777) == 0);
  ShortMemory unsafe(host, in_group("team"), ShortMemory::Begin::WithoutContext);
  CHECK(unsafe.ask("init") == "800");
  CHECK(unsafe.finish().err.find("can be written by others") != std::string::npos);

  ShortMemory alone(host, {.budget = "4GiB"});  // without a group it only is not shown
  CHECK(alone.ask("info") == "0 3576 4096");
}

TEST_CASE("a process that is shown leaves no file behind, and one that was killed leaves them to the next") {
  Host host;
  const std::string shown = host.state_folder();
  const auto files = [&] {
    const Run run = host.run("/bin/sh", {"-c", "ls " + shown + " | grep -c 'state$\\|control$'"}, {.preload = false});
    return run.out;
  };
  auto killed = host.start(program("short_memory"), {}, {.budget = "4GiB"});
  killed->write("init\n"), killed->read_line();
  CHECK(files() == "2\n");
  REQUIRE(kill(killed->pid(), SIGKILL) == 0);
  killed->finish();
  ShortMemory next(host, {.budget = "4GiB"});
  CHECK(files() == "2\n");
  next.finish();
  CHECK(files() == "0\n");
}
