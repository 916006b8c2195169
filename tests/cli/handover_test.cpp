// What `vramguard run` hands over: one file, the variables that are left, a group; and what becomes of them.

#include "core/state/group_file.h"
#include "core/state/process_identity.h"
#include "core/state/run_name.h"
#include "tests/cli/given_command.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

using namespace vramguard;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

// The VRAMGUARD_* variables of the command, sorted, those with a path without it.
std::vector<std::string> variables_of(const CommandFixture& fixture, std::vector<std::string> options) {
  options.insert(options.begin(), "run");
  options.insert(options.end(), {"sh", "-c", "printenv | grep ^VRAMGUARD | sort"});
  std::istringstream out(fixture.vramguard(options).out);
  std::vector<std::string> variables;
  for (std::string line; std::getline(out, line);) {
    const bool is_path = line.starts_with("VRAMGUARD_CONFIG=") || line.starts_with("VRAMGUARD_STATE_DIR=");
    variables.push_back(is_path ? line.substr(0, line.find('=')) : line);
  }
  return variables;
}

// As a run in this pid namespace would be called.
std::string run_called(pid_t pid, std::uint64_t start_ticks) {
  ProcessIdentity process = identity_of_this_process();
  process.pid = pid;
  process.start_ticks = start_ticks;
  return run_name(process);
}

}  // namespace

TEST_CASE("flags, environment and files become one file, and only what no file holds stays in the environment") {
  CommandFixture fixture;
  fixture.write("home/.config/vramguard/config.toml",
                "schema = 1\nbudget = \"3GiB\"\nmanaged = \"count\"\n[oom]\nwait_timeout = \"7s\"\n");
  fixture.set("VRAMGUARD_LEAVE_FREE", "1GiB");
  fixture.set("VRAMGUARD_OOM_WAIT_TIMEOUT", "9s");
  fixture.set("VRAMGUARD_HOOKS_COOLDOWN", "3s");
  fixture.set("VRAMGUARD_QUIET", "1");
  fixture.set("VRAMGUARD_ON_ERROR", "run");
  fixture.set("VRAMGUARD", "1");
  const Given given = run_with(fixture, {"-b", "2GiB"});
  CHECK(given.outcome.err.empty());
  CHECK(given.loaded.ok());
  CHECK(given.loaded.config.budget == Size{2_GiB});
  CHECK(given.loaded.config.managed == Managed::Count);
  CHECK(given.loaded.config.leave_free == Size{1_GiB});
  CHECK(given.loaded.config.oom.wait_timeout == std::chrono::seconds(9));
  struct stat info {};
  REQUIRE(stat(given.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(variables_of(fixture, {"-b", "2GiB", "--group", "g"}) ==
        std::vector<std::string>{"VRAMGUARD=1", "VRAMGUARD_CONFIG", "VRAMGUARD_GROUP=g", "VRAMGUARD_HOOKS_COOLDOWN=3s",
                                 "VRAMGUARD_ON_ERROR=run", "VRAMGUARD_QUIET=1", "VRAMGUARD_STATE_DIR"});
}

TEST_CASE("a GPU's budget from the command line goes before a file's more precise name for it") {
  CommandFixture fixture;
  fixture.write("home/.config/vramguard/config.toml", "schema = 1\n[gpu.\"GPU-8f6e\"]\nbudget = \"3GiB\"\n");
  const auto variables = variables_of(fixture, {"--device", "cuda:0=1GiB", "--per-process"});
  CHECK(std::find(variables.begin(), variables.end(), "VRAMGUARD_BUDGET=cuda:0=1GiB") != variables.end());
}

TEST_CASE("the command has a group of its own, which is there before it starts") {
  const CommandFixture fixture;
  const Outcome outcome = fixture.vramguard(
      {"run", "sh", "-c", "echo $$ $VRAMGUARD_GROUP; test -f \"$VRAMGUARD_STATE_DIR/group-$VRAMGUARD_GROUP\""});
  CHECK(outcome.exit_status == 0);
  std::istringstream out(outcome.out);
  std::string pid, group;
  out >> pid >> group;
  CHECK_THAT(group, StartsWith("run-" + pid + "-"));
  CHECK(run_with(fixture, {}).loaded.config.group != group);
}

TEST_CASE("a group that is named is kept, and --per-process is without one") {
  CommandFixture fixture;
  CHECK(run_with(fixture, {"--group", "job-7"}).loaded.config.group == "job-7");
  CHECK(run_with(fixture, {"--per-process"}).loaded.config.group.empty());
  CHECK(variables_of(fixture, {"--per-process"}) ==
        std::vector<std::string>{"VRAMGUARD_CONFIG", "VRAMGUARD_GROUP=", "VRAMGUARD_STATE_DIR"});
  fixture.set("VRAMGUARD_GROUP", "slurm-12");
  CHECK(run_with(fixture, {}).loaded.config.group == "slurm-12");
  CHECK(run_with(fixture, {"--group", "job-7"}).loaded.config.group == "job-7");
  CHECK(run_with(fixture, {"--per-process"}).loaded.config.group.empty());
}

TEST_CASE("a run inside a run stays in the group, and is refused where the group is not") {
  const CommandFixture fixture;
  const std::string vramguard = fixture.path("bin/vramguard");
  Outcome outcome = fixture.vramguard({"run", "sh", "-c", "echo $VRAMGUARD_GROUP; exec \"$@\"", "sh", vramguard, "run",
                                       "-b", "1GiB", "printenv", "VRAMGUARD_GROUP"});
  const std::size_t half = outcome.out.size() / 2;
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out.substr(0, half) == outcome.out.substr(half));
  outcome = fixture.vramguard(
      {"run", "env", "VRAMGUARD_STATE_DIR=" + fixture.path("other"), vramguard, "run", "echo", "started"});
  CHECK(outcome.exit_status == 125);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Contains("is not in " + fixture.path("other")));
}

