// What the pressure log tells of a run.
#include <signal.h>

#include <nlohmann/json.hpp>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

const std::string kFill = "init 0\nretain 0\nfill alloc_v2 33554432\n";

// Every process numbers its records without a gap.
void check_sequence(const Log& log) {
  std::map<std::string, std::uint64_t> last;
  for (const Record& record : log.records()) CHECK(record.number("seq") == ++last[record["pid"]]);
}

}  // namespace

TEST_CASE("a run leaves its start, device, context, refusal and exit records with what they must say") {
  Host host;
  const Run run = host.run(program("console"), {}, {.budget = "2GiB", .input = "pid\n" + kFill});
  REQUIRE(run.exit_status == 0);
  const std::string pid = run.lines().at(0).substr(4);
  check_sequence(run.log);
  for (const Record& record : run.log.records()) {
    CHECK(record["pid"] == pid);
    CHECK(record["comm"] == "console");
    CHECK(record["ts"].size() == 24);
  }
  const Record start = run.log.records().front(), end = run.log.records().back();
  CHECK(start["ev"] == "start");
  CHECK(start["lvl"] == "info");
  CHECK(start["ver"] == VRAMGUARD_VERSION);
  CHECK_FALSE(start["driver"].empty());
  CHECK(start["policy"] == "fail");
  CHECK(start["devices"] == "1");

  const Record device = run.log.one("device");
  CHECK(device["dev"] == "0");
  CHECK(device["uuid"].rfind("GPU-", 0) == 0);
  CHECK(device["pci"] == "0000:3b:00.0");
  CHECK(device.number("total_bytes") == 8_GiB);
  CHECK(device.number("budget_bytes") == 2_GiB);
  CHECK(run.log.one("context").number("context_bytes") == 520_MiB);

  for (const std::string event : {"oom_refused", "oom_returned"}) {
    const Record record = run.log.one(event);
    CHECK(record["dev"] == "0");
    CHECK(record["api"] == "cuMemAlloc_v2");
    CHECK(record["tid"] == pid);
    CHECK(record.number("request_bytes") == 32_MiB);
    CHECK(record.number("short_bytes") == 8_MiB);  // 24 of the 1,528 MiB were left
    CHECK(record["scope"] == "budget");
  }
  const Record returned = run.log.one("oom_returned");
  CHECK(returned["lvl"] == "error");
  CHECK(returned.number("used_bytes") == 2_GiB - 24_MiB);
  CHECK(returned.number("budget_bytes") == 2_GiB);
  CHECK(returned.number("device_free_bytes") == 6_GiB + 24_MiB);
  CHECK(returned.number("linear_bytes") == 1504_MiB);
  CHECK(returned.number("context_bytes") == 520_MiB);
  CHECK(returned["policy"] == "fail");

  CHECK(end["ev"] == "exit");
  CHECK(end.number("peak_bytes") == 2_GiB - 24_MiB);
  CHECK(end["refused"] == "1");
  CHECK(end["log_dropped"] == "0");
}

TEST_CASE("an OOM that the program was given raises the pressure to critical") {
  Host host;
  const auto process = host.start(program("console"), {}, {.budget = "2GiB"});
  process->write(kFill);
  for (int i = 0; i < 3; ++i) process->read_line();
  process->write("sleep_ms 400\n");
  CHECK(process->read_line() == "sleep_ms");
  process->finish();
  const std::vector<Record> levels = host.log().all("pressure");
  REQUIRE_FALSE(levels.empty());
  CHECK(levels.back()["to"] == "critical");
  CHECK(levels.back()["lvl"] == "warn");
  CHECK(levels.back()["scope"] == "budget");
  CHECK(levels.back().number("free_bytes") == 24_MiB);
  CHECK(levels.back().number("used_bytes") == 2_GiB - 24_MiB);
  CHECK(levels.back()["free_pct"] == "1.2");
  CHECK(host.log().one("start")["mode"] == "enforce");
}

TEST_CASE("the levels are passed one by one in a slow ramp, and left when memory is freed") {
  Host host;
  const auto process = host.start(program("console"), {}, {.budget = "2GiB"});
  const auto step = [&](const std::string& command, int ms) {
    process->write(command + "\nsleep_ms " + std::to_string(ms) + "\n");
    process->read_line();
    process->read_line();
  };
  step("init 0", 0);
  step("retain 0", 0);
  step("alloc_v2 964689920", 900);  // 1,440 of 2,048 MiB: 29.7 % are free
  step("alloc_v2 419430400", 900);  // 10.2 %
  step("alloc_v2 10485760", 900);   // 9.7 %
  step("alloc_v2 104857600", 400);  // 4.8 %
  step("free_all", 3000);
  process->finish();
  std::string passed;
  for (const Record& record : host.log().all("pressure")) passed += record["to"] + " ";
  CHECK(passed == "low medium high none ");
  check_sequence(host.log());
}

