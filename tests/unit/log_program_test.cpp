// How the log and its thread fare when a program forks and ends: log_program in its own process, once for each way.
#include <catch2/catch.hpp>

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

struct Run {
  explicit Run(std::string way) {
    std::string program = VRAMGUARD_LOG_PROGRAM;
    std::string path = log_path();
    // From outside: a program of which only our thread is left takes no signal but KILL.
    std::string limit[] = {"timeout", "-s", "KILL", "60"};
    char* arguments[] = {limit[0].data(), limit[1].data(), limit[2].data(), limit[3].data(),
                         program.data(),  way.data(),      path.data(),     nullptr};
    pid_t child = 0;
    REQUIRE(posix_spawnp(&child, "timeout", nullptr, nullptr, arguments, environ) == 0);
    REQUIRE(waitpid(child, &status, 0) == child);
  }

  std::string log_path() const { return folder.path() + "/p.log"; }
  bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }

  TemporaryFolder folder;
  int status = 0;
};

std::size_t count_of(const std::vector<std::string>& lines, const std::string& part) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [&](const auto& line) { return line.find(part) != std::string::npos; }));
}

TEST_CASE("however a program ends, every record is written, the exit record is last, and its status is its own") {
  for (const std::string way : {"return", "quick-exit", "exit-in-thread"}) {
    CAPTURE(way);
    const Run run(way);
    CHECK(run.exited_with(7));
    const auto lines = lines_of(run.log_path());
    CHECK(lines.size() == 101);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      CHECK(lines[i].find(" seq=" + std::to_string(i + 1) + " total_bytes=" + std::to_string(i)) != std::string::npos);
    }
    CHECK(lines.back().find(" ev=exit ") != std::string::npos);
    CHECK(lines.back().ends_with(" log_dropped=0"));
  }
}

TEST_CASE("a program that ends while threads log ends at once, its exit record last") {
  for (const std::string way : {"exit-while-busy", "exit-in-signal-handler"}) {
    CAPTURE(way);
    const Run run(way);
    CHECK(run.exited_with(7));
    const auto lines = lines_of(run.log_path());
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.back().find(" ev=exit ") != std::string::npos);
    CHECK(count_of(lines, " ev=exit ") == 1);
    CHECK(count_of(lines, "<no newline>") == 0);
  }
}

TEST_CASE("a record that was waited for survives a kill") {
  const Run run("kill");
  CHECK((WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGKILL));
  CHECK(count_of(lines_of(run.log_path()), " ev=oom_returned ") == 1);
}

TEST_CASE("a file size limit costs records, never the program") {
  const Run run("size-limit");
  CHECK(run.exited_with(7));
}

// ThreadSanitizer starts no threads in a forked child, and has a thread of its own that never ends.
#if !defined(__SANITIZE_THREAD__)

TEST_CASE("a program whose main thread leaves first ends with its last own thread, and the log is whole") {
  const Run run("main-leaves-first");
  CHECK(run.exited_with(0));
  const auto lines = lines_of(run.log_path());
  CHECK(lines.size() == 101);
  CHECK(count_of({lines.back()}, " ev=exit ") == 1);
}

TEST_CASE("a forked child logs under its own pid with a log of its own, and its parent goes on") {
  const Run run("fork");
  CHECK(run.exited_with(7));
  const auto lines = lines_of(run.log_path());
  CHECK(lines.size() == 204);
  CHECK(count_of(lines, " ev=exit ") == 2);
  CHECK(count_of(lines, " seq=3 log_dropped=0") == 1);
  CHECK(count_of(lines, " seq=201 log_dropped=0") == 1);
}

TEST_CASE("children forked while the parent logs never hang") {
  const Run run("fork-while-busy");
  CHECK(run.exited_with(7));
  const auto lines = lines_of(run.log_path() + ".child");
  CHECK(lines.size() == 200);
  CHECK(count_of(lines, " ev=exit ") == 100);
}

#endif

}  // namespace
}  // namespace vramguard
