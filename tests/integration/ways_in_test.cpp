// Every row of the table, by every way in, on the current driver and on an old one.
#include <algorithm>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

struct Row {
  std::string symbol;
  int since;  // as the driver numbers it: 11040 for 11.4
};

int version_number(const std::string& text) {
  const std::size_t dot = text.find('.');
  return std::stoi(text.substr(0, dot)) * 1000 + std::stoi(text.substr(dot + 1)) * 10;
}

// Included and not written down here, so that a new row is tested without another line.
std::vector<Row> table() {
  return {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) {#symbol, version_number(#since)},
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
  };
}

bool is_wrapped(const std::string& symbol) {
  const std::vector<Row> rows = table();
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.symbol == symbol; });
}

// The rest of each line of `run` that begins with `key` and a space, by the word after it.
std::map<std::string, std::string> answers(const Run& run, const std::string& key) {
  std::map<std::string, std::string> found;
  for (const std::string& line : run.lines()) {
    if (line.rfind(key + " ", 0) != 0) continue;
    const std::size_t symbol = key.size() + 1, rest = line.find(' ', symbol);
    found[line.substr(symbol, rest - symbol)] = line.substr(rest + 1);
  }
  return found;
}

constexpr int kOldDriver = 11040, kNewDriver = 13000;

struct Way {
  std::string name, program, sim;
  int driver;
};

const std::vector<Way> kWays = {
    {"link", "rows_linked", "sim", kNewDriver},
    {"dlsym", "rows", "sim", kNewDriver},
    {"dlvsym", "rows", "sim-versioned", kNewDriver},
    {"default", "rows", "sim", kNewDriver},
    {"next", "rows", "sim", kNewDriver},
    {"proc", "rows", "sim", kNewDriver},
    {"proc_v2", "rows", "sim", kNewDriver},
    {"proc_self", "rows", "sim", kNewDriver},
    {"dlsym", "rows", "sim-old", kOldDriver},
    {"default", "rows", "sim-old", kOldDriver},
    {"proc", "rows", "sim-old", kOldDriver},
};

void check_place(const std::string& place, const Way& way, const Row& row, const std::string& library) {
  const std::string function = library + " " + row.symbol + " exact";
  if (row.since <= way.driver) {
    CHECK(place == function);
  } else if (way.name == "proc") {
    CHECK(place != function);  // an older function of that name is given instead
  } else {
    CHECK(place == "none");
  }
}

