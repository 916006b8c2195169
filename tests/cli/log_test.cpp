// `vramguard log`: what it reads, leaves out, puts in order and follows.

#include "cli/log/gaps.h"
#include "cli/log/line.h"
#include "cli/log/merge.h"
#include "cli/log/since.h"
#include "core/state/process_state_file.h"
#include "core/state/state_text.h"
#include "tests/cli/command_fixture.h"
#include "tests/support/temporary_folder.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

using namespace vramguard;
using Catch::Matchers::Contains;
using Lines = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

// A record of the minute, as the library writes it, without its end.
std::string record(int minute, int seq, const std::string& event = "pressure", int pid = 100,
                   const std::string& level = "info") {
  const std::string time = std::string(minute < 10 ? "0" : "") + std::to_string(minute);
  return "ts=2026-11-30T12:" + time + ":00.000Z lvl=" + level + " ev=" + event + " pid=" + std::to_string(pid) +
         " comm=python seq=" + std::to_string(seq) + " dev=0 x=1";
}

void append(const std::string& path, const Lines& lines) {
  std::ofstream file(path, std::ios::app | std::ios::binary);
  for (const std::string& line : lines) file << line << "\n";
}

Lines all_of(LogMerge& merge, bool last = false) {
  Lines lines;
  while (const auto line = merge.next(last)) lines.emplace_back(line->text);
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The command with a log of its own.
class LogFixture : public CommandFixture {
 public:
  LogFixture() {
    fs::create_directories(path("states"));
    set("VRAMGUARD_LOG", log());
    set("VRAMGUARD_STATE_DIR", path("states"));
  }
  std::string log() const { return path("pressure.log"); }
};

// The command while it runs, with its output at hand.
class Following {
 public:
  Following(const CommandFixture& fixture, Lines arguments) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    out_ = ends[0];
    arguments.insert(arguments.begin(), fixture.path("bin/vramguard"));
    Lines variables = fixture.environment();
    std::vector<char*> argv, envp;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    REQUIRE(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data()) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
  }
  ~Following() {
    if (out_ >= 0) close(out_);
    if (pid_ > 0) kill(pid_, SIGKILL);
  }

  Lines read_lines(std::size_t count) {
    Lines lines(1);
    for (char c; lines.size() <= count && read(out_, &c, 1) == 1;) {
      if (c == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += c;
      }
    }
    lines.pop_back();
    return lines;
  }

  // The signal that ended it, or its exit status.
  int end_by(int signal) {
    kill(pid_, signal);
    return wait();
  }
  int end_by_closing() {
    close(std::exchange(out_, -1));
    return wait();
  }

 private:
  int wait() {
    int status = 0;
    REQUIRE(waitpid(std::exchange(pid_, -1), &status, 0) > 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  }

  pid_t pid_ = -1;
  int out_ = -1;
};

std::string since(const std::string& text, const char* now) {
  const auto time = parse_since(now, WallTime{});
  const auto parsed = parse_since(text, std::get<WallTime>(time));
  const auto* objection = std::get_if<std::string>(&parsed);
  return objection != nullptr ? *objection : log_time(std::get<WallTime>(parsed));
}

}  // namespace

TEST_CASE("a line's process, number and event are found in both formats, whatever the texts hold") {
  const auto logfmt = read_log_head(R"(ts=T lvl=warn ev=exit pid=7 comm="a \" seq=9 b" seq=12 dev=0)");
  REQUIRE(logfmt);
  CHECK(logfmt->seq == 12);
  CHECK(logfmt->pid == 7);
  CHECK(logfmt->event == "exit");
  CHECK(logfmt->comm == R"(a \" seq=9 b)");
  const auto json = read_log_head(R"({"ts":"T","lvl":"warn","ev":"exit","pid":7,"comm":"a \",\"seq\":9","seq":12})");
  REQUIRE(json);
  CHECK(json->seq == 12);
  CHECK(json->level == "warn");
  for (const char* other : {"", "ts=T lvl=warn ev=exit pid=7 comm=\"a", "{\"ts\":\"T\",\"pid\":x,\"seq\":1}", "hello",
                            "ts=T ev=exit pid=7 seq=", "{\"ts\":{\"seq\":1}}", "seq=1", "{}", "="})
    CHECK_FALSE(read_log_head(other));
}

