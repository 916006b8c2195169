#include "core/log_format.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "core/utf8.h"

namespace vramguard {
namespace {

// 2026-09-20T14:03:07.412Z
const WallTime kWall{std::chrono::sys_days{std::chrono::year{2026} / 9 / 20} + std::chrono::hours(14) +
                     std::chrono::minutes(3) + std::chrono::milliseconds(7412)};

LogIdentity identity(std::string_view comm = "python") {
  LogIdentity result;
  result.pid = 28491;
  std::copy(comm.begin(), comm.end(), result.comm.begin());
  return result;
}

std::string format(LogFormat format, const LogRecord& record, std::string_view comm = "python") {
  LogLine line;
  LogFormatter(format, identity(comm)).format(record, kWall, 4, line);
  return std::string(line.text());
}

std::string logfmt(const LogRecord& record) { return format(LogFormat::Logfmt, record); }

// What follows `key=` in a guard_error's line.
std::string logfmt_value(std::string_view text) {
  LogRecord record(Event::GuardError);
  record.add("message", text);
  const std::string line = logfmt(record);
  const std::size_t at = line.find(" message=") + 9;
  return line.substr(at, line.size() - at - 1);
}

nlohmann::json json(const LogRecord& record) { return nlohmann::json::parse(format(LogFormat::Json, record)); }

LogRecord pressure() {
  LogRecord record(Event::Pressure);
  record.device(0)
      .add("from", "none")
      .add("to", "high")
      .add("scope", "budget")
      .add("free_bytes", std::uint64_t{1048576000})
      .add("free_pct", 4.88)
      .add("used_bytes", std::uint64_t{20426260480})
      .add("budget_bytes", std::uint64_t{21474836480})
      .add("device_free_bytes", std::uint64_t{98784247808});
  return record;
}

TEST_CASE("a record is one logfmt line that starts with time, level, event, process, number and device") {
  CHECK(logfmt(pressure()) ==
        "ts=2026-09-20T14:03:07.412Z lvl=warn ev=pressure pid=28491 comm=python seq=4 dev=0 from=none to=high "
        "scope=budget free_bytes=1048576000 free_pct=4.9 used_bytes=20426260480 budget_bytes=21474836480 "
        "device_free_bytes=98784247808\n");
}

TEST_CASE("the same record as JSON has the same keys in the same order, and numbers as numbers") {
  CHECK(format(LogFormat::Json, pressure()) ==
        R"({"ts":"2026-09-20T14:03:07.412Z","lvl":"warn","ev":"pressure","pid":28491,"comm":"python","seq":4,"dev":0,)"
        R"("from":"none","to":"high","scope":"budget","free_bytes":1048576000,"free_pct":4.9,"used_bytes":20426260480,)"
        R"("budget_bytes":21474836480,"device_free_bytes":98784247808})"
        "\n");
  CHECK(json(pressure())["used_bytes"] == 20426260480);
}

TEST_CASE("a record about no device has no dev, and one without fields is still whole") {
  CHECK(logfmt(LogRecord(Event::Exit)) == "ts=2026-09-20T14:03:07.412Z lvl=info ev=exit pid=28491 comm=python seq=4\n");
  CHECK(json(LogRecord(Event::Exit)).size() == 6);
}

TEST_CASE("a record may have another level than its event usually has") {
  CHECK(logfmt(LogRecord(Event::Pressure, LogLevel::Info)).find(" lvl=info ") != std::string::npos);
  CHECK(logfmt(LogRecord(Event::OomReturned)).find(" lvl=error ") != std::string::npos);
}

TEST_CASE("logfmt quotes what would be read as something else") {
  CHECK(logfmt_value("plain/path-1.2:3,4") == "plain/path-1.2:3,4");
  CHECK(logfmt_value("größe") == "größe");
  CHECK(logfmt_value("") == R"("")");
  CHECK(logfmt_value("two words") == R"("two words")");
  CHECK(logfmt_value("a=b") == R"("a=b")");
  CHECK(logfmt_value("say \"hi\"") == R"("say \"hi\"")");
  CHECK(logfmt_value("back\\slash") == R"("back\\slash")");
  CHECK(logfmt_value("line\nbreak\ttab\r") == R"("line\nbreak\ttab\r")");
  CHECK(logfmt_value("\x1b[31mred\x7f") == R"("\u001b[31mred\u007f")");
  CHECK(logfmt_value(std::string_view("nul\0byte", 8)) == R"("nul\u0000byte")");
  CHECK(logfmt_value("bad\xff\xc3(utf") == R"("bad\ufffd\ufffd(utf")");
  CHECK(logfmt_value("c1 \xc2\x9b[2J") == R"("c1 \u009b[2J")");
  CHECK(logfmt_value("sep\xe2\x80\xa8") == R"("sep\u2028")");
  CHECK(logfmt_value("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");
}

TEST_CASE("a process name cannot forge a field or a line") {
  const std::string line = format(LogFormat::Logfmt, LogRecord(Event::Exit), "x seq=9\nts=1");
  CHECK(line.find(" comm=\"x seq=9\\nts=1\" seq=4\n") != std::string::npos);
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
}

TEST_CASE("JSON is valid whatever the bytes are") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  LogRecord record(Event::GuardError);
  record.add("where", std::string_view(all)).add("message", "\xe2\x82");
  const auto parsed = json(record);
  CHECK(parsed["where"].get<std::string>().substr(0, 128) == all.substr(0, 128));
  CHECK(parsed["message"] == "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("the extremes of each kind of number are printed") {
  LogRecord record(Event::ConfigError);
  record.add("line", std::numeric_limits<std::uint64_t>::max()).add("col", std::numeric_limits<std::int64_t>::min());
  CHECK(logfmt(record).find("line=18446744073709551615 col=-9223372036854775808\n") != std::string::npos);

  LogRecord odd(Event::Pressure);
  odd.add("free_pct", std::numeric_limits<double>::quiet_NaN())
      .add("free_pct", std::numeric_limits<double>::infinity())
      .add("free_pct", 100.0)
      .add("free_pct", -0.04)
      .add("free_pct", 1e300);
  CHECK(logfmt(odd).find("free_pct=0.0 free_pct=0.0 free_pct=100.0 free_pct=-0.0 free_pct=1000000000000000.0\n") !=
        std::string::npos);
}

TEST_CASE("a value that is too long is cut between characters and the record says so") {
  std::string text(LogRecord::kMaxTextBytes - 1, 'x');
  CHECK(logfmt_value(text + "y") == text + "y");
  CHECK(logfmt_value(text + "\xc3\xa4") == text + " cut=1");
  CHECK(logfmt_value(text + "yz") == text + "y cut=1");
}

TEST_CASE("a field that does not fit is left out, later ones that fit are kept, and the record says so") {
  const std::string text(LogRecord::kMaxTextBytes, 'x');
  LogRecord record(Event::ConfigError);
  record.add("file", text).add("key", text).add("message", text).add("line", 7);
  const auto parsed = json(record);
  CHECK(parsed["file"] == text);
  CHECK_FALSE(parsed.contains("message"));
  CHECK(parsed["line"] == 7);
  CHECK(parsed["cut"] == 1);
}

TEST_CASE("a line that escapes blow up stays within one write and ends whole") {
  const std::string hostile(LogRecord::kMaxTextBytes, '\x01');
  LogRecord record(Event::ConfigError);
  record.add("file", hostile).add("key", hostile).add("suggest", hostile.substr(0, 150)).add("line", 7);
  CHECK_FALSE(record.cut());
  for (const LogFormat kind : {LogFormat::Logfmt, LogFormat::Json}) {
    const std::string line = format(kind, record);
    CHECK(line.size() <= 4095);
    CHECK(line.back() == '\n');
  }
  const auto parsed = json(record);
  CHECK(parsed["file"] == hostile);
  CHECK_FALSE(parsed.contains("key"));
  CHECK(parsed["line"] == 7);
  CHECK(parsed["cut"] == 1);
  CHECK(logfmt(record).ends_with(" line=7 cut=1\n"));
}

TEST_CASE("wherever a line gets too long, it says that it was cut, and one that just fits does not") {
  const std::string hostile(LogRecord::kMaxTextBytes, '\x01');
  bool some_whole = false;
  bool some_cut = false;
  for (std::size_t size = 0; size < 420; ++size) {
    LogRecord record(Event::ConfigError);
    record.add("file", hostile).add("key", hostile.substr(0, 200));
    record.add("suggest", std::string(std::min<std::size_t>(size, LogRecord::kMaxTextBytes), 'x'));
    record.add("message", std::string(size - std::min<std::size_t>(size, LogRecord::kMaxTextBytes), 'x'));
    const auto parsed = json(record);
    const bool cut = parsed.contains("cut");
    some_whole = some_whole || !cut;
    some_cut = some_cut || cut;
    CHECK(cut == (!parsed.contains("suggest") || !parsed.contains("message") || record.cut()));
    CHECK(logfmt(record).back() == '\n');
  }
  CHECK(some_whole);
  CHECK(some_cut);
}

TEST_CASE("cutting text never splits a character and never drops one that is whole") {
  CHECK(utf8_prefix("abc", 3) == "abc");
  CHECK(utf8_prefix("abcd", 3) == "abc");
  CHECK(utf8_prefix("a\xc3\xa4", 2) == "a");
  CHECK(utf8_prefix("a\xe2\x82\xac!", 3) == "a");
  CHECK(utf8_prefix("a\xe2\x82\xac!", 4) == "a\xe2\x82\xac");
  CHECK(utf8_prefix("\xf0\x9f\x98\x80!", 3).empty());
  CHECK(utf8_prefix("\xff\xff\xff", 2) == "\xff\xff");
  CHECK(utf8_prefix("abc", 0).empty());
}

TEST_CASE("this process is named by its pid and its kernel name") {
  const LogIdentity self = LogIdentity::of_this_process();
  CHECK(self.pid == getpid());
  CHECK(self.comm_text() == "unit_tests");
}

}  // namespace
}  // namespace vramguard
