// Hooks that run beside a guarded program: at which pressure, what they are told, and what they may do without the
// program noticing.
#include <csignal>
#include <set>
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

TEST_CASE("a hook that uses CUDA itself is not guarded, runs no hooks in turn and holds no descriptor of the program") {
  Host host;
  const std::string out = host.path("out"), done = host.path("done");
  configure(host, hook("cuda", "pressure",
                       "at = \"high\"\n" +
                           shell("printf \"init 0\\nretain 0\\nalloc_v2 3221225472\\nmaps libvramguard\\n\" | " +
                                 program("console") + " > " + out + "; ls /proc/self/fd | wc -l >> " + out +
                                 "; touch " + done)));
  Console console(host, {.budget = "2GiB"});
  REQUIRE(console.allocate(kIntoHigh) == "0");
  REQUIRE(happens([&] { return has_file(done); }));
  records(host, "hook_end", 1);
  console->finish();
  CHECK(content_of(out) == "init 0\nretain 0 0\nalloc_v2 0 0\nmaps 0\n4\n");  // 0, 1, 2 and that of ls
  std::set<std::string> pids;
  for (const Record& record : host.log().records()) pids.insert(record["pid"]);
  CHECK(pids.size() == 1);
  CHECK(host.log().one("hook_end")["outcome"] == "ok");
}