TEST_CASE("times are read as people write them") {
  setenv("TZ", "CET-1", 1);
  tzset();
  const char* now = "2026-11-30T12:00:00Z";
  CHECK(since("90s", now) == "2026-11-30T11:58:30.000Z");
  CHECK(since("2h", now) == "2026-11-30T10:00:00.000Z");
  CHECK(since("3d", now) == "2026-11-27T12:00:00.000Z");
  CHECK(since("2026-11-30", now) == "2026-11-29T23:00:00.000Z");
  CHECK(since("2026-11-30T10:15", now) == "2026-11-30T09:15:00.000Z");
  CHECK(since("2026-11-30 10:15:30", now) == "2026-11-30T09:15:30.000Z");
  CHECK(since("2026-09-20T14:03:07.412Z", now) == "2026-09-20T14:03:07.000Z");
  CHECK(since("12:30", now) == "2026-11-30T11:30:00.000Z");
  CHECK(since("13:30", now) == "2026-11-29T12:30:00.000Z");
  for (const char* wrong :
       {"", "10", "10x", "-5m", "2026-13-01", "2026-11-30T", "25:00", "12:30Z", "yesterday", "99999999999d"})
    CHECK_THAT(since(wrong, now), Contains("is no time; write 10m"));
  unsetenv("TZ");
  tzset();
}

TEST_CASE("logs and the files that they were rotated into are one log by time") {
  const TemporaryFolder folder;
  const std::string a = folder.path() + "/a.log";
  const std::string b = folder.path() + "/b.log";
  append(a + ".2", {record(1, 1), record(4, 2)});
  append(a + ".1", {record(6, 3)});
  append(a, {record(8, 4), "torn ts=2026"});
  append(b, {record(2, 1, "start", 200), record(7, 2, "exit", 200)});
  LogMerge merge(WallTime::min());
  CHECK(merge.add({a, std::nullopt}).empty());
  CHECK(merge.add({b, std::nullopt}).empty());
  CHECK(merge.add({b, std::nullopt}).empty());
  CHECK(all_of(merge, true) == Lines{record(1, 1), record(2, 1, "start", 200), record(4, 2), record(6, 3),
                                     record(7, 2, "exit", 200), record(8, 4), "torn ts=2026"});
}

TEST_CASE("what is written while a log is followed is shown once, through rename, truncation and removal") {
  const TemporaryFolder folder;
  const std::string log = folder.path() + "/a.log";
  MonotonicTime now{};
  LogMerge merge(WallTime::min());
  merge.add({log, std::nullopt});
  const auto next = [&](std::chrono::milliseconds later) {
    merge.look_again(now += later);
    return all_of(merge);
  };
  using std::chrono::milliseconds;
  CHECK(merge.empty());
  CHECK(all_of(merge).empty());
  append(log, {record(1, 1)});
  CHECK(next(milliseconds(200)) == Lines{record(1, 1)});

  // A line that is being written is shown when it is whole.
  std::ofstream(log, std::ios::app) << record(2, 2).substr(0, 20);
  CHECK(next(milliseconds(200)).empty());
  std::ofstream(log, std::ios::app) << record(2, 2).substr(20) << "\n";
  CHECK(next(milliseconds(200)) == Lines{record(2, 2)});

  append(log, {record(3, 3)});
  fs::rename(log, log + ".1");
  append(log, {record(4, 4)});
  CHECK(next(milliseconds(200)) == Lines{record(3, 3), record(4, 4)});
  append(log + ".1", {record(4, 1, "late", 200)});
  append(log, {record(5, 5)});
  CHECK(next(milliseconds(200)) == Lines{record(4, 1, "late", 200), record(5, 5)});
  CHECK(next(milliseconds(2000)).empty());

  fs::resize_file(log, 0);
  append(log, {record(6, 6)});
  CHECK(next(milliseconds(200)) == Lines{record(6, 6)});
  fs::remove(log);
  CHECK(next(milliseconds(200)).empty());
  append(log, {record(7, 7)});
  CHECK(next(milliseconds(200)) == Lines{record(7, 7)});
}

