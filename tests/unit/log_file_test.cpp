#include "core/log_file.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

namespace fs = std::filesystem;

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST_CASE("each line is appended and no descriptor stays open") {
  const TemporaryFolder folder;
  LogFile file(folder.path() + "/p.log", 0700);
  const int before = open_descriptors();
  CHECK(file.write("one\n"));
  CHECK(file.write("two\n"));
  CHECK(open_descriptors() == before);
  CHECK(lines_of(file.path()) == std::vector<std::string>{"one", "two"});
}

TEST_CASE("nothing is created before the first line; then missing folders are, private where they should be") {
  const TemporaryFolder folder;
  LogFile file(folder.path() + "/a/b/p.log", 0700);
  CHECK(fs::is_empty(folder.path()));
  CHECK(file.write("one\n"));
  struct stat status;
  REQUIRE(stat((folder.path() + "/a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a log that is renamed, deleted with its folder, or truncated goes on in a file of the old name") {
  const TemporaryFolder folder;
  const std::string place = folder.path() + "/log";
  LogFile file(place + "/p.log", 0700);
  CHECK(file.write("one\n"));
  fs::rename(file.path(), place + "/moved");
  CHECK(file.write("two\n"));
  CHECK(lines_of(place + "/moved") == std::vector<std::string>{"one"});
  CHECK(lines_of(file.path()) == std::vector<std::string>{"two"});

  fs::resize_file(file.path(), 0);
  CHECK(file.write("three\n"));
  CHECK(content_of(file.path()) == "three\n");

  fs::remove_all(place);
  CHECK(file.write("four\n"));
  CHECK(content_of(file.path()) == "four\n");
}

TEST_CASE("a symbolic link, a FIFO, a device and a folder are refused without waiting or following") {
  const TemporaryFolder folder;
  const std::string target = folder.path() + "/target";
  const std::string link = folder.path() + "/link";
  fs::create_symlink(target, link);
  CHECK_FALSE(LogFile(link, 0700).write("line\n"));
  CHECK_FALSE(fs::exists(target));

  const std::string fifo = folder.path() + "/fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_FALSE(LogFile(fifo, 0700).write("line\n"));
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  CHECK_FALSE(LogFile(fifo, 0700).write("line\n"));
  char byte;
  CHECK(read(reader, &byte, 1) == 0);
  close(reader);

  CHECK_FALSE(LogFile("/dev/full", 0700).write("line\n"));
  CHECK_FALSE(LogFile("/dev/null", 0700).write("line\n"));
  CHECK_FALSE(LogFile(folder.path(), 0700).write("line\n"));
  CHECK_FALSE(LogFile("/proc/no/such/p.log", 0700).write("line\n"));
  CHECK_FALSE(LogFile("/" + std::string(5000, 'x') + "/p.log", 0700).write("line\n"));
}

TEST_CASE("a full log becomes .1, .1 becomes .2, .2 becomes .3, and the oldest goes") {
  const TemporaryFolder folder;
  LogFile file(folder.path() + "/p.log", 0700, 8);
  for (const char* line : {"1111111\n", "2222222\n", "3333333\n", "4444444\n", "5555555\n"}) CHECK(file.write(line));
  CHECK(content_of(file.path()) == "5555555\n");
  CHECK(content_of(file.path() + ".1") == "4444444\n");
  CHECK(content_of(file.path() + ".2") == "3333333\n");
  CHECK(content_of(file.path() + ".3") == "2222222\n");
  CHECK_FALSE(fs::exists(file.path() + ".4"));
}

TEST_CASE("while another process rotates, a full log is written on without waiting") {
  const TemporaryFolder folder;
  LogFile file(folder.path() + "/p.log", 0700, 8);
  CHECK(file.write("1111111\n"));
  const int other = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(flock(other, LOCK_EX) == 0);
  CHECK(file.write("2222222\n"));
  CHECK(content_of(file.path()) == "1111111\n2222222\n");
  close(other);
  CHECK(file.write("3333333\n"));
  CHECK(content_of(file.path()) == "3333333\n");
}

TEST_CASE("a log that cannot be rotated is written on") {
  const TemporaryFolder folder;
  LogFile file(folder.path() + "/p.log", 0700, 8);
  for (const char* old : {".1", ".2", ".3"}) {
    fs::create_directory(file.path() + old);
    std::ofstream(file.path() + old + "/occupied") << "x";
  }
  CHECK(file.write("1111111\n"));
  CHECK(file.write("2222222\n"));
  CHECK(content_of(file.path()) == "1111111\n2222222\n");
}

}  // namespace
}  // namespace vramguard