TEST_CASE("json records carry the same keys and values") {
  Host host;
  const Run run = host.run(program("console"), {},
                           {.budget = "2GiB",
                            .env = {{"VRAMGUARD_LOG_FORMAT", "json"}, {"VRAMGUARD_LOG", host.path("json.log")}},
                            .input = kFill});
  REQUIRE(run.exit_status == 0);
  std::map<std::string, nlohmann::json> by_event;
  for (const std::string& line : vramguard::lines_of(host.path("json.log"))) {
    const nlohmann::json record = nlohmann::json::parse(line);
    by_event[record.at("ev")] = record;
  }
  CHECK(by_event.at("start").at("mode") == "enforce");
  CHECK(by_event.at("device").at("budget_bytes") == 2_GiB);
  CHECK(by_event.at("oom_returned").at("short_bytes") == 8_MiB);
  CHECK(by_event.at("exit").at("refused") == 1);
}

TEST_CASE("a report is written at the interval that was asked for") {
  Host host;
  const auto process =
      host.start(program("console"), {}, {.budget = "2GiB", .env = {{"VRAMGUARD_LOG_REPORT_EVERY", "1s"}}});
  process->write("init 0\nretain 0\nalloc_v2 104857600\nsleep_ms 2600\n");
  for (int i = 0; i < 4; ++i) process->read_line();
  process->finish();
  const std::vector<Record> reports = host.log().all("report");
  REQUIRE_FALSE(reports.empty());
  CHECK(reports.front().number("used_bytes") == 620_MiB);
  CHECK(reports.front().number("budget_bytes") == 2_GiB);
  CHECK(reports.front().number("free_bytes") == 2_GiB - 620_MiB);
  CHECK(reports.back().number("device_free_bytes") == 8_GiB - 620_MiB);  // the watchdog has looked by then
  CHECK(reports.front()["allocations"] == "1");
  CHECK(reports.front()["level"] == "none");
}

TEST_CASE("the log can go to standard error or nowhere") {
  Host host;
  Run run =
      host.run(program("console"), {}, {.budget = "2GiB", .env = {{"VRAMGUARD_LOG_TARGET", "stderr"}}, .input = kFill});
  CHECK(run.log.empty());
  const Log log = Log::parse(run.err);
  CHECK(log.one("start")["mode"] == "enforce");
  CHECK(log.one("oom_returned").number("request_bytes") == 32_MiB);
  CHECK(log.one("exit")["refused"] == "1");
  CHECK(run.lines().back() == "fill 2 47");

  run = host.run(program("console"), {}, {.budget = "2GiB", .env = {{"VRAMGUARD_LOG_TARGET", "none"}}, .input = kFill});
  CHECK(run.log.empty());
  CHECK(run.err.empty());
  CHECK(run.lines().back() == "fill 2 47");
}

TEST_CASE("the default place is in the state folder of the user") {
  if (getuid() == 0) return;  // root's is /var/log/vramguard, which tests leave alone
  Host host;
  const Run run = host.run(program("console"), {}, {.budget = "2GiB", .env = {{"VRAMGUARD_LOG", ""}}, .input = kFill});
  CHECK(run.exit_status == 0);
  const Log log = Log::parse(vramguard::content_of(host.path("state/vramguard/pressure.log")));
  CHECK(log.one("start")["mode"] == "enforce");
}

TEST_CASE("a killed program leaves whole lines and no exit record") {
  Host host;
  const auto process = host.start(program("console"), {}, {.budget = "2GiB"});
  process->write(kFill + "sleep_ms 200\nsleep_ms 60000\n");
  for (int i = 0; i < 4; ++i) process->read_line();
  kill(process->pid(), SIGKILL);
  const Run run = process->finish();
  CHECK(run.signal == SIGKILL);
  const std::string text = vramguard::content_of(host.log_path());
  REQUIRE_FALSE(text.empty());
  CHECK(text.back() == '\n');
  const Log log = host.log();
  CHECK(log.one("start")["mode"] == "enforce");
  CHECK(log.one("oom_returned")["refused"].empty());
  CHECK(log.all("exit").empty());
  check_sequence(log);
  CHECK(host.used_bytes(0) == 0);
}

TEST_CASE("the record of a refusal is in the file when the refused call returns") {
  for (int round = 0; round < 20; ++round) {
    Host host;
    const Run run = host.run(program("console"), {}, {.budget = "2GiB", .input = kFill + "kill 9\n"});
    CHECK(run.signal == SIGKILL);
    CHECK(run.log.one("oom_returned").number("request_bytes") == 32_MiB);
  }
}

TEST_CASE("a program that ends right after a change of pressure leaves no record out") {
  for (int round = 0; round < 20; ++round) {
    Host host;
    const Run run = host.run(program("console"), {},
                             {.budget = "2GiB", .input = "init 0\nretain 0\nalloc_v2 1602224128\nexit 0\n"});
    CHECK(run.exit_status == 0);
    CHECK(run.log.one("pressure")["to"] == "critical");
    CHECK(run.log.one("exit").number("log_dropped") == 0);
    check_sequence(run.log);
  }
}

TEST_CASE("nothing is printed where stderr is no terminal") {
  Host host;
  const Run run = host.run(program("console"), {}, {.budget = "2GiB", .input = kFill});
  CHECK(run.err.empty());
  CHECK(run.lines() == std::vector<std::string>{"init 0", "retain 0 0", "fill 2 47"});
  CHECK(run.log.all("start").size() == 1);
}
