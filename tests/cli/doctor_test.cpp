// `vramguard doctor`: what it finds, and that each finding names a remedy.

#include "cli/doctor/checks.h"
#include "core/state/process_state_file.h"
#include "tests/cli/command_fixture.h"
#include "tests/cli/json_schema.h"
#include "tests/support/temporary_folder.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

using namespace vramguard;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

// An installation that is as it should be, with a state folder and a log of its own.
class DoctorFixture : public CommandFixture {
 public:
  DoctorFixture() {
    copy(VRAMGUARD_DUMMY_LIBRARY, "bin/libvramguard-core.so", 0644);
    write("config.toml", "schema = 1\nbudget = \"1GiB\"\n", 0600);
    fs::create_directories(path("states"));
    set("VRAMGUARD_CONFIG", path("config.toml"));
    set("VRAMGUARD_STATE_DIR", path("states"));
    set("VRAMGUARD_LOG", path("pressure.log"));
  }
  std::string core() const { return path("bin/libvramguard-core.so"); }

  // The text, after the exit status that goes with it.
  std::string ill(std::vector<std::string> arguments = {}) const { return said(1, std::move(arguments)); }
  std::string well(std::vector<std::string> arguments = {}) const { return said(0, std::move(arguments)); }

 private:
  std::string said(int status, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "doctor");
    const Outcome outcome = vramguard(arguments);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_status == status);
    return outcome.out;
  }
};

// Every version of the C library that the file needs becomes one that no system has.
void ask_for_newer_libc(const std::string& path) {
  std::string text = content_of(path);
  const std::string now = "GLIBC_2.";
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(now, at)) != std::string::npos; ++count)
    text.replace(at, now.size(), "GLIBC_9.");
  REQUIRE(count > 0);
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("doctor finds nothing wrong with what is as it should be") {
  const DoctorFixture fixture;
  const std::string said = fixture.well();
  CHECK_THAT(said, Contains("ok      library        " + fixture.library()) &&
                       Contains("ok      core           " + fixture.core()) &&
                       Contains("ok      state folder   " + fixture.path("states")) &&
                       Contains("ok      log            " + fixture.path("pressure.log")) &&
                       Contains("ok      configuration  " + fixture.path("config.toml")));
  CHECK_THAT(said, !Contains("problem"));
  CHECK_THAT(said, !Contains("\033"));
}

TEST_CASE("doctor finds a library that is missing, unreadable, none at all, or too new for this system") {
  const DoctorFixture fixture;
  fs::remove(fixture.core());
  CHECK_THAT(fixture.ill(), Contains("problem core") && Contains("-> keep both files in one folder"));
  fs::copy_file(fixture.library(), fixture.core());

  ask_for_newer_libc(fixture.library());
  CHECK_THAT(fixture.ill(), Contains("problem library        is built for a newer C library") &&
                                Contains("`GLIBC_9.") && Contains("-> build vramguard on the oldest system"));
  fixture.write("bin/libvramguard.so", "no library");
  CHECK_THAT(fixture.ill(), Contains("is not a shared library"));
  if (geteuid() != 0) {
    chmod(fixture.library().c_str(), 0);
    CHECK_THAT(fixture.ill(), Contains("cannot be read: permission denied"));
  }
  fs::remove(fixture.library());
  CHECK_THAT(fixture.ill(), Contains("libvramguard.so is neither in ") && Contains("-> install vramguard anew"));
}

TEST_CASE("doctor says whether a command can be guarded, and starts it never") {
  const DoctorFixture fixture;
  const std::string program = fixture.write("program", "#!/bin/sh\ntouch " + fixture.path("started") + "\n", 0755);
  CHECK_THAT(fixture.well({"--", program}), Contains("ok      command        '" + program + "' can be guarded"));
  CHECK_FALSE(fs::exists(fixture.path("started")));
  CHECK_THAT(fixture.ill({"--", "docker", "run", "-it"}), Contains("runs its command in a container"));
  CHECK_THAT(fixture.ill({"--", "nowhere-to-be-found"}), Contains("command not found"));
}

