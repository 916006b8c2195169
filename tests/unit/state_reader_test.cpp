#include "core/state/state_reader.h"

#include "tests/support/fabricated_state.h"
#include "tests/support/temporary_folder.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <future>
#include <random>
#include <thread>

using namespace vramguard;
using Catch::Matchers::Contains;

namespace {

SeenProcess seen_at(const std::string& path) {
  auto read = read_process_state(path, geteuid());
  if (const auto* why = std::get_if<UnreadableState>(&read)) FAIL(why->path + ": " + why->why);
  return std::get<SeenProcess>(std::move(read));
}

std::string why_not(const std::string& path, uid_t owner = geteuid()) {
  auto read = read_process_state(path, owner);
  const auto* why = std::get_if<UnreadableState>(&read);
  return why != nullptr ? why->why : "";
}

// A folder with one file of a living process, whose bytes can be changed.
class Written {
 public:
  Written() : file_(make_state_file(folder_.path())) {
    add_device(file_.state(), "GPU-1").used_bytes = 7;
    REQUIRE(file_.mark_alive_and_publish());
  }
  ProcessState& state() { return file_.state(); }
  std::string path() const { return file_.state_path(); }
  const std::string& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  ProcessStateFile file_;
};

}  // namespace

TEST_CASE("a living process is seen with its numbers, its own and those here") {
  Written written;
  const SeenProcess seen = seen_at(written.path());
  CHECK(seen.alive);
  CHECK(seen.pid == getpid());
  CHECK(seen.owner == geteuid());
  CHECK(state_text(seen.state.devices[0].uuid) == "GPU-1");
  CHECK(seen.state.devices[0].used_bytes == 7);
}

TEST_CASE("a file whose process has ended is stale, and says so by its mark") {
  const TemporaryFolder folder;
  const std::string path = make_stale_state(folder.path(), [](ProcessState&) {});
  CHECK_FALSE(seen_at(path).alive);
}

TEST_CASE("a number that belongs to another process by now is not taken for the one of the file") {
  Written written;
  written.state().start_ticks += 1;
  CHECK(seen_at(written.path()).pid == std::nullopt);
  written.state().start_ticks -= 1;
  written.state().pid_namespace += 1;
  CHECK(seen_at(written.path()).pid == std::nullopt);
  written.state().pid_namespace -= 1;
  written.state().pid = -1;
  CHECK(seen_at(written.path()).pid == std::nullopt);
}

TEST_CASE("a file that claims the process of another user is not believed") {
  if (geteuid() != 0) return;  // only root can give a file away
  Written written;
  REQUIRE(chown(written.path().c_str(), 65534, 65534) == 0);
  auto read = read_process_state(written.path(), 65534);
  REQUIRE(std::holds_alternative<SeenProcess>(read));
  CHECK(std::get<SeenProcess>(read).pid == std::nullopt);
  CHECK_THAT(why_not(written.path()), Contains("another user"));
}

TEST_CASE("what is no file of a process is named and left alone") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.state";
  SECTION("nothing there") { CHECK_THAT(why_not(path), Contains("no such file")); }
  SECTION("a folder") {
    REQUIRE(mkdir(path.c_str(), 0755) == 0);
    CHECK(why_not(path) == "is no file");
  }
  SECTION("a FIFO that nobody writes to") {
    REQUIRE(mkfifo(path.c_str(), 0644) == 0);
    CHECK(why_not(path) == "is no file");
  }
  SECTION("a symbolic link to one") {
    Written written;
    REQUIRE(symlink(written.path().c_str(), path.c_str()) == 0);
    CHECK_FALSE(why_not(path).empty());
  }
  SECTION("an empty file") {
    std::ofstream{path};
    CHECK_THAT(why_not(path), Contains("not written by vramguard"));
  }
  SECTION("a text") {
    std::ofstream(path) << std::string(100'000, 'x');
    CHECK_THAT(why_not(path), Contains("not written by vramguard"));
  }
}

