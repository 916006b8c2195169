#include "core/log_path.h"

#include <catch2/catch.hpp>

#include <sys/vfs.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

LogSurroundings user() {
  LogSurroundings result;
  result.euid = 1000;
  result.pid = 77;
  result.host = "node3";
  result.working_folder = "/work";
  result.home = "/home/a";
  return result;
}

TEST_CASE("a user's log is in the state folder that XDG names, else in its usual place at home") {
  LogSurroundings around = user();
  CHECK(locate_log("", around).path == "/home/a/.local/state/vramguard/pressure.log");
  CHECK(locate_log("", around).folder_mode == 0700);
  around.state_home = "/state";
  CHECK(locate_log("", around).path == "/state/vramguard/pressure.log");
  around.state_home = "relative/is/ignored";
  CHECK(locate_log("", around).path == "/home/a/.local/state/vramguard/pressure.log");
}

TEST_CASE("root's log is in /var/log, whatever environment a user left behind") {
  LogSurroundings around = user();
  around.euid = 0;
  around.state_home = "/home/a/.local/state";
  CHECK(locate_log("", around).path == "/var/log/vramguard/pressure.log");
  CHECK(locate_log("", around).folder_mode == 0755);
}

TEST_CASE("without a home there is no place for a log") {
  LogSurroundings around = user();
  around.home = "";
  CHECK(locate_log("", around).path.empty());
  around.home = "relative";
  CHECK(locate_log("", around).path.empty());
}

TEST_CASE("a written path stands for uid, pid and host, and is kept absolute") {
  CHECK(locate_log("/logs/%u/%h-%p.log", user()).path == "/logs/1000/node3-77.log");
  CHECK(locate_log("/logs/100%%/%x%", user()).path == "/logs/100%/%x%");
  CHECK(locate_log("p.log", user()).path == "/work/p.log");
  CHECK(locate_log("/p.log", user()).folder_mode == 0755);
  LogSurroundings nowhere = user();
  nowhere.working_folder = "";
  CHECK(locate_log("p.log", nowhere).path.empty());
  CHECK(locate_log("/p.log", nowhere).path == "/p.log");
}

TEST_CASE("on a network file system the default log is one file for each host and process; a written path is kept") {
  LogSurroundings around = user();
  around.on_network = [](const std::string& folder) { return folder == "/home/a/.local/state/vramguard"; };
  CHECK(locate_log("", around).path == "/home/a/.local/state/vramguard/pressure.node3.77.log");
  CHECK(locate_log("/home/a/.local/state/vramguard/x.log", around).path == "/home/a/.local/state/vramguard/x.log");
}

TEST_CASE("network file systems are known by their numbers, local ones are not taken for them") {
  for (const unsigned long magic : {0x6969UL, 0xFF534D42UL, 0xFE534D42UL, 0x0BD00BD0UL, 0x47504653UL, 0x19830326UL}) {
    CHECK(is_network_file_system(magic));
  }
  for (const unsigned long magic : {0xEF53UL, 0x58465342UL, 0x9123683EUL, 0x01021994UL, 0x794C7630UL}) {
    CHECK_FALSE(is_network_file_system(magic));
  }
}

TEST_CASE("a folder that does not exist yet is on the file system of the nearest one that does") {
  CHECK_FALSE(is_on_network("/proc/no/such/folder"));
  CHECK(is_on_network("/proc/self/no/such") == is_on_network("/proc/self"));
}

TEST_CASE("the home folder is read from a passwd file without asking a name service") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/passwd";
  std::ofstream(file) << "root:x:0:0:root:/root:/bin/sh\n"
                      << "broken line\n"
                      << "half:x:1000\n"
                      << "x:x:10001:1::/not/this:/bin/sh\n"
                      << "a:x:1000:1000:A, B:/home/a:/bin/bash\n"
                      << "last:x:1001:1001::/home/last";
  CHECK(home_in_passwd(0, file.c_str()) == "/root");
  CHECK(home_in_passwd(1001, file.c_str()) == "/home/last");
  CHECK(home_in_passwd(4242, file.c_str()).empty());
  CHECK(home_in_passwd(0, "/no/such/file").empty());
  // The half line of the same uid names no home; a file like that is broken, and the log has no place.
  CHECK(home_in_passwd(1000, file.c_str()).empty());
}

TEST_CASE("a process without HOME finds its home by its uid") {
  const char* home = getenv("HOME");
  const std::string saved = home != nullptr ? home : "";
  unsetenv("HOME");
  CHECK(LogSurroundings::of_this_process().home == home_in_passwd(geteuid()));
  setenv("HOME", "/some/where", 1);
  CHECK(LogSurroundings::of_this_process().home == "/some/where");
  if (home != nullptr) setenv("HOME", saved.c_str(), 1);
}

}  // namespace
}  // namespace vramguard