TEST_CASE("a line without an end in sight takes no more memory than a piece, and what follows is read") {
  const TemporaryFolder folder;
  const std::string log = folder.path() + "/a.log";
  append(log, {std::string(10 * LineReader::kPieceBytes, 'x'), record(1, 1)});
  LogMerge merge(WallTime::min());
  merge.add({log, std::nullopt});
  const Lines lines = all_of(merge, true);
  CHECK(lines.back() == record(1, 1));
  for (const std::string& line : lines) CHECK(line.size() <= 2 * LineReader::kPieceBytes);
}

TEST_CASE("missing numbers of a process are told, and other processes of its number are none of its own") {
  LogGaps gaps;
  const auto see = [&](std::size_t log, int pid, std::uint64_t seq, const char* event = "pressure") {
    gaps.see(log, LogHead{"T", "info", event, "python", pid, seq});
  };
  see(0, 1, 5);  // the older ones have been rotated away
  see(0, 1, 6);
  see(0, 1, 9);
  see(0, 2, 1);
  see(0, 2, 3, "exit");
  see(0, 2, 1);  // the number again
  see(1, 1, 3);  // of another log
  see(1, 1, 4);
  see(0, 3, 7);  // two containers in one log
  see(0, 3, 9);
  see(0, 3, 8);
  const Lines words = gaps.in_words();
  REQUIRE(words.size() == 2);
  CHECK_THAT(words[0], Contains("1 record of python (2) is missing"));
  CHECK_THAT(words[1], Contains("2 records of python (1) are missing"));
}

TEST_CASE("log passes records through unchanged, and leaves out by process, event, level and time") {
  const LogFixture fixture;
  append(fixture.log() + ".1", {record(1, 1, "start"), record(2, 2, "pressure", 100, "warn")});
  append(fixture.log(), {record(3, 1, "start", 200), record(4, 3, "oom_returned", 100, "error"), "something else",
                         record(5, 2, "exit", 200)});
  const auto shown = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "log");
    const Outcome outcome = fixture.vramguard(options);
    CHECK(outcome.exit_status == 0);
    CHECK(outcome.err.empty());
    return outcome.out;
  };
  CHECK(shown({}) == content_of(fixture.log() + ".1") + content_of(fixture.log()));
  CHECK(shown({"-p", "200"}) == text_of({record(3, 1, "start", 200), record(5, 2, "exit", 200)}));
  CHECK(shown({"--ev", "exit,oom_returned"}) ==
        text_of({record(4, 3, "oom_returned", 100, "error"), record(5, 2, "exit", 200)}));
  CHECK(shown({"--level", "warn"}) ==
        text_of({record(2, 2, "pressure", 100, "warn"), record(4, 3, "oom_returned", 100, "error")}));
  CHECK(shown({"--since", "2026-11-30T12:04:00Z", "-p", "100"}) ==
        text_of({record(4, 3, "oom_returned", 100, "error")}));
  CHECK(shown({"-n", "1"}) == text_of({record(5, 2, "exit", 200)}));
}