TEST_CASE("names of groups that cannot be are refused") {
  const CommandFixture fixture;
  for (const std::string name : {"", "a/b", ".a", "run-1-1"}) {
    const Outcome outcome = fixture.vramguard({"run", "--group", name, "echo", "started"});
    CAPTURE(name, outcome.err);
    CHECK(outcome.exit_status == 125);
    CHECK(outcome.out.empty());
  }
  CHECK(fixture.vramguard({"run", "--group", "a", "--per-process", "true"}).err ==
        "vramguard: error: --group and --per-process: one of them\n");
}

TEST_CASE("without a state folder only a command without group and hooks can start, and it reads everything itself") {
  CommandFixture fixture;
  fixture.write("state", "");
  fixture.set("VRAMGUARD_MODE", "observe");
  const Outcome outcome = fixture.vramguard({"run", "-b", "1GiB", "echo", "started"});
  CHECK(outcome.exit_status == 125);
  CHECK(outcome.out.empty());
  CHECK(outcome.err == "vramguard: error: the folder " + fixture.path("state") +
                           " is no folder; name another in VRAMGUARD_STATE_DIR, or use --per-process\n");
  CHECK(fixture.vramguard({"run", "--per-process", "--on-oom", "x", "true"}).exit_status == 125);
  CHECK(variables_of(fixture, {"-b", "1GiB", "--per-process"}) ==
        std::vector<std::string>{"VRAMGUARD_BUDGET=1GiB", "VRAMGUARD_GROUP=", "VRAMGUARD_MODE=observe",
                                 "VRAMGUARD_STATE_DIR"});
}

TEST_CASE("files and groups of commands that are gone are removed, those that a process may still use are kept") {
  CommandFixture fixture;
  const auto file = [&](const std::string& run) { return fixture.path("state/" + run + ".toml"); };
  const auto make = [&](const std::string& run) {
    fixture.write("state/" + run + ".toml", "schema = 1\n", 0600);
    REQUIRE_FALSE(make_group(fixture.path("state"), run));
  };
  const std::string gone = run_called(2147483647, 1), reused = run_called(1, 1), configured = run_called(2147483646, 1),
                    grouped = run_called(2147483645, 1), foreign = "run-2147483644-1-17";
  std::filesystem::create_directories(fixture.path("state"));
  for (const std::string& run : {gone, reused, configured, grouped, foreign}) make(run);
  fixture.write("state/notes.toml", "schema = 1\n", 0600);
  chmod(fixture.path("state").c_str(), 0755);

  fixture.set("VRAMGUARD_CONFIG", file(configured));  // of the run itself, until it becomes its command
  fixture.set("VRAMGUARD_GROUP", grouped);
  const Outcome outcome = fixture.vramguard({"run", "true"});
  CHECK(outcome.err.empty());
  CHECK(outcome.exit_status == 0);
  for (const std::string& run : {gone, reused}) {
    CHECK_FALSE(std::filesystem::exists(file(run)));
    CHECK_FALSE(std::filesystem::exists(group_path(fixture.path("state"), run)));
  }
  for (const std::string& run : {configured, grouped, foreign}) {
    CHECK(std::filesystem::exists(file(run)));
    CHECK(std::filesystem::exists(group_path(fixture.path("state"), run)));
  }
  CHECK(std::filesystem::exists(fixture.path("state/notes.toml")));
}
