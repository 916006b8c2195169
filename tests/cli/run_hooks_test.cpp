// What `vramguard run` sets for its command: policy, sentinel, mode and hooks.

#include "tests/cli/given_command.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

using namespace vramguard;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

TEST_CASE("--policy, --sentinel and --observe reach the command") {
  const CommandFixture fixture;
  const Given given = run_with(fixture, {"--policy", "spill", "--sentinel=512MiB", "--observe"});
  CHECK(given.outcome.err.empty());
  CHECK(given.loaded.config.oom.policy == OomPolicy::Spill);
  CHECK(given.loaded.config.sentinel == Sentinel{512_MiB, false});
  CHECK(given.loaded.config.mode == Mode::Observe);
  CHECK(fixture.vramguard({"run", "--policy", "split", "true"}).err ==
        "vramguard: error: --policy: 'split' is not one of fail, retry-after-free, wait-and-retry, checkpoint-and-fail "
        "or spill\n");
  CHECK(fixture.vramguard({"run", "--sentinel", "10%", "true"}).err ==
        "vramguard: error: --sentinel: '10%' is a percentage; here a size such as 8GiB is needed\n");
  CHECK(fixture.vramguard({"run", "--sentinel", "10%", "true"}).exit_status == 125);
}

TEST_CASE("--on and --on-oom reach the command in a file of its own, beside what the files say") {
  CommandFixture fixture;
  fixture.set("VRAMGUARD_STATE_DIR", fixture.path("state"));
  fixture.set("VRAMGUARD_HOOKS_COOLDOWN", "3s");
  fixture.write("home/.config/vramguard/config.toml",
                "schema = 1\nbudget = \"3GiB\"\n[hooks]\ntimeout = \"2s\"\n"
                "[[hook]]\nname = \"on-high\"\non = \"oom\"\nshell = \"old\"\n");
  const Given given = run_with(fixture, {"--on", "high=echo \"a=b\"", "--on=low=true", "--on-oom", "free-some"});
  CHECK(given.outcome.err.empty());
  CHECK(given.outcome.exit_status == 0);
  CHECK_THAT(given.path, StartsWith(fixture.path("state/run-")));
  CHECK(given.loaded.ok());
  const GuardConfig& config = given.loaded.config;
  CHECK(config.budget == Size{Bytes{3_GiB}});
  REQUIRE(config.hooks.size() == 4);
  CHECK(config.hooks[0].argv.back() == "old");
  CHECK(config.hooks[1].name == "on-high-2");
  CHECK(config.hooks[1].on == HookEvent::Pressure);
  CHECK(config.hooks[1].at == PressureLevel::High);
  CHECK(config.hooks[1].argv == std::vector<std::string>{"/bin/sh", "-c", "echo \"a=b\""});
  CHECK(config.hooks[1].timeout == std::chrono::seconds(2));
  CHECK(config.hooks[1].cooldown == std::chrono::seconds(3));
  CHECK(config.hooks[2].name == "on-low");
  CHECK(config.hooks[3].name == "on-oom");
  CHECK(config.hooks[3].on == HookEvent::Oom);

  struct stat info {};
  REQUIRE(stat(given.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
}

TEST_CASE("without a state folder of the user's choice the file lies in shared memory, and its hooks are trusted") {
  if (std::filesystem::exists("/run/vramguard/" + std::to_string(geteuid()))) return;
  CommandFixture fixture;
  fixture.unset("VRAMGUARD_STATE_DIR");
  const Given given = run_with(fixture, {"--on-oom", "true"});
  CHECK(given.outcome.err.empty());
  CHECK_THAT(given.path, StartsWith("/dev/shm/vramguard-" + std::to_string(geteuid()) + "/run-"));
  ConfigPaths paths;
  paths.only_file = given.path;
  const LoadResult loaded = load_config({nullptr}, paths);
  CHECK(loaded.diagnostics.empty());
  CHECK(loaded.config.hooks.size() == 1);
  const std::filesystem::path file(given.path);
  std::filesystem::remove(file);
  std::filesystem::remove(file.parent_path() / ("group-" + file.stem().string()));
}

TEST_CASE("a run inside a run adds its hooks to those of the outer one") {
  CommandFixture fixture;
  fixture.set("VRAMGUARD_STATE_DIR", fixture.path("state"));
  const Given given =
      run_with(fixture, {"--on-oom", "outer", fixture.path("bin/vramguard"), "run", "--on-oom", "inner"});
  REQUIRE(given.loaded.config.hooks.size() == 2);
  CHECK(given.loaded.config.hooks[0].argv.back() == "outer");
  CHECK(given.loaded.config.hooks[1].name == "on-oom-2");
}

TEST_CASE("hooks that cannot run never start the command") {
  CommandFixture fixture;
  fixture.set("VRAMGUARD_STATE_DIR", fixture.path("state"));
  const auto refuse = [&](std::vector<std::string> options, const std::string& message) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"echo", "started"});
    const Outcome outcome = fixture.vramguard(options);
    CHECK(outcome.exit_status == 125);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Contains("vramguard: error: " + message));
  };
  refuse({"--on", "high"}, "--on: 'high' is not LEVEL=COMMAND");
  refuse({"--on", "hihg=x"}, "--on: 'hihg' is not one of low, medium, high or critical; did you mean 'high'?");
  refuse({"--on", "high="}, "--on: the command is empty");
  refuse({"--on-oom", " "}, "--on-oom: the command is empty");
  refuse({"--on-oom", "a\xff"}, "--on-oom: the command is not UTF-8");
  SECTION("switched off") {
    fixture.set("VRAMGUARD_HOOKS_ENABLED", "false");
    refuse({"--on-oom", "x"}, "--on and --on-oom: hooks are switched off");
  }
  SECTION("a folder that others can write to") {
    std::filesystem::create_directory(fixture.path("state"));
    chmod(fixture.path("state").c_str(), 0775);
    refuse({"--on-oom", "x"}, "the folder " + fixture.path("state") + " can be written by others; name another");
  }
  SECTION("a folder above it that others can write to") {
    chmod(fixture.folder().c_str(), 0770);
    refuse({"--on-oom", "x"}, "the hooks would be ignored");
  }
  SECTION("no folder at all") {
    fixture.write("state", "");
    refuse({"--on-oom", "x"}, "the folder " + fixture.path("state") + " is no folder");
  }
}
