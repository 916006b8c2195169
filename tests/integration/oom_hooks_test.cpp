// Hooks inside a refused call.
#include <set>
#include <sstream>

#include "tests/integration/hook_harness.h"

using namespace vramguard::integration;
using vramguard::content_of;

namespace {

const std::string kFreesCard = simctl_line("neighbour 0 0");

// A card of 8 GiB on which a neighbour leaves 500 MiB beside the program's context.
struct FullCard {
  explicit FullCard(const std::string& configuration, const std::string& budget = "") {
    configure(host, configuration);
    console = std::make_unique<Console>(host, Options{.budget = budget});
    host.simctl({"neighbour", "0", "7GiB"});
  }
  Log end() {
    console->operator->()->finish();
    return host.log();
  }
  Host host;
  std::unique_ptr<Console> console;
};

std::string deadline(const std::string& time) { return "[oom]\ndeadline = \"" + time + "\"\n"; }

}  // namespace

TEST_CASE("an oom hook that stops a neighbour rescues the request, and what it freed is measured") {
  FullCard card(hook("stop", "oom", "estimated_free = \"1GiB\"\n" + shell(kFreesCard)));
  CHECK(card.console->allocate(3_GiB) == "0");
  const Log log = card.end();
  const Record refused = log.one("oom_refused"), recovered = log.one("oom_recovered"), end = log.one("hook_end");
  CHECK(refused["scope"] == "device");
  CHECK(recovered["by"] == "hook");
  CHECK(recovered["hooks"] == "1");
  CHECK(recovered["tid"] == refused["tid"]);
  CHECK(end["outcome"] == "ok");
  CHECK(end.number("freed_bytes") == 7_GiB);
  CHECK(end.number("estimated_bytes") == 1_GiB);
  CHECK(log.one("hook_start")["reason"] == "oom");
  CHECK(log.all("oom_returned").empty());
}

TEST_CASE("oom hooks run by priority, then estimate, then definition, and no further once the request fits") {
  const auto step = [](const std::string& name, const std::string& keys, const std::string& command) {
    return hook(name, "oom", keys + shell("echo " + name + " $VRAMGUARD_HOOK_ATTEMPT; " + command));
  };
  FullCard card(step("never", "priority = 9\n", "true") + step("third", "", "exit 1") +
                step("second", "estimated_free = \"2GiB\"\n", "exit 0") + step("fourth", "", kFreesCard) +
                step("first", "priority = -1\n", "exit 3"));
  CHECK(card.console->allocate(3_GiB) == "0");
  const Log log = card.end();
  std::string order;
  int last = 0;
  for (const Record& end : log.all("hook_end")) {
    order += end["hook"] + " ";
    const std::string output = end["output"];
    const int attempt = std::stoi(output.substr(output.find(' ')));
    CHECK(attempt > last);  // each is told how often the request was tried
    last = attempt;
  }
  CHECK(order == "first second third fourth ");
  CHECK(log.one("oom_recovered")["hooks"] == "4");
}

TEST_CASE("an oom hook is told what is asked for and how long it may take") {
  Host host;
  const std::string file = host.path("told");
  configure(host, deadline("2s") + hook("h", "oom", shell("env > " + file)));
  Console console(host, {.budget = "2GiB"});
  REQUIRE(console.allocate(1_GiB) == "0");
  CHECK(console.allocate(1_GiB) == "2");
  console->finish();
  const std::string told = content_of(file);
  const auto has = [&](const std::string& text) {
    return told.find("VRAMGUARD_HOOK_" + text + "\n") != std::string::npos;
  };
  CHECK(has("EVENT=oom"));
  CHECK(has("SCOPE=budget"));
  CHECK(has("REQUESTED_BYTES=" + std::to_string(1_GiB)));
  CHECK(has("SHORT_BYTES=" + std::to_string(520_MiB)));
  CHECK(has("FREE_BYTES=" + std::to_string(504_MiB)));
  CHECK(has("USED_BYTES=" + std::to_string(1544_MiB)));
  CHECK(has("DEVICE_FREE_BYTES=" + std::to_string(8_GiB - 1544_MiB)));
  const std::size_t at = told.find("DEADLINE_MS=") + 12;
  CHECK(std::stoi(told.substr(at)) <= 2000);
  CHECK(std::stoi(told.substr(at)) > 0);
}