// What a look-up printed, without the library that it named: where the two runs may differ.
std::string without_library(const std::string& line) {
  std::istringstream in(line);
  std::string text;
  for (std::string word; in >> word;) {
    if (word.find(".so") == std::string::npos) text += word + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("every function of the table leads into the library, whichever way the program takes") {
  for (const Way& way : kWays) {
    const Run run = Host().run(program(way.program), {way.name}, {.budget = "2GiB", .sim = way.sim});
    CAPTURE(way.name, way.sim, run.err);
    REQUIRE(run.exit_status == 0);
    const auto found = answers(run, way.name);
    CHECK(found.size() == table().size());
    for (const Row& row : table()) {
      CAPTURE(row.symbol);
      check_place(found.at(row.symbol), way, row, "libvramguard.so");
    }
  }
}

TEST_CASE("without the library the same look-ups find the same functions in the driver") {
  for (const Way& way : kWays) {
    const Run run = Host().run(program(way.program), {way.name}, {.preload = false, .sim = way.sim});
    CAPTURE(way.name, way.sim, run.err);
    REQUIRE(run.exit_status == 0);
    const auto found = answers(run, way.name);
    for (const Row& row : table()) {
      CAPTURE(row.symbol);
      check_place(found.at(row.symbol), way, row, "libcuda.so.1");
    }
  }
}

TEST_CASE("each entry reaches the driver's function of its own name, once, and returns its code") {
  struct Caller {
    std::string name, program, sim;
  };
  for (const Caller& caller : {Caller{"link", "rows_linked", "sim"}, Caller{"dlsym", "rows", "sim"},
                               Caller{"proc_v2", "rows", "sim"}, Caller{"dlsym", "rows", "sim-old"}}) {
    Host plain, guarded;
    const Run expected =
        plain.run(program(caller.program), {"call", caller.name}, {.preload = false, .sim = caller.sim});
    const Run run = guarded.run(program(caller.program), {"call", caller.name}, {.budget = "2GiB", .sim = caller.sim});
    CAPTURE(caller.name, caller.sim, run.err);
    REQUIRE(expected.exit_status == 0);
    REQUIRE(run.exit_status == 0);
    CHECK(run.log.all("start").size() == 1);
    CHECK(run.lines() == expected.lines());
    for (const Row& row : table()) {
      if (row.symbol == "cuMemGetInfo_v2" || row.symbol == "cuDeviceTotalMem_v2") continue;  // the guard asks these too
      CAPTURE(row.symbol);
      CHECK(guarded.calls(row.symbol) == plain.calls(row.symbol));
    }
  }
}

TEST_CASE("cuGetProcAddress answers as the driver does for every name and version and flag") {
  struct Case {
    std::string version, sim;
  };
  for (const Case& test : {Case{"v1", "sim"}, Case{"v2", "sim"}, Case{"v1", "sim-old"}}) {
    const Run plain = Host().run(program("proc_address"), {test.version}, {.preload = false, .sim = test.sim});
    const Run run = Host().run(program("proc_address"), {test.version}, {.budget = "2GiB", .sim = test.sim});
    CAPTURE(test.version, test.sim, run.err);
    REQUIRE(plain.exit_status == 0);
    REQUIRE(run.exit_status == 0);
    const std::vector<std::string> expected = plain.lines(), lines = run.lines();
    REQUIRE(lines.size() == expected.size());
    REQUIRE(lines.size() > 20000);
    std::size_t wrapped = 0, other_text = 0, other_library = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (without_library(lines[i]) != without_library(expected[i])) {
        if (++other_text < 5) UNSCOPED_INFO(lines[i] << " instead of " << expected[i]);
      }
      // "... libcuda.so.1 SYMBOL exact": exactly what is wrapped is ours, everything else is the driver's own address.
      const std::size_t library = lines[i].find(".so");
      if (library == std::string::npos) continue;
      const std::size_t begin = lines[i].rfind(' ', library) + 1;
      std::istringstream in(lines[i].substr(begin));
      std::string name, symbol, exact;
      in >> name >> symbol >> exact;
      wrapped += is_wrapped(symbol);
      const bool good = name == (is_wrapped(symbol) ? "libvramguard.so" : "libcuda.so.1") && exact == "exact";
      if (!good && ++other_library < 5) UNSCOPED_INFO(lines[i]);
    }
    CHECK(other_text == 0);
    CHECK(other_library == 0);
    CHECK(wrapped > 500);
  }
}

TEST_CASE("cuGetProcAddress gives a wrapped function for itself, whose results are wrapped too") {
  const Run run = Host().run(program("runtime_like"), {"33554432"}, {.budget = "2GiB"});
  CAPTURE(run.err);
  REQUIRE(run.exit_status == 0);
  CHECK(run.lines().at(0) == "self 11030 libvramguard.so cuGetProcAddress exact");
  CHECK(run.lines().at(1) == "self 12000 libvramguard.so cuGetProcAddress_v2 exact");
  CHECK(run.lines().at(2) == "self 13000 libvramguard.so cuGetProcAddress_v2 exact");
}

TEST_CASE("a per-thread default stream is looked up as its own function") {
  const Run run = Host().run(program("proc_address"), {"v2"}, {.budget = "2GiB"});
  REQUIRE(run.exit_status == 0);
  const std::vector<std::string> lines = run.lines();
  const auto said = [&](const std::string& line) { return std::count(lines.begin(), lines.end(), line); };
  CHECK(said("cuMemFreeAsync 12000 1 0 0 libvramguard.so cuMemFreeAsync exact") == 1);
  CHECK(said("cuMemFreeAsync 12000 2 0 0 libvramguard.so cuMemFreeAsync_ptsz exact") == 1);
  CHECK(said("cuMemAlloc 2000 0 0 0 libvramguard.so cuMemAlloc exact") == 1);
  CHECK(said("cuMemAlloc 3020 0 0 0 libvramguard.so cuMemAlloc_v2 exact") == 1);
  CHECK(said("cuCtxCreate 12050 0 0 0 libvramguard.so cuCtxCreate_v4 exact") == 1);
  CHECK(said("no status 0 libvramguard.so cuMemAlloc_v2 exact") == 1);
  CHECK(said("no output 1") == 1);
}
