#include "core/pressure_log.h"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

using std::chrono::milliseconds;

struct LogUnderTest {
  explicit LogUnderTest(LogFormat format = LogFormat::Json, std::string path = "", LogLevel level = LogLevel::Info,
                        LogTarget target = LogTarget::File) {
    LogConfig config;
    config.format = format;
    config.level = level;
    config.target = target;
    config.path = path.empty() ? folder.path() + "/p.log" : path;
    log = std::make_unique<PressureLog>(config, clock);
  }

  std::vector<nlohmann::json> records() const {
    std::vector<nlohmann::json> result;
    for (const std::string& line : lines_of(log->path())) result.push_back(nlohmann::json::parse(line));
    return result;
  }

  TemporaryFolder folder;
  ManualClock clock;
  std::unique_ptr<PressureLog> log;
};

LogRecord refusal(std::uint64_t bytes = 1) {
  LogRecord record(Event::OomRefused);
  record.device(0).add("api", "cuMemAlloc_v2").add("request_bytes", bytes);
  return record;
}

LogRecord never_thinned() { return LogRecord(Event::Device); }

TEST_CASE("a record waits in the queue until it is written, and carries the time when it was posted") {
  LogUnderTest test;
  test.log->post(refusal(5));
  CHECK_FALSE(std::filesystem::exists(test.log->path()));
  test.clock.advance(milliseconds(1500));
  CHECK(test.log->next_write() == MonotonicTime::min());
  test.log->write_queued();
  CHECK(test.log->next_write() == MonotonicTime::max());

  const auto records = test.records();
  REQUIRE(records.size() == 1);
  CHECK(records[0]["ts"] == "2026-01-01T00:00:00.000Z");
  CHECK(records[0]["ev"] == "oom_refused");
  CHECK(records[0]["seq"] == 1);
  CHECK(records[0]["dev"] == 0);
  CHECK(records[0]["request_bytes"] == 5);
  CHECK(test.log->seq() == 1);
}

TEST_CASE("records below the configured level are neither written nor counted as lost") {
  LogUnderTest test(LogFormat::Json, "", LogLevel::Warn);
  test.log->post(LogRecord(Event::Report));
  test.log->post(refusal());
  test.log->write_queued();
  CHECK(test.records().size() == 1);
  CHECK(test.log->dropped() == 0);
}

TEST_CASE("target none writes nothing, loses nothing and has no path") {
  LogUnderTest test(LogFormat::Json, "", LogLevel::Info, LogTarget::None);
  test.log->post(refusal());
  test.log->write_queued();
  CHECK(test.log->write_last(LogRecord(Event::Exit)));
  CHECK(test.log->path().empty());
  CHECK(test.log->dropped() == 0);
  CHECK(std::filesystem::is_empty(test.folder.path()));
}

TEST_CASE("what does not fit into the queue is counted and leaves a gap in seq") {
  LogUnderTest test;
  for (std::size_t i = 0; i < PressureLog::kQueueRecords + 7; ++i) test.log->post(never_thinned());
  CHECK(test.log->dropped() == 7);
  test.log->write_queued();
  test.log->post(never_thinned());
  test.log->write_queued();

  const auto records = test.records();
  REQUIRE(records.size() == PressureLog::kQueueRecords + 1);
  CHECK(records.front()["seq"] == 8);  // the seven are known to be lost when the first is written
  for (std::size_t i = 1; i < records.size(); ++i) CHECK(records[i]["seq"] == records[i - 1]["seq"].get<int>() + 1);
}

TEST_CASE("a record that the file system refuses is counted, leaves a gap, and is not tried again") {
  LogUnderTest test;
  const std::string path = test.log->path();
  std::filesystem::create_directory(path);
  test.log->post(refusal());
  test.log->write_queued();
  CHECK(test.log->dropped() == 1);
  std::filesystem::remove(path);
  test.log->post(refusal());
  test.log->write_queued();
  const auto records = test.records();
  REQUIRE(records.size() == 1);
  CHECK(records[0]["seq"] == 2);
}

TEST_CASE("a log on a full device counts every record and says nothing") {
  LogUnderTest test(LogFormat::Logfmt, "/dev/full");
  test.log->post(refusal());
  test.log->post(refusal());
  test.log->write_queued();
  CHECK(test.log->dropped() == 2);
}

