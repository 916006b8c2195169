// Programs as people have them: nothing about them knows of the library.
#include <unistd.h>

#include <iostream>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

// 47 requests of 32 MiB fit beside the context into 2 GiB; 239 onto the card of 8 GiB.
void check_held_to_budget(const Run& run) {
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_status == 0);
  CHECK(run.lines().back() == "fill 2 47");
  CHECK(run.log.one("start")["mode"] == "enforce");
  CHECK(run.log.one("device").number("budget_bytes") == 2_GiB);
  const Record returned = run.log.one("oom_returned");
  CHECK(returned.number("request_bytes") == 32_MiB);
  CHECK(returned.number("used_bytes") <= 2_GiB);
  CHECK(returned.number("used_bytes") > 2_GiB - 32_MiB);
  CHECK(run.log.all("unguarded_symbol").empty());
}

}  // namespace

TEST_CASE("a Python program that uses the driver through ctypes is held to the budget") {
  const std::string python = "/usr/bin/python3";
  if (sanitized() || access(python.c_str(), X_OK) != 0) {
    std::cout << "skipped: "
              << (sanitized() ? "Python is not built with sanitizers\n" : "there is no /usr/bin/python3\n");
    return;
  }
  const std::string script = VRAMGUARD_SOURCE_DIR "/tests/integration/programs/fill.py";
  check_held_to_budget(Host().run(python, {script, "33554432"}, {.budget = "2GiB"}));
  const Run plain = Host().run(python, {script, "33554432"}, {.preload = false});
  CHECK(plain.lines().back() == "fill 2 239");
}

TEST_CASE("a C program that is linked with the driver is held to the budget") {
  const std::string script = "init 0\nretain 0\nfill alloc_v2 33554432\n";
  check_held_to_budget(Host().run(program("console_linked"), {"link"}, {.budget = "2GiB", .input = script}));
}

TEST_CASE("a C program that opens the driver is held to the budget") {
  const std::string script = "init 0\nretain 0\nfill alloc_v2 33554432\n";
  check_held_to_budget(Host().run(program("console"), {"dlsym"}, {.budget = "2GiB", .input = script}));
}

TEST_CASE("a program that resolves everything as the CUDA runtime does is held to the budget") {
  const Run run = Host().run(program("runtime_like"), {"33554432"}, {.budget = "2GiB"});
  check_held_to_budget(run);
  const Run plain = Host().run(program("runtime_like"), {"33554432"}, {.preload = false});
  REQUIRE(plain.exit_status == 0);
  int asked = 0, found = 0, ours = 0, plain_found = 0, plain_ours = 0;
  REQUIRE(std::sscanf(run.lines().at(3).c_str(), "asked %d found %d ours %d", &asked, &found, &ours) == 3);
  REQUIRE(std::sscanf(plain.lines().at(3).c_str(), "asked %*d found %d ours %d", &plain_found, &plain_ours) == 2);
  CHECK(asked > 400);
  CHECK(found == plain_found);
  CHECK(ours > 10);
  CHECK(plain_ours == 0);
}

TEST_CASE("a plugin that is linked with the driver and loaded for itself alone is held to the budget") {
  const std::string plugin = program("plugin.so");
  check_held_to_budget(Host().run(program("plugin_host"), {plugin, "33554432"}, {.budget = "2GiB"}));
  const Run plain = Host().run(program("plugin_host"), {plugin, "33554432"}, {.preload = false});
  CHECK(plain.lines().back() == "fill 2 239");
}

TEST_CASE("a program that never uses CUDA loads no core, starts no thread and opens no file") {
  Host host;
  const Run run =
      host.run("/bin/sh", {"-c", "grep -c vramguard-core /proc/self/maps; ls /proc/self/task | wc -l; ls -A \"$HOME\""},
               {.budget = "2GiB"});
  if (sanitized()) return;
  CHECK(run.out == "0\n1\nstderr.1\nvramguard.toml\n");
  CHECK(run.err.empty());
  CHECK(run.log.empty());
}