TEST_CASE("doctor finds what else is preloaded and what is switched off") {
  DoctorFixture fixture;
  fixture.set("LD_PRELOAD", fixture.path("gone.so") + ":/usr/lib/libvgpu.so");
  fixture.set("VRAMGUARD", "0");
  fixture.write("usr/lib/libvgpu.so", "");
  CHECK_THAT(fixture.ill(), Contains("LD_PRELOAD names " + fixture.path("gone.so") + ", which cannot be read") &&
                                Contains("VRAMGUARD=0 is set") && Contains("-> unset VRAMGUARD"));
}

TEST_CASE("doctor finds mistakes of the configuration and hooks that cannot run") {
  const DoctorFixture fixture;
  fixture.write("config.toml", "schema = 1\nbudgte = \"1GiB\"\n", 0600);
  CHECK_THAT(fixture.ill(), Contains("problem configuration") && Contains("did you mean 'budget'?"));
  const std::string script = fixture.write("hook.sh", "", 0644);
  const std::string hooks =
      "schema = 1\nbudget = \"1GiB\"\n"
      "[[hook]]\nname = \"gone\"\non = \"oom\"\nargv = [\"/nowhere/to/be/found\"]\n"
      "[[hook]]\nname = \"plain\"\non = \"oom\"\nshell = \"" +
      script + " now\"\n[[hook]]\nname = \"good\"\non = \"oom\"\nshell = \"true\"\n";
  fixture.write("config.toml", hooks, 0600);
  const std::string said = fixture.ill();
  CHECK_THAT(said, Contains("'gone' cannot run: '/nowhere/to/be/found': command not found") &&
                       Contains("'plain' cannot run: '" + script + "' cannot be executed"));
  CHECK_THAT(said, !Contains("'good'"));
  fixture.write("config.toml", hooks, 0666);
  CHECK_THAT(fixture.ill(), Contains("problem hook") && Contains("config.toml"));
}

TEST_CASE(
    "doctor finds a state folder that is missing, somebody else's or open to others, and files of other versions") {
  const DoctorFixture fixture;
  fs::permissions(fixture.path("states"), fs::perms::all);
  CHECK_THAT(fixture.ill(), Contains("problem state folder") && Contains("can be written by others") &&
                                Contains("-> name another folder in VRAMGUARD_STATE_DIR"));
  fs::permissions(fixture.path("states"), fs::perms::owner_all);

  auto made = ProcessStateFile::make(fixture.path("states"));
  auto& file = std::get<ProcessStateFile>(made);
  file.state().version = kStateVersion + 1;
  REQUIRE(file.mark_alive_and_publish());
  CHECK_THAT(fixture.well(), Contains("hint    state file") && Contains("another version of vramguard"));
  file.remove();

  if (geteuid() == 0) {
    REQUIRE(chown(fixture.path("states").c_str(), 12345, 12345) == 0);
    CHECK_THAT(fixture.ill(), Contains("belongs to another user"));
  }
  fs::remove(fixture.path("states"));
  CHECK_THAT(fixture.well(), Contains("which will be made"));
  CHECK_FALSE(fs::exists(fixture.path("states")));
}

TEST_CASE("doctor finds a log that cannot be written or is switched off") {
  const DoctorFixture fixture;
  fs::create_directory(fixture.path("pressure.log"));
  CHECK_THAT(fixture.ill(), Contains("problem log") && Contains("is no regular file"));
  fixture.write("config.toml", "schema = 1\nbudget = \"1GiB\"\n[log]\ntarget = \"none\"\n", 0600);
  CHECK_THAT(fixture.well(), Contains("hint    log            it is switched off"));
}

TEST_CASE("doctor tells programs the same as JSON") {
  const DoctorFixture fixture;
  fs::remove(fixture.core());
  const std::string json = fixture.ill({"--json"});
  CHECK_THAT(json, Contains("\"finding\": \"problem\"") && Contains("\"subject\": \"core\"") &&
                       Contains("\"remedy\": \"keep both files in one folder\""));
  CHECK(conforms("doctor.json", json));
}

TEST_CASE("the drivers that doctor takes for tried are those with results in tests/gpu/results") {
  std::vector<std::string> results;
  for (const auto& file : fs::directory_iterator(VRAMGUARD_SOURCE_DIR "/tests/gpu/results"))
    if (file.path().extension() == ".txt") results.push_back(file.path().stem().string());
  std::sort(results.begin(), results.end());
  CHECK(tried_drivers() == results);
}
