#include "config/environment_keys.h"

#include "config/budget_list.h"
#include "tests/unit/config_fixture.h"

#include <catch2/catch.hpp>

using namespace vramguard;
using Lines = std::vector<std::string>;

TEST_CASE("VRAMGUARD_BUDGET is one size, sizes for named GPUs, or both") {
  ConfigFixture fixture;
  fixture.set("VRAMGUARD_BUDGET", "cuda:1=4GiB,8GiB,GPU-8f6e=50%");
  const GuardConfig config = fixture.load().config;
  CHECK(config.budget == Size{Bytes{8_GiB}});
  REQUIRE(config.device_budgets.size() == 2);
  CHECK(config.device_budgets[0].device == "cuda:1");
  CHECK(config.device_budgets[0].budget == Size{Bytes{4_GiB}});
  CHECK(config.device_budgets[0].strength == 1);
  CHECK(config.device_budgets[1].budget == Size{Percent{50}});
}

TEST_CASE("a budget of the environment goes before those of files, named or not") {
  ConfigFixture fixture;
  fixture.write(
      "etc/config.toml",
      "schema = 1\nbudget = \"1GiB\"\n[gpu.\"cuda:0\"]\nbudget = \"2GiB\"\n[gpu.\"cuda:1\"]\nbudget = \"3GiB\"\n");
  SECTION("a general one replaces them all") {
    fixture.set("VRAMGUARD_BUDGET", "8GiB");
    const GuardConfig config = fixture.load().config;
    CHECK(config.budget == Size{Bytes{8_GiB}});
    CHECK(config.device_budgets.empty());
  }
  SECTION("a named one replaces its own") {
    fixture.set("VRAMGUARD_BUDGET", "CUDA:0=8GiB");
    const GuardConfig config = fixture.load().config;
    CHECK(config.budget == Size{Bytes{1_GiB}});
    REQUIRE(config.device_budgets.size() == 2);
    CHECK(config.device_budgets[0].budget == Size{Bytes{8_GiB}});
    CHECK(config.device_budgets[1].budget == Size{Bytes{3_GiB}});
    CHECK(effective(fixture.load(), "gpu.\"cuda:1\".budget") == "3GiB from " + fixture.root() + "/etc/config.toml:6");
  }
}

TEST_CASE("a budget list with a slip in it is refused whole") {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const Row& row : {
           Row{"", "the size is empty; write a size such as 8GiB"},
           Row{"8GiB,", "the size is empty; write a size such as 8GiB"},
           Row{",8GiB", "the size is empty; write a size such as 8GiB"},
           Row{"8GiB,4GiB", "there are two budgets without a GPU, '8GiB' and '4GiB'"},
           Row{"cuda:0=1GiB,CUDA:0=2GiB", "'CUDA:0' is there twice"},
           Row{"cuda:0=", "cuda:0: the size is empty; write a size such as 8GiB"},
           Row{"cuda:0=20", "cuda:0: '20' is 20 bytes; did you mean 20GiB?"},
           Row{"8GiB, cuda:0=4GiB",
               "' cuda:0' names no GPU; write \"cuda:0\", \"pci:0000:3b:00.0\" or a UUID such as \"GPU-8f6e1c1a\""},
           Row{"0=4GiB", "'0' names no GPU; write \"cuda:0\", \"pci:0000:3b:00.0\" or a UUID such as \"GPU-8f6e1c1a\""},
           Row{"cuda:0:4GiB", "'cuda:0:4GiB' is not a size; write a number and a unit, such as 512MiB, 8GiB or 1.5G"},
           Row{"8GiB cuda:0=4GiB",
               "'8GiB cuda:0' names no GPU; write \"cuda:0\", \"pci:0000:3b:00.0\" or a UUID such as \"GPU-8f6e1c1a\""},
       }) {
    CAPTURE(row.text);
    ConfigFixture fixture;
    fixture.set("VRAMGUARD_BUDGET", row.text);
    CHECK(fixture.messages() == Lines{std::string("VRAMGUARD_BUDGET: error: ") + row.message});
    CHECK_FALSE(fixture.load().ok());
  }
}

TEST_CASE("budget lists are merged by name and written so that they read back") {
  auto list = std::get<BudgetList>(parse_budget_list("8GiB,cuda:1=4GiB"));
  set_named(list, std::get<NamedBudget>(parse_named_budget("cuda:1=2GiB")));
  set_named(list, std::get<NamedBudget>(parse_named_budget("GPU-8f6e=10%")));
  CHECK(format_budget_list(list) == "8GiB,cuda:1=2GiB,GPU-8f6e=10%");
}

