// Hooks at pressure: which run, what they are told, and what they are not run for.
#include <sstream>

#include "tests/integration/hook_harness.h"

using namespace vramguard::integration;
using vramguard::content_of;

namespace {

const std::string kUnlimitedTimes = "cooldown = \"0ms\"\n";

std::map<std::string, std::string> variables_in(const std::string& file) {
  std::map<std::string, std::string> found;
  std::istringstream lines(content_of(file));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find('=');
    if (at != std::string::npos) found[line.substr(0, at)] = line.substr(at + 1);
  }
  return found;
}

}  // namespace

TEST_CASE("pressure hooks run by shell, argv and signal, and a jump runs those of every level it crossed") {
  Host host;
  const std::string low = host.path("low"), medium = host.path("medium");
  configure(host, hook("low", "pressure", "at = \"low\"\n" + shell("echo $VRAMGUARD_HOOK_LEVEL > " + low)) +
                      hook("medium", "pressure", "at = \"medium\"\nargv = [\"touch\", \"" + medium + "\"]\n") +
                      hook("high", "pressure", "at = \"high\"\nsignal = \"SIGURG\"\n") +
                      hook("critical", "pressure", "at = \"critical\"\n" + shell("true")));
  Console console(host, {.budget = "2GiB"});
  REQUIRE(console.allocate(kIntoHigh) == "0");
  records(host, "hook_end", 3);
  const Run run = console->finish();
  CHECK(run.exit_status == 0);
  const Log log = host.log();
  const Record pressure = log.one("pressure");
  CHECK(pressure["from"] == "none");
  CHECK(pressure["to"] == "high");
  std::string order;
  for (const Record& end : log.all("hook_end")) order += end["hook"] + ":" + end["outcome"] + " ";
  CHECK(order == "low:ok medium:ok high:sent ");
  CHECK(content_of(low) == "high\n");
  CHECK(has_file(medium));
  CHECK(log.one("exit").number("hooks_run") == 3);
}

TEST_CASE("a pressure hook runs at its level, and again at the next one only if that is its own") {
  Host host;
  configure(host, hook("medium", "pressure", "at = \"medium\"\n" + kUnlimitedTimes + shell("true")) +
                      hook("high", "pressure", "at = \"high\"\n" + kUnlimitedTimes + shell("true")));
  Console console(host, {.budget = "2GiB"});
  REQUIRE(console.allocate(kIntoMedium) == "0");
  records(host, "hook_end", 1);  // half a second later
  CHECK(host.log().one("hook_end")["hook"] == "medium");
  REQUIRE(console.allocate(kIntoHigh - kIntoMedium) == "0");
  const auto ends = records(host, "hook_end", 2);
  CHECK(ends.at(1)["hook"] == "high");
  console->finish();
  CHECK(host.log().all("hook_start").size() == 2);
}

TEST_CASE("a hook is told everything about its moment, and is not guarded itself") {
  Host host;
  const std::string file = host.path("environment");
  configure(host, hook("tell", "pressure", "at = \"high\"\n" + shell("env > " + file)));
  Console console(host, {.budget = "2GiB"});
  const std::string identity = console.ask("identity 0"), pid = console.ask("pid");
  REQUIRE(console.allocate(kIntoHigh) == "0");
  records(host, "hook_end", 1);
  console->finish();
  auto told = variables_in(file);
  const Record pressure = host.log().one("pressure");
  const std::map<std::string, std::string> expected{
      {"EVENT", "pressure"},
      {"NAME", "tell"},
      {"RUN", "1"},
      {"SEQ", "1"},
      {"PID", pid.substr(4)},
      {"COMM", "console"},
      {"DEVICE", "0"},
      {"DEVICE_UUID", identity.substr(identity.find("GPU"))},
      {"PCI_BUS_ID", host.log().one("device")["pci"]},
      {"LEVEL", "high"},
      {"PREV_LEVEL", "none"},
      {"SCOPE", "budget"},
      {"BUDGET_BYTES", std::to_string(2_GiB)},
      {"USED_BYTES", pressure["used_bytes"]},
      {"FREE_BYTES", pressure["free_bytes"]},
      {"DEVICE_FREE_BYTES", told["VRAMGUARD_HOOK_DEVICE_FREE_BYTES"]},
      {"DEVICE_TOTAL_BYTES", std::to_string(8_GiB)},
      {"REQUESTED_BYTES", ""},
      {"SHORT_BYTES", ""},
      {"ATTEMPT", ""},
      {"DEADLINE_MS", ""},
      {"LOG", host.log_path()},
  };
  std::map<std::string, std::string> own;
  for (const auto& [name, value] : told)
    if (name.rfind("VRAMGUARD_HOOK_", 0) == 0) own[name.substr(15)] = value;
  CHECK(own == expected);
  CHECK(told.count("LD_PRELOAD") == 0);
  CHECK(told["VGSIM_STATE"] == host.path("devices"));
  const Record end = host.log().one("hook_end");
  CHECK(end["run"] == "1");
  CHECK(end.number("hook_pid") > 0);
}

