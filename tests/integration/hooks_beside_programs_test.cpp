// What hooks may do without the program that they run beside noticing.
#include <csignal>
#include <set>
#include <sstream>

#include "tests/integration/hook_harness.h"

using namespace vramguard::integration;
using vramguard::content_of;

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
