#include "core/state/state_folder.h"

#include "tests/support/temporary_folder.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

using namespace vramguard;
using Catch::Matchers::Contains;

namespace {

std::string problem_with(const std::string& path) {
  const auto opened = open_state_folder(path);
  const auto* problem = std::get_if<StateProblem>(&opened);
  return problem != nullptr ? problem->message : "";
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
}

}  // namespace

TEST_CASE("the state folder is the named one, else one that needs no session") {
  CHECK(state_folder_path("/somewhere", 1000) == "/somewhere");
  const std::string path = state_folder_path("", 4'000'000);
  CHECK(path == "/dev/shm/vramguard-4000000");
}

TEST_CASE("a state folder is made so that others may look, whatever the umask") {
  const TemporaryFolder parent;
  const std::string path = parent.path() + "/state";
  const mode_t before = umask(0077);
  const auto opened = open_state_folder(path);
  umask(before);
  REQUIRE(std::holds_alternative<std::string>(opened));
  CHECK(std::get<std::string>(opened) == path);
  CHECK(mode_of(path) == 0755);
  CHECK(problem_with(path).empty());
}

TEST_CASE("a state folder that is not as it must be is refused, with the remedy") {
  const TemporaryFolder parent;
  const std::string path = parent.path() + "/state";
  const auto refused = [&](const std::string& named, const std::string& why) {
    CHECK_THAT(problem_with(named), Contains(why) && Contains("name another in VRAMGUARD_STATE_DIR"));
  };
  refused("relative/path", "is no absolute path");
  refused(parent.path() + "/none/state", "cannot be made: no such file");
  std::ofstream(parent.path() + "/file") << "x";
  refused(parent.path() + "/file", "is no folder");
  REQUIRE(mkdir(path.c_str(), 0755) == 0);
  REQUIRE(symlink(path.c_str(), (parent.path() + "/link").c_str()) == 0);
  refused(parent.path() + "/link", "is no folder");
  REQUIRE(chmod(path.c_str(), 0775) == 0);
  refused(path, "can be written by others");
  if (geteuid() != 0) return;  // only root can give a folder away
  REQUIRE(chmod(path.c_str(), 0755) == 0);
  REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
  refused(path, "belongs to another user");
}

TEST_CASE("folders of all users are found once each, the named one first, with their owners") {
  const TemporaryFolder named;
  const std::vector<StateFolder> folders = all_state_folders(named.path());
  REQUIRE_FALSE(folders.empty());
  CHECK(folders[0].path == named.path());
  CHECK(folders[0].owner == geteuid());
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(folders[i].path != folders[j].path);
  }
}

TEST_CASE("a named folder that others can write to is not looked at") {
  const TemporaryFolder named;
  REQUIRE(chmod(named.path().c_str(), 0777) == 0);
  for (const StateFolder& folder : all_state_folders(named.path())) CHECK(folder.path != named.path());
}

TEST_CASE("a folder under the name of another user than its owner is not looked at") {
  if (geteuid() != 0) return;
  const std::string path = "/dev/shm/vramguard-4000001";
  REQUIRE(mkdir(path.c_str(), 0755) == 0);
  for (const StateFolder& folder : all_state_folders("")) CHECK(folder.path != path);
  REQUIRE(chown(path.c_str(), 4'000'001, 0) == 0);
  bool found = false;
  for (const StateFolder& folder : all_state_folders("")) found |= folder.path == path && folder.owner == 4'000'001;
  CHECK(found);
  rmdir(path.c_str());
}
