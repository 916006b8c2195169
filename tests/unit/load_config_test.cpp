#include "config/load_config.h"

#include "tests/unit/config_fixture.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <csignal>

using namespace vramguard;
using Lines = std::vector<std::string>;

TEST_CASE("without files and variables every key has its default and nothing is wrong") {
  const ConfigFixture fixture;
  const LoadResult result = fixture.load();
  CHECK(result.ok());
  CHECK(result.diagnostics.empty());
  CHECK(result.config.budget == Size{Unlimited{}});
  CHECK(result.config.source.empty());
  CHECK(effective(result, "budget") == "unlimited from default");
  CHECK(effective(result, "pressure.low") == "30% from default");
}

TEST_CASE("later sources win key by key: etc, conf.d in order, the user's file, then the environment") {
  ConfigFixture fixture;
  fixture.write("etc/config.toml", "schema = 1\nbudget = \"1GiB\"\n[log]\nlevel = \"debug\"\nformat = \"json\"\n");
  fixture.write("etc/conf.d/20-b.toml", "schema = 1\nbudget = \"3GiB\"\n");
  fixture.write("etc/conf.d/10-a.toml", "schema = 1\nbudget = \"2GiB\"\n");
  fixture.write("etc/conf.d/30-c.toml.bak", "nonsense");
  fixture.write("etc/conf.d/.40-d.toml", "nonsense");
  CHECK(fixture.load().config.budget == Size{Bytes{3_GiB}});

  const std::string own = fixture.write("home/.config/vramguard/config.toml", "schema = 1\nbudget = \"4GiB\"\n");
  LoadResult result = fixture.load();
  CHECK(result.config.budget == Size{Bytes{4_GiB}});
  CHECK(result.config.source == own);

  fixture.set("VRAMGUARD_BUDGET", "5GiB");
  fixture.set("VRAMGUARD_LOG_LEVEL", "warn");
  result = fixture.load();
  CHECK(result.diagnostics.empty());
  CHECK(result.config.budget == Size{Bytes{5_GiB}});
  CHECK(result.config.log.level == LogLevel::Warn);
  CHECK(result.config.log.format == LogFormat::Json);
  CHECK(effective(result, "budget") == "5GiB from VRAMGUARD_BUDGET");
  CHECK(effective(result, "log.format") == "json from " + fixture.root() + "/etc/config.toml:5");
}

TEST_CASE("VRAMGUARD_CONFIG replaces the files but not the administrator's limits") {
  ConfigFixture fixture;
  fixture.write("etc/config.toml", "schema = 1\nbudget = \"1GiB\"\n");
  fixture.write("etc/limits.toml", "schema = 1\nmax_budget = \"6GiB\"\n");
  fixture.set("VRAMGUARD_CONFIG", fixture.write("mine.toml", "schema = 1\nbudget = \"50%\"\n"));
  const LoadResult result = fixture.load();
  CHECK(result.ok());
  CHECK(result.config.budget == Size{Percent{50}});
  CHECK(result.config.max_budget == Size{Bytes{6_GiB}});
  CHECK(effective(result, "limits.max_budget") == "6GiB from " + fixture.root() + "/etc/limits.toml:2");
}

TEST_CASE("the user's file is found below HOME, and nothing is read from the current folder") {
  ConfigFixture fixture;
  fixture.write("h/.config/vramguard/config.toml", "schema = 1\nbudget = \"7GiB\"\n");
  const std::string home = "HOME=" + fixture.root() + "/h";
  const std::string relative = "XDG_CONFIG_HOME=h/.config";
  const char* entries[] = {relative.c_str(), home.c_str(), nullptr};
  CHECK(load_config({entries}, fixture.paths()).config.budget == Size{Bytes{7_GiB}});
  const char* only_relative[] = {relative.c_str(), "HOME=h", nullptr};
  CHECK(load_config({only_relative}, fixture.paths()).config.budget == Size{Unlimited{}});
  CHECK(load_config({nullptr}, fixture.paths()).ok());
}

