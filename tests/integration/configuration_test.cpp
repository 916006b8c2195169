// A wrong configuration stops the program at cuInit and says why; the off-switch switches everything off.
#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

const std::string kTryTwice = "init 0\ninit 0\nretain 0\nalloc_v2 4096\n";

}  // namespace

TEST_CASE("a wrong configuration makes every cuInit fail, with one line that names the place and the remedy") {
  Host host;
  const std::string file =
      host.write_file("vramguard.toml", "schema = 1\nbudget = \"2GiB\"\n\n[pressure]\nmediun = \"10%\"\n");
  const Run run = host.run(program("console"), {}, {.input = kTryTwice});
  REQUIRE(run.exit_status == 0);
  CHECK(run.lines() == std::vector<std::string>{"init 800", "init 800", "retain 3", "alloc_v2 3"});
  CHECK(lines_in(run.err) == 1);
  CHECK_THAT(run.err, StartsWith("vramguard: " + file + ":5:1: error: "));
  CHECK_THAT(run.err,
             Contains("mediun") && Contains("medium") && Contains("VRAMGUARD=0") && Contains("VRAMGUARD_ON_ERROR=run"));
  const Record error = run.log.one("config_error");
  CHECK(error["lvl"] == "error");
  CHECK(error["file"] == file);
  CHECK(error["line"] == "5");
  CHECK(error["col"] == "1");
  CHECK(error["key"] == "pressure.mediun");
  CHECK(error["suggest"] == "pressure.medium");
  CHECK(error["action"] == "refused");
  CHECK(run.log.all("start").empty());
  CHECK(host.calls("cuInit") == 0);
}

TEST_CASE("every mistake stops the program, whatever it is about") {
  struct Mistake {
    std::string budget, file;
  };
  for (const Mistake& mistake : {
           Mistake{"20", ""}, Mistake{"0", ""}, Mistake{"-1GiB", ""}, Mistake{"8 giraffes", ""}, Mistake{"101%", ""},
           Mistake{"18446744073709551616", ""}, Mistake{"99999999999TiB", ""}, Mistake{"cuda:x=1GiB", ""},
           Mistake{"", "budget = \"2GiB\"\n"},                                                              // no schema
           Mistake{"", "schema = 2\n"}, Mistake{"", "schema = 1\nbudget = \"2GiB\"\nbudget = \"3GiB\"\n"},  // twice
           Mistake{"", "schema = 1\nbudget = true\n"},             // of the wrong type
           Mistake{"", "schema = 1\nlow = \"30%\"\n"},             // in the wrong table
           Mistake{"", "schema = 1\noom_policy = \"wait\"\n"},     // no such policy
           Mistake{"", "schema = 1\ngroup = \"a/b\"\n"},           // no name
           Mistake{"", "schema = 1\n[pressure]\nlow = \"5%\"\n"},  // not falling
           Mistake{"", "schema = 1\nbudget = \"2GiB\n"},           // no TOML
       }) {
    CAPTURE(mistake.budget, mistake.file);
    Host host;
    if (!mistake.file.empty()) host.write_file("vramguard.toml", mistake.file);
    const Run run = host.run(program("console"), {}, {.budget = mistake.budget, .input = "init 0\n"});
    CHECK(run.exit_status == 0);
    CHECK(run.lines() == std::vector<std::string>{"init 800"});
    CHECK(lines_in(run.err) == 1);
    CHECK_THAT(run.err, StartsWith("vramguard: ") && Contains("error: "));
    CHECK_FALSE(run.log.all("config_error").empty());
    CHECK(run.log.all("start").empty());
  }
}

TEST_CASE("a file that is named and is not there is a mistake, too") {
  Host host;
  const Run run =
      host.run(program("console"), {}, {.env = {{"VRAMGUARD_CONFIG", host.path("nowhere.toml")}}, .input = "init 0\n"});
  CHECK(run.lines() == std::vector<std::string>{"init 800"});
  CHECK_THAT(run.err, Contains(host.path("nowhere.toml")));
  CHECK(lines_in(run.err) == 1);
}

