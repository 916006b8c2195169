// `vramguard top`: what it draws, and that it leaves the terminal as it was.

#include "cli/top_screen.h"
#include "core/bytes.h"
#include "tests/cli/command_fixture.h"
#include "tests/cli/terminal_session.h"
#include "tests/support/fabricated_state.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <memory>

using namespace vramguard;
using Catch::Matchers::Contains;

namespace {

constexpr char kEnter[] = "\x1b[?1049h", kLeave[] = "\x1b[?25h\x1b[?1049l";

ProcessTable some_table(std::size_t processes, std::size_t records) {
  ProcessTable table;
  table.devices = {{"GPU-a", "", "Card", 0, 16_GiB, 4_GiB, 8_GiB, 2_GiB}};
  for (std::size_t i = 0; i < processes; ++i) {
    TableProcess process;
    process.guarded = Guarded::Yes;
    process.pid = static_cast<pid_t>(100 + i);
    process.uid = 0;
    process.command = "train";
    TableUse use;
    use.used_bytes = 4_GiB;
    use.budget_bytes = 8_GiB;
    process.uses = {use};
    table.processes.push_back(process);
  }
  for (std::size_t i = 0; i < records; ++i) table.records.push_back("record " + std::to_string(i));
  return table;
}

// The command at a terminal, with one guarded process to show.
class TopFixture : public CommandFixture {
 public:
  TopFixture() {
    std::filesystem::create_directory(path("states"));
    set("VRAMGUARD_STATE_DIR", path("states"));
    set("TERM", "xterm");
    file_ = std::make_unique<ProcessStateFile>(make_state_file(path("states")));
    set_state_text(file_->state().command, "train.py");
    REQUIRE(file_->mark_alive_and_publish());
  }
  ~TopFixture() { file_->remove(); }

 private:
  std::unique_ptr<ProcessStateFile> file_;
};

}  // namespace

TEST_CASE("top shows cards by guarded and other use, processes by their budget, and the last records") {
  const std::vector<std::string> lines = draw_top(some_table(2, 20), {}, {110, 24}, false);
  CHECK_THAT(lines.at(0), Contains("2 guarded, 0 unguarded, 0 unknown"));
  CHECK_THAT(lines.at(1), Contains("GPU 0 [############++++++------] 12GiB of 16GiB  guarded 8GiB  others 2GiB  Card"));
  CHECK_THAT(lines.at(3), Contains("train") && Contains("4GiB    8GiB  [######------]"));
  CHECK(lines.back() == "record 19");
  CHECK(lines.at(lines.size() - 8) == "record 12");
}

TEST_CASE("top fits into a terminal of any size, and shows a process as soon as there is room for one") {
  const ProcessTable table = some_table(30, 20);
  for (std::size_t rows = 0; rows < 50; ++rows) {
    for (std::size_t columns : {0, 1, 5, 20, 79, 200}) {
      const std::vector<std::string> lines = draw_top(table, {}, {columns, rows}, false);
      REQUIRE(lines.size() <= rows);
      for (const std::string& line : lines) REQUIRE(text_width(line) <= columns);
    }
  }
  CHECK_THAT(draw_top(table, {}, {20, 5}, false).back(), Contains("100") || Contains("101"));
  CHECK(draw_top(table, {}, {80, 24}, false).back() == "record 19");
}

TEST_CASE("the keys of top sort, take groups apart, hide records and end it") {
  TopView view;
  CHECK(obey_key('s', view));
  CHECK(view.table.order == TableOrder::Room);
  CHECK(obey_key('s', view));
  CHECK(obey_key('s', view));
  CHECK(view.table.order == TableOrder::Used);
  CHECK(obey_key('g', view));
  CHECK_FALSE(view.table.grouped);
  CHECK(obey_key('l', view));
  CHECK_FALSE(view.records);
  CHECK(draw_top(some_table(1, 5), view, {80, 24}, false).size() == 4);
  CHECK(obey_key('x', view));
  CHECK_FALSE(obey_key('q', view));
}

TEST_CASE("top draws at once, obeys keys and leaves the terminal as it was") {
  const TopFixture fixture;
  TerminalSession session(fixture, {"top"});
  session.wait_for("train.py");
  session.type("s");
  session.wait_for("[s]ort: room");
  session.type("q");
  CHECK(session.finish() == 0);
  CHECK_THAT(session.text(), Contains(kEnter));
  CHECK_THAT(session.text().substr(session.text().size() - 40), Contains(kLeave));
}

TEST_CASE("top gives the terminal back when a signal ends it, and then ends by that signal") {
  const TopFixture fixture;
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    TerminalSession session(fixture, {"top"});
    session.wait_for("train.py");
    kill(session.pid(), signal);
    CHECK(session.finish() == (signal == SIGINT ? 0 : 128 + signal));
    CHECK_THAT(session.text().substr(session.text().size() - 40), Contains(kLeave));
  }
}

TEST_CASE("top works at a terminal of 20 columns and 5 rows, and follows its size") {
  const TopFixture fixture;
  const std::string tty = "stty cols 20 rows 5; " + fixture.path("bin/vramguard") + " top";
  TerminalSession session(fixture, {}, {"/bin/sh", "-c", tty});
  session.wait_for("PID");
  session.type("q");
  CHECK(session.finish() == 0);
}

TEST_CASE("top without a terminal prints the table once, and ends after as many looks as it is told") {
  const TopFixture fixture;
  const Outcome outcome = fixture.vramguard({"top"});
  CHECK(outcome.exit_status == 0);
  CHECK_THAT(outcome.out, Contains("train.py"));
  CHECK(outcome.out.find('\x1b') == std::string::npos);
  TerminalSession session(fixture, {"top", "-n", "2", "-d", "0.1"});
  CHECK(session.finish() == 0);
  CHECK(fixture.vramguard({"top", "-d", "0"}).exit_status == 125);
}