TEST_CASE("every built key reaches the configuration") {
  ConfigFixture fixture;
  const Lines none;
  CHECK(fixture.messages_for(R"(budget = 8589934592
oom_policy = "wait-and-retry"
sentinel = "512MiB"
sentinel_required = true
leave_free = "5%"
mode = "observe"
virtualize = "cuda"
managed = "count"
[gpu."cuda:1"]
budget = "25%"
sentinel = "all"
[pressure]
scope = "worst"
low = "40%,9GiB"
medium = "3GiB"
high = "1GiB"
watch_card = false
[oom]
defer_first_refusal = "always"
deadline = "7s"
wait_timeout = "10m"
checkpoint = "save --now"
checkpoint_timeout = "1h"
spill_limit = "16GiB"
[hooks]
enabled = false
[log]
target = "stderr"
path = "/var/log/%u-%p.log"
format = "json"
level = "error"
report_every = "90s"
)") == none);
  const GuardConfig config = fixture.load().config;
  CHECK(config.budget == Size{Bytes{8_GiB}});
  CHECK(config.sentinel == Sentinel{512_MiB, false});
  CHECK(config.sentinel_required);
  CHECK(config.leave_free == Size{Percent{5}});
  CHECK(config.mode == Mode::Observe);
  CHECK(config.virtualize == Virtualize::Cuda);
  REQUIRE(config.device_budgets.size() == 1);
  CHECK(config.device_budgets[0].device == "cuda:1");
  CHECK(config.device_budgets[0].budget == Size{Percent{25}});
  REQUIRE(config.device_sentinels.size() == 1);
  CHECK(config.device_sentinels[0].device == "cuda:1");
  CHECK(config.device_sentinels[0].sentinel == Sentinel{0, true});
  CHECK(config.pressure.scope == PressureScope::Worst);
  CHECK(config.pressure.low == Threshold{40.0, 9_GiB});
  CHECK(config.pressure.medium == Threshold{{}, 3_GiB});
  CHECK(config.pressure.high == Threshold{{}, 1_GiB});
  CHECK_FALSE(config.pressure.watch_card);
  CHECK(config.oom.policy == OomPolicy::WaitAndRetry);
  CHECK(config.oom.defer_first_refusal == Defer::Always);
  CHECK(config.oom.deadline == std::chrono::seconds(7));
  CHECK(config.oom.wait_timeout == std::chrono::minutes(10));
  CHECK(config.oom.checkpoint == Lines{"/bin/sh", "-c", "save --now"});
  CHECK(config.oom.checkpoint_timeout == std::chrono::hours(1));
  CHECK(config.oom.spill_limit == Size{Bytes{16_GiB}});
  CHECK_FALSE(config.hooks_enabled);
  CHECK(config.log.target == LogTarget::Stderr);
  CHECK(config.log.path == "/var/log/%u-%p.log");
  CHECK(config.log.format == LogFormat::Json);
  CHECK(config.log.level == LogLevel::Error);
  CHECK(config.log.report_every == std::chrono::seconds(90));
}

TEST_CASE("a checkpoint is a command line or a signal, and the later file's replaces the other") {
  ConfigFixture fixture;
  fixture.write("etc/config.toml", "schema = 1\n[oom]\ncheckpoint = \"save\"\n");
  fixture.write("etc/conf.d/a.toml", "schema = 1\n[oom]\ncheckpoint = \"signal:USR1\"\n");
  GuardConfig config = fixture.load().config;
  CHECK(config.oom.checkpoint.empty());
  REQUIRE(config.oom.checkpoint_signal.has_value());
  CHECK(config.oom.checkpoint_signal->number == SIGUSR1);
  fixture.write("etc/conf.d/b.toml", "schema = 1\n[oom]\ncheckpoint = \"\"\n");
  config = fixture.load().config;
  CHECK(config.oom.checkpoint.empty());
  CHECK_FALSE(config.oom.checkpoint_signal.has_value());
}

TEST_CASE("the administrator's limits hold whatever the files and variables say") {
  ConfigFixture fixture;
  fixture.write("etc/limits.toml", "schema = 1\nmax_sentinel = \"2GiB\"\nhooks = false\n");
  fixture.set("VRAMGUARD_HOOKS_ENABLED", "true");
  CHECK(fixture.load().config.max_sentinel == 2_GiB);
  CHECK_FALSE(fixture.load().config.hooks_enabled);
  fixture.write("etc/config.toml", "schema = 1\n[oom]\ncheckpoint = \"./save\"\n");
  CHECK(fixture.load().config.oom.checkpoint.empty());
  fixture.write("etc/config.toml", "schema = 1\n[oom]\ncheckpoint = \"signal:SIGUSR1\"\n");
  CHECK_FALSE(fixture.load().config.oom.checkpoint_signal.has_value());
  fixture.write("etc/limits.toml", "schema = 1\nmax_sentinel = \"none\"\nhooks = true\n");
  CHECK(fixture.load().config.max_sentinel == Bytes{0});
  CHECK(fixture.load().config.hooks_enabled);
  fixture.write("etc/limits.toml", "schema = 1\nmax_sentinel = \"unlimited\"\n");
  CHECK_FALSE(fixture.load().config.max_sentinel.has_value());
}

TEST_CASE(
    "a named file that is missing, a folder or unreadable is an error, and one of the search path need not exist") {
  ConfigFixture fixture;
  fixture.paths().only_file = fixture.root() + "/nowhere.toml";
  CHECK(fixture.messages() == Lines{"nowhere.toml: error: cannot read it: no such file"});
  fixture.paths().only_file = fixture.root();
  CHECK(to_string(fixture.load().diagnostics.at(0)) == fixture.root() + ": error: it is a folder, not a file");
  fixture.paths().only_file = "/dev/null";
  CHECK(fixture.messages() == Lines{"/dev/null: error: it is not a regular file"});
  fixture.paths().only_file = fixture.root() + "/fifo";
  REQUIRE(mkfifo(fixture.paths().only_file.c_str(), 0600) == 0);
  CHECK(fixture.messages() == Lines{"fifo: error: it is not a regular file"});
  fixture.paths().only_file.clear();
  std::filesystem::create_directories(fixture.root() + "/etc/config.toml");
  CHECK(fixture.messages() == Lines{"etc/config.toml: error: it is a folder, not a file"});
}

TEST_CASE("a file that may not be read is an error, but a closed foreign home is a warning") {
  if (geteuid() == 0) return;  // root can read everything
  ConfigFixture fixture;
  const std::string own = fixture.write("home/.config/vramguard/config.toml", "schema = 1\n");
  chmod(own.c_str(), 0);
  CHECK(fixture.messages() == Lines{"home/.config/vramguard/config.toml: error: cannot read it: permission denied"});
  chmod((fixture.root() + "/home").c_str(), 0);
  CHECK(fixture.messages() == Lines{"home/.config/vramguard/config.toml: warning: cannot read it: permission denied"});
  chmod((fixture.root() + "/home").c_str(), 0755);
}

TEST_CASE("setuid programs read /etc alone, without variables, and take no hook") {
  ConfigFixture fixture;
  fixture.write("etc/config.toml",
                "schema = 1\nbudget = \"1GiB\"\n[[hook]]\nname = \"x\"\non = \"oom\"\nshell = \"true\"\n");
  fixture.write("home/.config/vramguard/config.toml", "schema = 1\nbudget = \"4GiB\"\n");
  fixture.set("VRAMGUARD_BUDGET", "5GiB");
  fixture.set("VRAMGUARD_CONFIG", "/nowhere");
  fixture.paths().secure = true;
  CHECK(fixture.load().config.budget == Size{Bytes{1_GiB}});
  CHECK(fixture.messages() == Lines{"etc/config.toml:3:1: warning: hook 'x' is ignored: the program is setuid"});
}

TEST_CASE("files of any shape are read or refused, and never crash") {
  ConfigFixture fixture;
  const Lines none;
  const Lines no_schema{"config.toml:1:1: error: 'schema = 1' is missing; every file needs it"};
  CHECK(fixture.messages_for_raw("\xEF\xBB\xBFschema = 1\r\nbudget = \"1GiB\"\r\n[log]\r\nlevel = \"warn\"\r\n") ==
        none);
  CHECK(fixture.load().config.log.level == LogLevel::Warn);
  CHECK(fixture.messages_for_raw("schema = 1") == none);
  CHECK(fixture.messages_for_raw("") == no_schema);
  CHECK(fixture.messages_for_raw("\xEF\xBB\xBF") == no_schema);
  CHECK(fixture.messages_for_raw("# nothing\n") == no_schema);
  CHECK(fixture.messages_for_raw(std::string(10U << 20, '#')) ==
        Lines{"config.toml: error: it is larger than 1MiB; a configuration file is not"});
  CHECK(fixture.messages_for_raw(std::string("schema = 1\nbud\0get = 1\n", 22)) ==
        Lines{"config.toml:2:4: error: the file has a NUL byte in it; it is not text"});
  CHECK(fixture.messages_for_raw("schema = 1\na = \xff\xfe\n").size() == 1);
  CHECK(fixture.messages_for_raw("schema = 2\nfuture = true\n") ==
        Lines{"config.toml:1:10: error: schema: version 0.1.0 reads 'schema = 1' only, and nothing else of this file"});
  CHECK(fixture.messages_for_raw("schema = \"1\"\n").size() == 1);
}

TEST_CASE("deep nesting is an error and costs no stack") {
  ConfigFixture fixture;
  const std::size_t many = 200'000;
  std::string dotted = "a";
  for (std::size_t i = 0; i < many; ++i) dotted += ".a";
  std::string quoted = "\"a\"";
  for (std::size_t i = 0; i < many; ++i) quoted += " . 'a'";
  const std::string brackets(many, '[');
  for (const std::string& text :
       {dotted + " = 1\n", "[" + dotted + "]\n", "x = {" + dotted + " = 1}\n", "x = " + brackets,
        quoted.substr(0, 900'000) + " = 1\n", "x = " + std::string(many, '{')}) {
    CHECK(fixture.messages_for(text).size() == 1);
  }
  CHECK(fixture
            .messages_for(
                "[hooks]\ntimeout = \"1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1\" # a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a\n")
            .at(0)
            .find("parts") == std::string::npos);
}