TEST_CASE("exit status 75 makes the request wait for what is freed in the background") {
  FullCard card(hook("later", "oom", shell("(sleep 0.5; " + kFreesCard + ") & exit 75")));
  CHECK(card.console->allocate(3_GiB) == "0");
  const Log log = card.end();
  CHECK(log.one("hook_end")["outcome"] == "background");
  CHECK(log.one("oom_recovered")["by"] == "hook");
  CHECK(log.one("oom_recovered").number("wait_ms") >= 400);
  CHECK(log.one("oom_recovered").number("wait_ms") < 4000);
}

TEST_CASE("a promise to free in the background is believed up to the deadline and no longer") {
  FullCard card(deadline("400ms") + hook("lies", "oom", shell("exit 75")));
  CHECK(card.console->allocate(3_GiB) == "2");
  const Log log = card.end();
  CHECK(log.one("oom_returned").number("wait_ms") >= 400);
  CHECK(log.one("oom_returned").number("wait_ms") < 1400);
}

TEST_CASE("all oom hooks of a request together have one deadline") {
  FullCard card(deadline("500ms") + hook("a", "oom", shell("sleep 0.3")) + hook("b", "oom", shell("exec sleep 1000")) +
                hook("c", "oom", shell("true")));
  CHECK(card.console->allocate(3_GiB) == "2");
  records(card.host, "hook_end", 2);  // the second is ended by the guard's thread
  const Log log = card.end();
  const Record returned = log.one("oom_returned");
  CHECK(returned.number("wait_ms") >= 500);
  CHECK(returned.number("wait_ms") < 1500);
  CHECK(returned["hooks"] == "2");
  CHECK(log.all("hook_start").size() == 2);
  CHECK(log.all("hook_end").at(1)["outcome"] == "timeout");
}

TEST_CASE("a hook that claims what it did not free is not believed") {
  FullCard card(hook("claims", "oom", "estimated_free = \"4GiB\"\n" + shell("exit 0")));
  CHECK(card.console->allocate(3_GiB) == "2");
  const Log log = card.end();
  CHECK(log.one("hook_end").number("freed_bytes") == 0);
  CHECK(log.one("hook_end").number("estimated_bytes") == 4_GiB);
  CHECK(log.one("oom_returned")["hooks"] == "1");
  CHECK(log.all("oom_recovered").empty());
}

TEST_CASE("retries are bounded: nothing is asked of hooks for more than the budget, and of the rest once each") {
  Host host;
  configure(host, "oom_policy = \"retry-after-free\"\n" + hook("a", "oom", shell("exit 0")) +
                      hook("b", "oom", shell("exit 1")));
  Console console(host, {.budget = "2GiB"});
  CHECK(console.allocate(3_GiB) == "2");
  CHECK(host.log().all("hook_start").empty());
  CHECK(host.log().one("oom_returned").number("attempts") <= 2);
  CHECK(host.log().one("oom_returned").number("wait_ms") < 200);
  CHECK(console.allocate(1600_MiB) == "2");
  console->finish();
  const Log log = host.log();
  CHECK(log.all("hook_start").size() == 2);
  CHECK(log.all("oom_returned").at(1).number("attempts") <= 6);
}

TEST_CASE("small requests run no hook") {
  FullCard card(hook("h", "oom", shell(kFreesCard)));
  card.host.simctl({"neighbour", "0", "all"});
  CHECK(card.console->allocate(1_MiB - 1) == "2");
  CHECK(card.host.log().all("hook_start").empty());
  CHECK(card.console->allocate(1_MiB) == "0");
  CHECK(card.end().all("hook_start").size() == 1);
}