TEST_CASE("a flood is thinned out and one record says how many were held back") {
  LogUnderTest test;
  for (int i = 0; i < 200; ++i) test.log->post(refusal());
  test.log->write_queued();
  CHECK(test.records().size() == 50);
  CHECK(test.log->next_write() == test.clock.now() + milliseconds(1000));

  test.clock.advance(milliseconds(1000));
  test.log->write_queued();
  const auto records = test.records();
  REQUIRE(records.size() == 51);
  CHECK(records.back()["ev"] == "log_suppressed");
  CHECK(records.back()["records"] == 150);
  CHECK(records.back()["window_ms"] == 1000);
  CHECK(records.back()["seq"] == 51);
  CHECK(test.log->next_write() == MonotonicTime::max());
  CHECK(test.log->dropped() == 0);
}

TEST_CASE("the report of a flood comes before the next record that is written") {
  LogUnderTest test;
  for (int i = 0; i < 60; ++i) test.log->post(refusal());
  test.log->write_queued();
  test.clock.advance(milliseconds(2000));
  test.log->post(refusal());
  test.log->write_queued();
  const auto records = test.records();
  REQUIRE(records.size() == 52);
  CHECK(records[50]["ev"] == "log_suppressed");
  CHECK(records[50]["window_ms"] == 2000);
  CHECK(records[51]["ev"] == "oom_refused");
}

TEST_CASE("the exit record comes last, after what was queued, with the number of lost records") {
  LogUnderTest test;
  for (int i = 0; i < 60; ++i) test.log->post(refusal());
  LogRecord exit(Event::Exit);
  exit.add("peak_bytes", std::uint64_t{12}).add("refused", std::uint64_t{60});
  CHECK(test.log->write_last(exit));

  test.log->post(refusal());
  test.log->write_queued();
  CHECK_FALSE(test.log->write_last(exit));
  CHECK(test.log->wait_written(milliseconds(0)));  // counted as lost: nothing to wait for

  const auto records = test.records();
  REQUIRE(records.size() == 52);
  CHECK(records[50]["ev"] == "log_suppressed");
  CHECK(records[50]["records"] == 10);
  CHECK(records[51]["ev"] == "exit");
  CHECK(records[51]["peak_bytes"] == 12);
  CHECK(records[51]["log_dropped"] == 0);
  CHECK(test.log->dropped() == 1);
}

TEST_CASE("sixteen threads that post while one writes lose and tear nothing") {
  LogUnderTest test;
  constexpr int kThreads = 16;
  constexpr int kEach = 100;
  std::atomic<int> posting{kThreads};
  std::atomic<int> timeouts{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&test, &posting, &timeouts, thread] {
      for (int i = 0; i < kEach; ++i) {
        LogRecord record = never_thinned();
        record.device(thread).add("total_bytes", i).add("uuid", std::string(100, static_cast<char>('a' + thread)));
        test.log->post(record);
        // Never more than the queue holds.
        if (i % 10 == 9 && !test.log->wait_written(std::chrono::seconds(60))) ++timeouts;
      }
      --posting;
    });
  }
  while (posting > 0) test.log->write_queued();
  test.log->write_queued();
  for (auto& thread : threads) thread.join();

  CHECK(timeouts == 0);
  CHECK(test.log->dropped() == 0);
  const auto records = test.records();
  REQUIRE(records.size() == kThreads * kEach);
  int next[kThreads] = {};
  for (std::size_t i = 0; i < records.size(); ++i) {
    const int thread = records[i]["dev"].get<int>();
    CHECK(records[i]["seq"] == i + 1);
    CHECK(records[i]["total_bytes"] == next[thread]++);
    CHECK(records[i]["uuid"] == std::string(100, static_cast<char>('a' + thread)));
  }
}

TEST_CASE("several threads may write; between them nothing is left over or doubled") {
  LogUnderTest test;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&test] {
      for (int i = 0; i < 32; ++i) {  // together what the queue holds
        test.log->post(never_thinned());
        test.log->write_queued();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  test.log->write_queued();
  CHECK(test.log->dropped() == 0);
  std::set<int> numbers;
  for (const auto& record : test.records()) numbers.insert(record["seq"].get<int>());
  CHECK(numbers.size() == 256);
  CHECK(*numbers.rbegin() == 256);
}

}  // namespace
}  // namespace vramguard