TEST_CASE("log reads the logs that guarded processes name, also those that have ended") {
  const LogFixture fixture;
  auto made = ProcessStateFile::make(fixture.path("states"));
  auto& file = std::get<ProcessStateFile>(made);
  set_state_text(file.state().log_path, fixture.path("elsewhere.log"));
  std::thread([&] { REQUIRE(file.mark_alive_and_publish()); }).join();
  append(fixture.path("elsewhere.log"), {record(1, 1)});
  append(fixture.log(), {record(2, 1, "pressure", 200)});
  CHECK(fixture.vramguard({"log"}).out == text_of({record(1, 1), record(2, 1, "pressure", 200)}));

  // Somebody else's process could name any file of ours.
  if (geteuid() == 0) {
    REQUIRE(chown(file.state_path().c_str(), 12345, 12345) == 0);
    REQUIRE(chown(fixture.path("states").c_str(), 12345, 12345) == 0);
    CHECK(fixture.vramguard({"log"}).out == text_of({record(2, 1, "pressure", 200)}));
    REQUIRE(chown(fixture.path("elsewhere.log").c_str(), 12345, 12345) == 0);
    CHECK(fixture.vramguard({"log"}).out == text_of({record(1, 1), record(2, 1, "pressure", 200)}));
  }
}

TEST_CASE("log finds the logs of a path that names the process") {
  CommandFixture fixture;
  fs::create_directories(fixture.path("states"));
  fixture.set("VRAMGUARD_STATE_DIR", fixture.path("states"));
  fixture.set("VRAMGUARD_LOG", fixture.path("each.%p.log"));
  append(fixture.path("each.17.log"), {record(1, 1, "pressure", 17)});
  append(fixture.path("each.17.log.1"), {record(0, 1, "start", 17)});
  append(fixture.path("each.4711.log"), {record(2, 1, "pressure", 4711)});
  CHECK(fixture.vramguard({"log"}).out ==
        text_of({record(0, 1, "start", 17), record(1, 1, "pressure", 17), record(2, 1, "pressure", 4711)}));
}

TEST_CASE("log says what it cannot show, and what is missing") {
  const LogFixture fixture;
  Outcome outcome = fixture.vramguard({"log"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.err == "vramguard: warning: there is no log yet at " + fixture.log() + "\n");

  append(fixture.log(), {record(1, 1), record(2, 4)});
  outcome = fixture.vramguard({"log", "--ev", "start"});
  CHECK(outcome.exit_status == 0);
  CHECK_THAT(outcome.err, Contains("warning: 2 records of python (100) are missing"));

  outcome = fixture.vramguard({"log", "--ev", "presure"});
  CHECK(outcome.exit_status == 125);
  CHECK(outcome.err == "vramguard: error: --ev: there is no event 'presure'; did you mean 'pressure'?\n");
  CHECK_THAT(fixture.vramguard({"log", "--level", "bad"}).err, Contains("there are error, warn, info, debug"));
  CHECK_THAT(fixture.vramguard({"log", "--since", "noon"}).err, Contains("--since: 'noon' is no time"));

  fs::remove(fixture.log());
  fs::create_directory(fixture.log());
  outcome = fixture.vramguard({"log"});
  CHECK(outcome.exit_status == 1);
  CHECK_THAT(outcome.err, Contains(fixture.log() + " cannot be read"));
}

TEST_CASE("log -f shows the last records, then what comes, and ends by SIGINT or when nobody reads any more") {
  const LogFixture fixture;
  for (int seq = 1; seq <= 20; ++seq) append(fixture.log(), {record(seq, seq)});
  for (const bool interrupt : {true, false}) {
    Following following(fixture, {"log", "-f"});
    Lines lines = following.read_lines(10);
    CHECK(lines.front() == record(11, 11));
    append(fixture.log(), {record(21, 21)});
    CHECK(following.read_lines(1) == Lines{record(21, 21)});
    if (interrupt) {
      CHECK(following.end_by(SIGINT) == SIGINT);
    } else {
      CHECK(following.end_by_closing() == 0);
    }
    fs::remove(fixture.log());
    for (int seq = 1; seq <= 20; ++seq) append(fixture.log(), {record(seq, seq)});
  }
}