TEST_CASE("memory that swings over a threshold ten thousand times runs a hook once in its cooldown") {
  Host host;
  configure(host, hook("high", "pressure", "at = \"high\"\n" + shell("echo $VRAMGUARD_HOOK_LEVEL")));
  std::string input = "init 0\nretain 0\nalloc_v2 " + std::to_string(kIntoMedium) + "\n";
  for (int i = 1; i <= 10'000; ++i) input += "alloc_v2 104857600\nfree " + std::to_string(i) + "\n";
  const Run run = host.run(program("console"), {}, {.budget = "2GiB", .input = input});
  REQUIRE(run.exit_status == 0);
  const std::size_t changes = run.log.all("pressure").size();
  CHECK(changes >= 1);
  CHECK(changes <= 4);
  CHECK(run.log.all("hook_start").size() == 1);
  CHECK(run.log.all("hook_skip").size() <= 1);
}

TEST_CASE("a higher level runs a hook within its cooldown, the same level does not") {
  Host host;
  configure(host, hook("high", "pressure", "at = \"high\"\n" + shell("echo $VRAMGUARD_HOOK_LEVEL")));
  Console console(host, {.budget = "2GiB"});
  const auto falls = [&](std::size_t nth) {  // all the way down, 2 s later
    console.tell("free_all");
    console->read_line();
    CHECK(happens([&] { return count(host, "pressure", "to", "none") >= nth; }));
  };
  REQUIRE(console.allocate(kIntoHigh) == "0");
  records(host, "hook_end", 1);
  falls(1);
  REQUIRE(console.allocate(kIntoHigh) == "0");
  CHECK(records(host, "hook_skip", 1).at(0)["reason"] == "cooldown");
  falls(2);
  CHECK(console.allocate(1600_MiB) == "2");  // an OOM that is returned: from none to critical
  CHECK(records(host, "hook_end", 2).at(1)["output"] == "critical\n");
  console->finish();
  CHECK(host.log().all("hook_start").size() == 2);
}

TEST_CASE("a budget that the program changes runs its hooks, which are told the new one") {
  Host host;
  configure(host, hook("b", "budget",
                       shell("echo $VRAMGUARD_HOOK_EVENT $VRAMGUARD_HOOK_BUDGET_BYTES "
                             "$VRAMGUARD_HOOK_USED_BYTES $VRAMGUARD_HOOK_FREE_BYTES")));
  const auto guest = host.start(program("hook_host"), {"budget", "1024"}, {.budget = "2GiB"});
  const Record end = records(host, "hook_end", 1).at(0);
  CHECK(guest->finish().exit_status == 0);
  CHECK(end["output"] ==
        "budget " + std::to_string(1_GiB) + " " + std::to_string(520_MiB) + " " + std::to_string(504_MiB) + "\n");
  CHECK(host.log().one("hook_start")["reason"] == "budget");
}

TEST_CASE("a hook that is skipped says why: switched off, no room for its overhead, failed too often") {
  Host host;
  const std::string keys = "at = \"high\"\n";
  SECTION("switched off") {
    configure(host, "[hooks]\nenabled = false\n" + hook("h", "pressure", keys + shell("true")));
    Console console(host, {.budget = "2GiB"});
    REQUIRE(console.allocate(kIntoHigh) == "0");
    CHECK(records(host, "hook_skip", 1).at(0)["reason"] == "disabled");
    console->finish();
  }
  SECTION("switched off by a variable") {
    configure(host, hook("h", "pressure", keys + shell("true")));
    Console console(host, {.budget = "2GiB", .env = {{"VRAMGUARD_HOOKS_ENABLED", "false"}}});
    REQUIRE(console.allocate(kIntoHigh) == "0");
    CHECK(records(host, "hook_skip", 1).at(0)["reason"] == "disabled");
    console->finish();
  }
  SECTION("no room for its overhead") {
    configure(host, hook("h", "pressure", keys + "overhead = \"79MiB\"\n" + shell("true")));
    Console console(host, {.budget = "2GiB"});
    REQUIRE(console.allocate(kIntoHigh) == "0");
    const Record skip = records(host, "hook_skip", 1).at(0);
    CHECK(skip["reason"] == "overhead");
    CHECK(skip.number("overhead_bytes") == 79_MiB);
    CHECK(skip.number("headroom_bytes") == 78_MiB);
    console->finish();
  }
  SECTION("failed too often") {
    configure(host, hook("h", "oom", shell("exit 1")));
    Console console(host, {.budget = "2GiB"});
    for (int i = 0; i < 5; ++i) CHECK(console.allocate(1600_MiB) == "2");
    console->finish();
    CHECK(count(host, "hook_skip", "reason", "back_off") == 2);
    CHECK(host.log().all("hook_start").size() == 3);
    return;
  }
  CHECK(host.log().all("hook_start").empty());
}

TEST_CASE("hooks of a file that others can write are ignored, and that is said; its budget holds") {
  Host host;
  const std::string file = host.path("vramguard.toml"), ran = host.path("ran");
  configure(host, "budget = \"2GiB\"\n" + hook("h", "pressure", "at = \"high\"\n" + shell("touch " + ran)));
  REQUIRE(chmod(file.c_str(), 0666) == 0);
  Console console(host);
  CHECK(console.allocate(2_GiB) == "2");
  REQUIRE(console.allocate(kIntoHigh) == "0");
  CHECK(happens([&] { return count(host, "pressure", "to", "critical") + count(host, "pressure", "to", "high") > 0; }));
  const Run run = console->finish();
  CHECK(run.exit_status == 0);
  CHECK(host.log().all("hook_start").empty());
  CHECK_FALSE(has_file(ran));
  const auto errors = host.log().all("config_error");
  CAPTURE(run.err);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0]["action"] == "ignored");
  CHECK(errors[0]["file"] == file);
}
