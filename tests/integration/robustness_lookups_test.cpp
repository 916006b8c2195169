// What dlsym answers: the same as without us, except for functions of the driver.
#include <filesystem>
#include <set>

#include "tests/integration/robustness.h"

using namespace vramguard::integration;

namespace {

const std::string kFill = "init 0\nretain 0\nfill alloc_v2 33554432\n";

void check_guarded(const Run& run) {
  CAPTURE(run.err, run.out);
  REQUIRE(run.exit_status == 0);
  CHECK(run.lines().back() == "fill 2 47");
  CHECK(run.log.all("start").size() == 1);
}

std::string sim_driver() { return build_path("sim/libcuda.so.1"); }

}  // namespace

TEST_CASE("in a process without a driver every look-up is answered as without the preload") {
  Host host;
  const Run run = same_with_and_without(host, program("lookups"));
  CHECK(run.exit_status == 0);
  CHECK(run.out.find("dlsym RTLD_DEFAULT puts: libc.so.6+") != std::string::npos);
  CHECK(run.out.find("dlsym RTLD_DEFAULT cuInit: nothing\n") != std::string::npos);
  CHECK(run.out.find("dlsym RTLD_NEXT cuInit: nothing\n") != std::string::npos);
  CHECK(run.out.find("dlsym program cuInit: nothing\n") != std::string::npos);
  CHECK(run.err.empty());
}

TEST_CASE("with the driver in the process the only other answers are those for its own functions") {
  Host host;
  const Run without = host.run(program("lookups"), {sim_driver()}, {.preload = false});
  const Run with = host.run(program("lookups"), {sim_driver()});
  REQUIRE(with.exit_status == 0);
  const std::vector<std::string> before = without.lines(), after = with.lines();
  REQUIRE(after.size() == before.size());
  std::set<std::string> changed;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] == before[i]) continue;
    CHECK(after[i].find(": libvramguard.so+") != std::string::npos);
    changed.insert(before[i].substr(0, before[i].find(':')));
  }
  std::set<std::string> expected;
  for (const std::string handle : {"RTLD_DEFAULT", "RTLD_NEXT", "program", "library"}) {
    for (const std::string name : {"cuInit", "cuMemAlloc_v2", "cuGetProcAddress", "cuMemGetInfo_v2", "cuMemFree",
                                   "cuMemAllocHost_v2", "cuMemFreeHost"}) {
      expected.insert("dlsym " + handle + " " + name);
    }
  }
  CHECK(changed == expected);
}

TEST_CASE("a driver and a library that look their own functions up in themselves get their own") {
  Host host;
  const Run run = host.run(program("driver_asks"), {program("libbackend.so")},
                           {.env = {{"LD_LIBRARY_PATH", program("fake_driver")}}});
  CAPTURE(run.err);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "before 0\ninit 0\nagain 0\nafter 0\nbackend 1 100\n");
  CHECK(run.log.all("start").size() == 1);
}

TEST_CASE("a memory function in a version that the library does not know is one record, and the program gets it") {
  Host host;
  const Run run = host.run(program("newer_driver"), {}, {.env = {{"LD_LIBRARY_PATH", program("fake_driver")}}});
  CAPTURE(run.err);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "init 0\nsame 1\n");
  CHECK(run.log.all("start").size() == 1);
  CHECK(run.log.one("unguarded_symbol")["name"] == "cuMemAlloc");
}

TEST_CASE("two tools that stand in dlsym work in either order") {
  if (skipped_when_sanitized()) return;
  const std::string hooker = program("libdlsym_hooker.so");
  for (const std::string& list : {hooker + ":" + preload_path(), preload_path() + ":" + hooker}) {
    Host host;
    CAPTURE(list);
    const Run run = host.run(program("console"), {}, preloading(list, {.budget = "2GiB", .input = kFill}));
    check_guarded(run);
    CHECK(run.err == "hooker was asked\n");
  }
}

TEST_CASE("the library works under an odd name, by a relative path and through a link") {
  Host host;
  const std::string odd = host.path("odd [folder] #1=2,é");
  std::filesystem::create_directories(odd);
  for (const std::string name : {"libvramguard.so", "libvramguard-core.so"}) {
    std::filesystem::copy_file(build_path(name), odd + "/" + name);
  }
  // A path with a space cannot stand in LD_PRELOAD.
  const std::string plain = host.path("odd[folder]#1=2,é");
  std::filesystem::rename(odd, plain);

  SECTION("odd") {
    check_guarded(
        host.run(program("console"), {}, preloading(plain + "/libvramguard.so", {.budget = "2GiB", .input = kFill})));
  }
  SECTION("relative, and the program changes its folder") {
    const std::string script = "cd '" + plain + "' && export LD_PRELOAD=./libvramguard.so && exec " + program("moved");
    const Run run = host.run("/bin/sh", {"-c", script}, {.budget = "2GiB", .preload = false});
    CHECK(run.exit_status == 0);
    CHECK(run.out == "2\n");
    CHECK(run.log.one("oom_returned")["scope"] == "budget");
  }
  SECTION("a link in a folder without the core") {
    std::filesystem::create_symlink(plain + "/libvramguard.so", host.path("link.so"));
    check_guarded(
        host.run(program("console"), {}, preloading(host.path("link.so"), {.budget = "2GiB", .input = kFill})));
  }
}

TEST_CASE("what the two libraries export, need and do at load passes the gate") {
  Host host;
  const Run run = host.run(VRAMGUARD_SOURCE_DIR "/scripts/check_exports.sh", {build_path("")}, {.preload = false});
  INFO(run.out << run.err);
  CHECK(run.exit_status == 0);
}

TEST_CASE("switched off, the driver's own addresses are given out, and nothing of the guard is in the process") {
  Host host;
  const Run run = same_with_and_without(host, program("switch"), {}, {.env = {{"VRAMGUARD", "0"}}});
  CHECK(run.out ==
        "handle libcuda.so.1\ndefault libcuda.so.1\nprogram libcuda.so.1\nproc libcuda.so.1\n"
        "proc_v2 libcuda.so.1\nrefused 2\nthreads 1\ncore not loaded\n");
  CHECK(run.err.empty());
  CHECK_FALSE(std::filesystem::exists(host.log_path()));
  CHECK_FALSE(std::filesystem::exists(host.path("state")));
}

TEST_CASE("a program that was linked to the driver goes straight to it when switched off") {
  const Run run =
      Host().run(program("console_linked"), {"link"}, {.budget = "2GiB", .env = {{"VRAMGUARD", "0"}}, .input = kFill});
  CHECK(run.exit_status == 0);
  CHECK(run.lines().back() == "fill 2 239");
  CHECK(run.log.empty());
}

TEST_CASE("switching off inside the program, after it has looked for the driver, has no effect") {
  Host host;
  const Run run = host.run(program("switch"), {"setenv"}, {.budget = "2GiB"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.out.find("handle libvramguard.so\n") != std::string::npos);
  CHECK(run.out.find("proc_v2 libvramguard.so\n") != std::string::npos);
  CHECK(run.out.find("core loaded\n") != std::string::npos);
  CHECK(run.log.one("oom_returned")["scope"] == "budget");
}