TEST_CASE("threads that are refused at once share one run of hooks, and what it frees is for all") {
  Host host;
  configure(host, hook("stop", "oom", shell("sleep 0.5; " + kFreesCard)));
  host.simctl({"neighbour", "0", "7GiB"});
  const Run run = host.run(program("hook_host"), {"together", "6", "600"}, {});
  CAPTURE(run.err);
  REQUIRE(run.exit_status == 0);
  CHECK(run.out == "0\n0\n0\n0\n0\n0\n");
  CHECK(run.log.all("hook_start").size() == 1);
  CHECK(run.log.all("oom_recovered").size() == run.log.all("oom_refused").size());
  CHECK(run.log.all("oom_recovered").size() >= 5);
  std::uint64_t hooks = 0;
  for (const Record& recovered : run.log.all("oom_recovered")) {
    CHECK(recovered["by"] == "hook");
    hooks += recovered.number("hooks");
  }
  CHECK(hooks == 1);
}

TEST_CASE("while a request waits other threads free, and it is served as soon as they have") {
  Host host;
  configure(host, hook("later", "oom", shell("exit 75")));
  const Run run = host.run(program("hook_host"), {"freed_by_other", "800"}, {.budget = "2GiB"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_status == 0);
  const auto lines = run.lines();
  CHECK(lines.at(0) == "code 0");
  CHECK(std::stoi(lines.at(1).substr(10)) >= 100);
  CHECK(std::stoi(lines.at(2).substr(14)) < 100);
  CHECK(run.log.one("oom_recovered")["by"] == "hook");
  for (const char* sync : {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"})
    CHECK(host.calls(sync) == 0);
}

TEST_CASE("a request that holds up whoever would free gets its OOM at the deadline, and nobody hangs") {
  Host host;
  configure(host, deadline("600ms") + hook("later", "oom", shell("exit 75")));
  const Run run = host.run(program("hook_host"), {"mutex", "800"}, {.budget = "2GiB"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_status == 0);
  const auto lines = run.lines();
  CHECK(lines.at(0) == "code 2");
  CHECK(std::stoi(lines.at(1).substr(10)) >= 600);
  CHECK(std::stoi(lines.at(1).substr(10)) < 1600);
}

TEST_CASE("hooks of a returned OOM run beside the program, and are told of the request") {
  Host host;
  const std::string file = host.path("told");
  configure(host, hook("after", "oom-returned",
                       shell("sleep 0.3; echo $VRAMGUARD_HOOK_EVENT $VRAMGUARD_HOOK_REQUESTED_BYTES > " + file)));
  Console console(host, {.budget = "2GiB"});
  CHECK(console.allocate(1600_MiB) == "2");
  CHECK_FALSE(has_file(file));
  CHECK(host.log().one("oom_returned").number("wait_ms") < 300);
  records(host, "hook_end", 1);
  console->finish();
  CHECK(content_of(file) == "oom-returned " + std::to_string(1600_MiB) + "\n");
  CHECK(host.log().one("hook_start")["reason"] == "oom-returned");
}

TEST_CASE("with hooks switched off, or a program that is only observed, a refusal runs none and does not wait") {
  const std::string hooks = hook("h", "oom", shell("exit 75"));
  {
    FullCard card("[hooks]\nenabled = false\n" + hooks);
    CHECK(card.console->allocate(3_GiB) == "2");
    const Log log = card.end();
    CHECK(log.one("hook_skip")["reason"] == "disabled");
    CHECK(log.all("hook_start").empty());
    CHECK(log.one("oom_returned").number("wait_ms") < 500);
  }
  FullCard card("mode = \"observe\"\n" + hooks);
  CHECK(card.console->allocate(3_GiB) == "2");
  CHECK(card.end().all("hook_start").empty());
}

TEST_CASE("a hook of mode once rescues once") {
  FullCard card(hook("h", "oom", "mode = \"once\"\n" + shell(kFreesCard)));
  CHECK(card.console->allocate(3_GiB) == "0");
  card.host.simctl({"neighbour", "0", "4GiB"});
  CHECK(card.console->allocate(2_GiB) == "2");
  const Log log = card.end();
  CHECK(log.all("hook_start").size() == 1);
  CHECK(log.one("hook_skip")["reason"] == "once");
}