TEST_CASE(
    "hooks that hang, read, flood, are deaf, missing or leave a daemon neither slow the program down nor pile up") {
  Host host;
  std::string hooks;
  const auto add = [&](const std::string& name, const std::string& command) {
    hooks += hook(name, "pressure", "at = \"high\"\ntimeout = \"300ms\"\n" + command);
  };
  add("hangs", shell("sleep 1000"));
  add("reads", shell("cat"));
  add("floods", shell("yes"));
  add("gigabyte", "argv = [\"head\", \"-c\", \"1G\", \"/dev/zero\"]\n");
  add("no-file", "argv = [\"/no/such/hook\"]\n");
  add("no-program", "argv = [\"" + host.write_file("data", "x") + "\"]\n");
  add("dies", shell("kill -SEGV $$"));
  add("daemon", shell("sleep 3 &"));
  add("deaf", shell("trap \"\" TERM; while :; do sleep 0.1; done"));
  configure(host, hooks);
  const auto guest = host.start(program("hook_host"), {"beside", "1450"}, {.budget = "2GiB"});
  REQUIRE(guest->read_line() == "ready");
  const auto ends = records(host, "hook_end", 9);
  guest->write("end\n");
  const Run run = guest->finish();
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_status == 0);
  std::map<std::string, Record> by_name;
  for (const Record& end : ends) by_name.emplace(end["hook"], end);
  const auto ended = [&](const std::string& name) {
    const Record& end = by_name.at(name);
    return end["outcome"] + " " + end["code"];
  };
  REQUIRE(by_name.size() == 9);
  CHECK(ended("hangs") == "timeout 15");
  CHECK(ended("reads") == "ok 0");
  CHECK(ended("floods") == "timeout 15");
  CHECK((ended("gigabyte") == "ok 0" || ended("gigabyte") == "timeout 15"));
  CHECK(ended("no-file") == "cannot_start 2");
  CHECK(ended("no-program") == "cannot_start 13");
  CHECK(ended("dies") == "signaled 11");
  CHECK(ended("daemon") == "ok 0");
  CHECK(by_name.at("daemon").number("duration_ms") < 300);
  CHECK(ended("deaf") == "timeout 9");
  CHECK(by_name.at("deaf").number("duration_ms") >= 2300);
  CHECK(by_name.at("deaf").number("duration_ms") < 3300);
  // One at a time: no start before the end of the one before.
  int running = 0;
  for (const Record& record : host.log().records()) {
    if (record["ev"] == "hook_start") CHECK(++running == 1);
    if (record["ev"] == "hook_end") --running;
  }
  // The program saw no child but its own, no signal but theirs, no new descriptor, and waited for nothing.
  const auto lines = run.lines();
  REQUIRE(lines.size() == 4);
  CHECK(std::stoi(lines[0].substr(11)) < 250'000);
  CHECK(lines[1] == "foreign 0");
  std::istringstream own(lines[2]);
  std::string word;
  int children = 0, signals = 0;
  own >> word >> children >> word >> signals;
  CHECK(children > 10);
  CHECK(signals == children);
  CHECK(lines[3] == "descriptors 0");
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

TEST_CASE("a signal is sent to a program that handles, ignores or fetches it, and to no other") {
  for (const std::string how : {"default", "ignored", "handled", "fetched"}) {
    CAPTURE(how);
    Host host;
    configure(host, hook("usr1", "pressure", "at = \"high\"\nsignal = \"SIGUSR1\"\n"));
    const auto guest = host.start(program("hook_host"), {"signal", how, "1450"}, {.budget = "2GiB"});
    const Record end = records(host, "hook_end", 1).at(0);
    guest->write("?\n");
    const std::string answer = guest->read_line();
    const Run run = guest->finish();
    CHECK(run.exit_status == 0);  // it lives
    const bool arrives = how == "handled" || how == "fetched";
    CHECK(answer == std::string(arrives ? "arrived 1 value 3 own" : "arrived 0 value 0 own"));
    CHECK(end["outcome"] == (how == "default" ? "not_sent" : "sent"));
    CHECK(end["reason"] == (how == "default" ? "no_handler" : ""));
    CHECK(end["code"] == std::to_string(SIGUSR1));
  }
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

TEST_CASE("a hook that runs while its program ends goes on, and the end is the program's own") {
  for (const std::string end : {"exit 5", "kill 9", "kill 15"}) {
    CAPTURE(end);
    Host host;
    const std::string done = host.path("done"), go = host.path("go");
    configure(host, hook("slow", "pressure",
                         "at = \"high\"\n" + shell("while ! [ -e " + go + " ]; do sleep 0.01; done; touch " + done)));
    Console console(host, {.budget = "2GiB"});
    REQUIRE(console.allocate(kIntoHigh) == "0");
    records(host, "hook_start", 1);
    console.tell(end);
    const Run run = console->finish();
    CHECK(run.exit_status == (end == "exit 5" ? 5 : -1));
    CHECK(run.signal == (end == "exit 5" ? 0 : std::stoi(end.substr(5))));
    CHECK(host.used_bytes(0) == 0);
    CHECK_FALSE(has_file(done));
    host.write_file("go", "");
    CHECK(happens([&] { return has_file(done); }));
    if (end == "exit 5") CHECK(host.log().records().back()["ev"] == "exit");
  }
}

TEST_CASE("a program that ends at the very moment of pressure ends as ever") {
  for (int i = 0; i < 10; ++i) {
    Host host;
    configure(host, hook("h", "pressure", "at = \"high\"\n" + shell("true")));
    const Run run =
        host.run(program("console"), {},
                 {.budget = "2GiB", .input = "init 0\nretain 0\nalloc_v2 " + std::to_string(kIntoHigh) + "\nexit 6\n"});
    CHECK(run.exit_status == 6);
    CHECK(run.log.records().back()["ev"] == "exit");
    CHECK(run.log.all("hook_start").size() <= 1);
  }
}

TEST_CASE("while a hook runs its program forks and resets its device as ever, and the child runs no hook") {
  Host host;
  const std::string go = host.path("go");
  configure(host,
            hook("slow", "pressure", "at = \"high\"\n" + shell("while ! [ -e " + go + " ]; do sleep 0.01; done")));
  Console console(host, {.budget = "2GiB"});
  REQUIRE(console.allocate(kIntoHigh) == "0");
  records(host, "hook_start", 1);
  CHECK(console.ask("fork") == "child 3 3 3");
  CHECK(console->read_line() == "fork 0");
  CHECK(console.ask("reset 0") == "reset 0");
  CHECK(console.ask("retain 0") == "retain 0 0");
  REQUIRE(console.allocate(1_GiB) == "0");
  host.write_file("go", "");
  const Record end = records(host, "hook_end", 1).at(0);
  CHECK(end["outcome"] == "ok");
  CHECK(end.number("freed_bytes") > 0);  // the reset freed it, whoever did: measured all the same
  CHECK(console->finish().exit_status == 0);
  std::set<std::string> pids;
  for (const Record& record : host.log().records()) pids.insert(record["pid"]);
  CHECK(pids.size() == 1);
}
