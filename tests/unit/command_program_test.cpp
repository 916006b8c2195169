// Commands inside programs of all kinds: command_program in its own process, once for each.
#include <catch2/catch.hpp>

#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/command.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/command_fixture.h"

namespace vramguard {
namespace {

// The exit status, or 128 and the signal; a program that hangs is ended from outside.
int status_of(std::vector<std::string> words) {
  words.insert(words.begin(), {"timeout", "-s", "KILL", "120", VRAMGUARD_COMMAND_PROGRAM});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  REQUIRE(posix_spawnp(&child, "timeout", nullptr, nullptr, arguments.data(), environ) == 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pid_t pid_in(const std::string& file) {
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  return pid;
}

TEST_CASE("a program that collects children sees none of ours, no SIGCHLD, and no status is lost") {
  CHECK(status_of({"collects-children"}) == 7);
}

TEST_CASE("a program that ignores SIGCHLD runs commands") { CHECK(status_of({"ignores-children"}) == 7); }

TEST_CASE("a program that takes even the helper's status costs no result") {
  CHECK(status_of({"steals-helpers"}) == 7);
}

TEST_CASE("a command adds no descriptor to the program and closes none") {
  CHECK(status_of({"keeps-descriptors"}) == 7);
}

TEST_CASE("a program without a free descriptor runs commands") { CHECK(status_of({"no-descriptors-left"}) == 7); }

TEST_CASE("the program's descriptors are closed where the kernel has no close_range") {
  CHECK(status_of({"no-close-range"}) == 7);
}

TEST_CASE("a program that may not clone is told so") { CHECK(status_of({"may-not-clone"}) == 7); }

TEST_CASE("a command does not care when the thread that started it ends") {
  const TemporaryFolder folder;
  const std::string fifo = folder.path() + "/fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(status_of({"ends-threads", fifo}) == 7);
}

TEST_CASE("a command needs neither /dev nor /proc") {
  if (geteuid() != 0) {
    WARN("not root: chroot cannot be tested");
    return;
  }
  const TemporaryFolder folder;
  // `cat` with the loader and the libraries that it names.
  const auto copy = [&](const std::string& file, const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(to).parent_path());
    std::filesystem::copy_file(file, to);
  };
  copy("/bin/cat", folder.path() + "/cat");
  RunningCommand ldd({"ldd", "/bin/cat"});
  const std::string output(ldd.run().output);
  for (std::size_t at = output.find(" /"); at != std::string::npos; at = output.find(" /", at + 1)) {
    const std::string file = output.substr(at + 1, output.find(' ', at + 1) - at - 1);
    copy(file, folder.path() + file);
  }
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  if (std::filesystem::exists(loader) && !std::filesystem::exists(folder.path() + loader)) {
    copy(loader, folder.path() + loader);
  }
  CHECK(status_of({"bare-root", folder.path()}) == 7);
}

TEST_CASE("a command outlives a program that dies, without its memory, and ends at its timeout all the same") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/pid";
  // The command tells its pid before the program dies, or the timeout ends it.
  CHECK(status_of({"dies", "echo $$ > " + file + "; exec sleep 60", "4000"}) == 128 + SIGKILL);
  REQUIRE(happens([&] { return pid_in(file) != 0; }));
  const pid_t command = pid_in(file);
  const pid_t helper = parent_of(command);
  REQUIRE(helper > 1);
  CHECK(content_of("/proc/" + std::to_string(helper) + "/comm") == "vramguard-hook\n");
  // What is left is the module of the helper's code: not the heap, not libc, not the 64 MiB of the program.
  CHECK(happens([&] {
    const auto maps = lines_of("/proc/" + std::to_string(helper) + "/maps");
    return !maps.empty() && maps.size() < 60 && maps.front().find("command_program") != std::string::npos &&
           content_of("/proc/" + std::to_string(helper) + "/maps").find("libc") == std::string::npos;
  }));
  CHECK(is_running(command));
  CHECK(happens([&] { return !is_running(command) && !is_running(helper); }));
}

TEST_CASE("a command that tells of a program's death comes to its end") {
  const TemporaryFolder folder;
  const std::string fifo = folder.path() + "/fifo";
  const std::string file = folder.path() + "/done";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(status_of({"dies", "read line < " + fifo + "; echo $PPID > " + file, "60000"}) == 128 + SIGKILL);
  std::ofstream(fifo) << "\n";
  CHECK(happens([&] { return pid_in(file) != 0; }));
  const pid_t helper = pid_in(file);
  CHECK(happens([&] { return !is_running(helper); }));
}

}  // namespace
}  // namespace vramguard