TEST_CASE("files of older and newer versions say that they are") {
  Written written;
  SECTION("newer") { written.state().version += 1; }
  SECTION("older") { written.state().version = 0; }
  SECTION("larger") { written.state().bytes += 8; }
  CHECK(why_not(written.path()) == "was written by another version of vramguard");
}

TEST_CASE("a file that is cut short tells nothing, wherever it is cut") {
  Written written;
  for (std::size_t size : {sizeof(ProcessState) - 1, offsetof(ProcessState, devices), offsetof(ProcessState, alive),
                           std::size_t{12}, std::size_t{0}}) {
    REQUIRE(truncate(written.path().c_str(), static_cast<off_t>(size)) == 0);
    CHECK_FALSE(why_not(written.path()).empty());
  }
}

TEST_CASE("files that are cut and made whole again while they are read harm nobody") {
  const TemporaryFolder folder;
  const std::string path = make_stale_state(folder.path(), [](ProcessState&) {});
  std::promise<void> done;
  const std::shared_future<void> end = done.get_future().share();
  std::thread cutter([&] {
    while (end.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      for (const off_t size : {off_t{100}, off_t{4096}, off_t{sizeof(ProcessState)}}) {
        if (truncate(path.c_str(), size) != 0) return;
      }
    }
  });
  for (int i = 0; i < 500; ++i) static_cast<void>(read_process_state(path, geteuid()));
  done.set_value();
  cutter.join();
}

TEST_CASE("any content behind a right beginning is read without harm, and counts stay within their arrays") {
  const TemporaryFolder folder;
  const std::string path = make_stale_state(folder.path(), [](ProcessState&) {});
  std::string bytes = content_of(path);
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    for (std::size_t i = offsetof(ProcessState, alive); i < bytes.size(); ++i) bytes[i] = static_cast<char>(random());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const SeenProcess seen = seen_at(path);
    REQUIRE(seen.state.device_count <= kStateDevices);
    REQUIRE(seen.state.hook_count <= kStateHooks);
    for (const DeviceState& device : seen.state.devices) {
      REQUIRE(device.level >= 0);
      REQUIRE(device.level < static_cast<int>(kStateLevels));
      REQUIRE(state_text(device.uuid).size() <= sizeof device.uuid);
    }
    REQUIRE(printable(state_text(seen.state.command)).size() <= sizeof seen.state.command);
  }
}

TEST_CASE("a folder is read by start, hidden and other files are passed over, and bad ones are named") {
  const TemporaryFolder folder;
  const std::string late = make_stale_state(folder.path(), [](ProcessState& state) { state.started_at_ms = 200; });
  const std::string early = make_stale_state(folder.path(), [](ProcessState& state) { state.started_at_ms = 100; });
  std::ofstream(folder.path() + "/.hidden.state") << "x";
  std::ofstream(folder.path() + "/totals") << "x";
  std::ofstream(folder.path() + "/bad.state") << "x";
  const SeenProcesses all = read_states({{folder.path(), geteuid()}, {folder.path() + "/none", geteuid()}});
  REQUIRE(all.processes.size() == 2);
  CHECK(all.processes[0].path == early);
  CHECK(all.processes[1].path == late);
  REQUIRE(all.unreadable.size() == 2);
  CHECK(all.unreadable[0].path == folder.path() + "/bad.state");
  CHECK(all.unreadable[1].path == folder.path() + "/none");
}

TEST_CASE("texts are printed without what a terminal would obey") {
  CHECK(printable("train.py --x=1") == "train.py --x=1");
  CHECK(printable("\x1b[2Jgone\n\x7f") == "?[2Jgone??");
  CHECK(printable("\xc2\x9b"
                  "2J") == "?2J");
  CHECK(printable("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
  CHECK(printable("\xff\xc3") == "??");
  CHECK(printable("").empty());
}