TEST_CASE("the environment wins over the file, and an unknown variable is only a warning") {
  Host host;
  host.write_file("vramguard.toml", "schema = 1\nbudget = \"1GiB\"\n");
  const Run run = host.run(program("console"), {},
                           {.budget = "2GiB", .env = {{"VRAMGUARD_BUGDET", "3GiB"}}, .input = "init 0\ntotal 0\n"});
  CHECK(run.lines() == std::vector<std::string>{"init 0", "total 0 2147483648"});
  CHECK(run.err.empty());
  CHECK(run.log.all("start").size() == 1);
  const Record warning = run.log.one("config_error");
  CHECK(warning["lvl"] == "warn");
  CHECK(warning["file"] == "VRAMGUARD_BUGDET");
  CHECK(warning["suggest"] == "VRAMGUARD_BUDGET");
  CHECK(warning["action"] == "ignored");
}

TEST_CASE("VRAMGUARD_ON_ERROR=run goes on without a budget, and the line on stderr stays") {
  Host host;
  host.write_file("vramguard.toml", "schema = 1\nbudget = \"2 giraffes\"\n");
  const Run run =
      host.run(program("console"), {},
               {.env = {{"VRAMGUARD_ON_ERROR", "run"}}, .input = "init 0\ninit 0\nretain 0\nfill alloc_v2 33554432\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.lines().back() == "fill 2 239");  // the card's own limit
  CHECK(lines_in(run.err) == 1);
  CHECK_THAT(run.err, StartsWith("vramguard: " + host.path("vramguard.toml") + ":2:") && Contains("without a budget"));
  CHECK(run.log.one("config_error")["lvl"] == "error");
}

TEST_CASE("VRAMGUARD=0 leaves the driver's own addresses, no file, no thread and no core in the process") {
  for (const std::string name : {"console", "console_linked"}) {
    CAPTURE(name);
    const std::string script =
        "init 0\nretain 0\nfill alloc_v2 33554432\ninfo\ntotal 0\nmaps libvramguard-core\nmaps libvramguard.so\n"
        "maps libnvidia-ml\nthreads\nwhere dlsym cuMemAlloc_v2\n"
        "where default cuMemAlloc_v2\nwhere proc cuMemAlloc_v2\nwhere proc_v2 cuMemAlloc_v2\n"
        "where proc_self cuGetProcAddress_v2\n";
    const std::string way = name == "console" ? "dlsym" : "link";
    Host host;
    host.write_file("vramguard.toml", "this is no configuration");
    const Run run =
        host.run(program(name), {way}, {.budget = "nonsense", .env = {{"VRAMGUARD", "0"}}, .input = script});
    const Run plain = Host().run(program(name), {way}, {.preload = false, .input = script});
    REQUIRE(run.exit_status == 0);
    CHECK(run.err.empty());
    std::vector<std::string> expected = plain.lines();
    CHECK(expected.at(2) == "fill 2 239");
    CHECK(expected.at(6) == "maps 0");
    expected.at(6) = "maps 1";  // it is loaded, and that is all
    CHECK(run.lines() == expected);
    CHECK(run.log.empty());
    CHECK_FALSE(std::filesystem::exists(host.log_path()));
    CHECK_FALSE(std::filesystem::exists(host.path("state")));
  }
}

TEST_CASE("the off-switch is decided once and only by its exact value") {
  Host host;
  for (const std::string value : {"1", "off"}) {
    CAPTURE(value);
    const Run run = host.run(program("console"), {},
                             {.budget = "2GiB", .env = {{"VRAMGUARD", value}}, .input = "init 0\ntotal 0\n"});
    // 1 is the default; anything else is told rather than guessed.
    CHECK(run.lines().at(0) == (value == "off" ? "init 800" : "init 0"));
    if (value == "1") CHECK(run.lines().at(1) == "total 0 2147483648");
  }
}
