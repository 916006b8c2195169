#include "config/file_trust.h"

#include "tests/unit/config_fixture.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

using namespace vramguard;

namespace {

std::string distrust(const std::string& path, uid_t euid = geteuid()) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  const std::string reason = reason_to_distrust(fd, euid);
  close(fd);
  return reason;
}

}  // namespace

TEST_CASE("a file of our own in a folder of our own may define commands, also below a sticky folder") {
  const ConfigFixture fixture;
  CHECK(distrust(fixture.write("a/config.toml", "")).empty());
  const std::string sticky = fixture.root() + "/a";
  chmod(sticky.c_str(), 01777);
  CHECK(distrust(sticky + "/config.toml").empty());
}

TEST_CASE("a file that others can write, or in a folder where they can, may not") {
  const ConfigFixture fixture;
  const std::string path = fixture.write("a/b/config.toml", "");
  chmod(path.c_str(), 0664);
  CHECK(distrust(path) == "others can write to it (chmod go-w)");
  chmod(path.c_str(), 0646);
  CHECK(distrust(path) == "others can write to it (chmod go-w)");
  chmod(path.c_str(), 0644);
  chmod((fixture.root() + "/a").c_str(), 0775);
  CHECK(distrust(path) == "others can write to the folder " + fixture.root() + "/a");
}

TEST_CASE("what is no regular file, or was replaced while it was open, may not") {
  const ConfigFixture fixture;
  CHECK(distrust("/dev/null") == "it is not a regular file");
  CHECK(distrust(fixture.root()) == "it is not a regular file");
  const std::string path = fixture.write("config.toml", "");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  unlink(path.c_str());
  CHECK(reason_to_distrust(fd, geteuid()) == "it was moved or replaced while it was read");
  close(fd);
}

TEST_CASE("a symbolic link is judged by the file that was opened") {
  const ConfigFixture fixture;
  const std::string path = fixture.write("open/config.toml", "");
  chmod((fixture.root() + "/open").c_str(), 0777);
  const std::string link = fixture.root() + "/link.toml";
  REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
  CHECK(distrust(link) == "others can write to the folder " + fixture.root() + "/open");
}

TEST_CASE("files and folders of another user may not") {
  const ConfigFixture fixture;
  const std::string path = fixture.write("config.toml", "");
  const uid_t somebody = 12345;
  if (geteuid() != 0) {
    CHECK(distrust(path, somebody) == "it belongs to another user");
    return;
  }
  CHECK(distrust(path, somebody).empty());  // root may write for anybody
  REQUIRE(chown(path.c_str(), somebody, somebody) == 0);
  CHECK(distrust(path, somebody).empty());
  CHECK(distrust(path, 54321) == "it belongs to another user");
  REQUIRE(chown(fixture.root().c_str(), somebody, somebody) == 0);
  CHECK(distrust(path, somebody).empty());
  REQUIRE(chown(path.c_str(), 0, 0) == 0);
  CHECK(distrust(path, 0) == "the folder " + fixture.root() + " belongs to another user");
}