TEST_CASE("every scalar key has a variable, and the switches are checked") {
  ConfigFixture fixture;
  fixture.set("VRAMGUARD_LOG", "/tmp/x.log");
  fixture.set("VRAMGUARD_LOG_TARGET", "stderr");
  fixture.set("VRAMGUARD_PRESSURE_LOW", "50%");
  fixture.set("VRAMGUARD_VIRTUALIZE", "none");
  fixture.set("VRAMGUARD_SENTINEL_REQUIRED", "0");
  fixture.set("VRAMGUARD_QUIET", "1");
  fixture.set("VRAMGUARD_GROUP", "job-1");
  fixture.set("VRAMGUARD_STATE_DIR", "/run/x");
  fixture.set("VRAMGUARD_ON_ERROR", "run");
  fixture.set("VRAMGUARD", "1");
  const LoadResult result = fixture.load();
  CHECK(result.diagnostics.empty());
  CHECK(result.config.log.path == "/tmp/x.log");
  CHECK(result.config.log.target == LogTarget::Stderr);
  CHECK(result.config.pressure.low == Threshold{50.0, {}});
  CHECK(result.config.virtualize == Virtualize::None);
  CHECK(result.config.quiet);
  CHECK(result.config.group == "job-1");
  CHECK(result.config.state_dir == "/run/x");
}

TEST_CASE("values that variables cannot have are errors") {
  ConfigFixture fixture;
  fixture.set("VRAMGUARD_SENTINEL", "20%");
  fixture.set("VRAMGUARD_POLICY", "spil");
  fixture.set("VRAMGUARD_GROUP", "a/b");
  fixture.set("VRAMGUARD_LOG_LEVEL", "");
  fixture.set("VRAMGUARD", "off");
  fixture.set("VRAMGUARD_ON_ERROR", "go");
  fixture.set("VRAMGUARD_QUIET", "yes");
  fixture.set("VRAMGUARD_STATE_DIR", "state");
  CHECK(
      fixture.messages() ==
      Lines{
          "VRAMGUARD_POLICY: error: oom_policy: 'spil' is not one of fail, retry-after-free, wait-and-retry, "
          "checkpoint-and-fail or spill; did you mean 'spill'?",
          "VRAMGUARD_SENTINEL: error: sentinel: '20%' is a percentage; here a size such as 8GiB is needed",
          "VRAMGUARD_GROUP: error: group: 'a/b' is no name of a group: 1 to 64 of A-Z a-z 0-9 . _ -, the first no dot",
          "VRAMGUARD_LOG_LEVEL: error: log.level: '' is not one of error, warn, info or debug",
          "VRAMGUARD: error: 'off' is not one of 0 or 1", "VRAMGUARD_ON_ERROR: error: 'go' is not one of fail or run",
          "VRAMGUARD_QUIET: error: 'yes' is not one of 0 or 1",
          "VRAMGUARD_STATE_DIR: error: 'state' is no absolute path"});
}

TEST_CASE("a sentinel of the environment goes before those of files, named or not") {
  ConfigFixture fixture;
  fixture.write("etc/config.toml", "schema = 1\nsentinel = \"all\"\n[gpu.\"cuda:0\"]\nsentinel = \"1GiB\"\n");
  CHECK(fixture.load().config.device_sentinels.size() == 1);
  fixture.set("VRAMGUARD_SENTINEL", "512MiB");
  const GuardConfig config = fixture.load().config;
  CHECK(config.sentinel == Sentinel{512_MiB, false});
  CHECK(config.device_sentinels.empty());
}

TEST_CASE("an unknown variable is a warning with the nearest name, except what hooks are told") {
  ConfigFixture fixture;
  fixture.set("VRAMGUARD_BUGDET", "8GiB");
  fixture.set("VRAMGUARD_LOG_PATH", "/x");
  fixture.set("VRAMGUARD_OOM_POLICY", "fail");
  fixture.set("VRAMGUARD_SOMETHING_ELSE_ENTIRELY", "1");
  fixture.set("VRAMGUARD_HOOK_EVENT", "oom");
  fixture.set("VRAMGUARDIAN", "x");
  CHECK(fixture.load().ok());
  CHECK(fixture.messages() == Lines{"VRAMGUARD_BUGDET: warning: unknown variable; did you mean VRAMGUARD_BUDGET?",
                                    "VRAMGUARD_LOG_PATH: warning: unknown variable; did you mean VRAMGUARD_LOG?",
                                    "VRAMGUARD_OOM_POLICY: warning: unknown variable; did you mean VRAMGUARD_POLICY?",
                                    "VRAMGUARD_SOMETHING_ELSE_ENTIRELY: warning: unknown variable"});
}

TEST_CASE("an empty VRAMGUARD_CONFIG is a mistake, not a wish for no file") {
  ConfigFixture fixture;
  fixture.set("VRAMGUARD_CONFIG", "");
  CHECK(fixture.messages() == Lines{"VRAMGUARD_CONFIG: error: it is empty; name a file or unset it"});
}
