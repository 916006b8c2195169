// What is not refused by the budget is answered exactly as without the library.
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

// One recorded call of the real driver, and how the console makes it.
struct ErrorRow {
  std::string call;  // as in tests/data/errors.tsv
  std::string script, answer;
};

const std::string kStart = "init 0\nretain 0\n";

// `answer` without its code, which comes from the recording.
const std::vector<ErrorRow> kRows = {
    {"cuMemAlloc(&p,0)", kStart + "alloc_v2 0\n", "alloc_v2 "},
    {"cuMemAlloc(NULL,1)", kStart + "alloc_null 1\n", "alloc_null "},
    {"cuMemAlloc(&p,1<<50)", kStart + "alloc_v2 1125899906842624\n", "alloc_v2 "},
    {"cuMemAlloc(&p,SIZE_MAX)", kStart + "alloc_v2 18446744073709551615\n", "alloc_v2 "},
    {"cuMemFree(0)", kStart + "free_at 0\n", "free_at "},
    {"cuMemFree(bad)", kStart + "free_at 4660\n", "free_at "},
    {"cuMemFree(inside)", kStart + "alloc_v2 4096\nfree 0 512\n", "free "},
    {"cuMemFree(p)", kStart + "alloc_v2 4096\nfree 0\n", "free "},
    {"cuMemFree(p) again", kStart + "alloc_v2 4096\nfree 0\nfree 0\n", "free "},
    {"cuMemAllocManaged(flags 0)", kStart + "managed_flags 0\n", "managed_flags "},
    {"cuMemAllocManaged(0 bytes)", kStart + "managed 0\n", "managed "},
    {"cuMemAllocPitch(element 3)", kStart + "pitch_v2 64 64 3\n", "pitch_v2 "},
    {"cuMemAllocPitch(0 wide)", kStart + "pitch_v2 0 64 4\n", "pitch_v2 "},
    {"cuMemGetInfo(NULL,&t)", kStart + "info_null\n", "info_null "},
    {"cuMemGetInfo(NULL,NULL)", kStart + "info_null\n", "info_null "},
    {"cuDeviceTotalMem(bad device)", kStart + "total 77\n", "total "},
    {"no context: cuMemAlloc", "init 0\nalloc_v2 4096\n", "alloc_v2 "},
    {"no context: cuMemGetInfo", "init 0\ninfo\n", "info "},
    {"no context: cuCtxGetDevice", "init 0\ndevice\n", "device "},
    {"no context: cuMemFree of a live pointer", kStart + "alloc_v2 4096\ncurrent none\nfree 0\n", "free "},
};

std::map<std::string, std::string> recorded_codes() {
  std::map<std::string, std::string> codes;
  std::istringstream in(vramguard::content_of(VRAMGUARD_SOURCE_DIR "/tests/data/errors.tsv"));
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    if (line.empty() || line[0] == '#' || tab == std::string::npos) continue;
    codes[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return codes;
}

// Everything that can go wrong, in one process. Codes only: the numbers are the budget's.
const std::string kEverything =
    "alloc_v2 4096\ninfo_null\ndevice\ninit 0\ninit 1\ncount\n"  // before and at cuInit
    "alloc_v2 4096\nalloc_null 4096\nmanaged 4096\npitch_v2 64 64 4\npitch_null\ninfo_null\ntotal_null 0\n"
    "total_null 77\ncontext_null\nfree_at 0\nfree_at 4660\ndevice\n"  // without a context
    "release 0\nreset 0\nrelease 77\nreset 77\nretain 77\ncreate 77\ndestroy 5\n"
    "retain 0\nalloc_null 0\nalloc_null 4096\nalloc_v2 0\nalloc 0\nmanaged 0\nmanaged_null 4096\nmanaged_null 0\n"
    "managed_flags 0\nmanaged_flags 7\npitch_null\npitch_v2 0 1 4\npitch_v2 1 0 4\npitch_v2 1 1 3\npitch 0 1 4\n"
    "pitch 1 1 3\npitch_v2 18446744073709551615 1 4\npitch_v2 1 18446744073709551615 4\n"
    "alloc_v2 18446744073709551615\nalloc_v2 1125899906842624\nalloc_v2 9223372036854775808\nmanaged "
    "18446744073709551615\noutputs_kept 18446744073709551615\noutputs_kept 0\ninfo_null\ntotal_null 0\n"
    "alloc_v2 4096\nalloc 4096\npitch_v2 100 100 4\npitch 100 100 16\nmanaged 4096\n"
    "free 0 1\nfree 0\nfree 0\nfree 1\nfree 1\nfree 2\nfree 3\nfree 4\nfree 4\n"
    "create 0\ncreate_v1 0\ncreate_v3 0\ncreate_v4 0\nalloc_v2 4096\ndestroy 3\ndestroy 3\ndestroy_v1 2\nfree 5\n"
    "alloc_v2 4096\ncurrent 0\nalloc_v2 4096\nfree 6\ndestroy 0\nfree 6\ncurrent 0\nalloc_v2 4096\ninfo_null\n"
    "retain 0\nalloc_v2 4096\nrelease 0\nreset_v1 0\nreset 0\nfree 7\nalloc_v2 4096\nrelease_v1 0\nrelease 0\n"
    "release 0\nfork\nalloc_v2 4096\n";

}  // namespace

TEST_CASE("the recorded error codes of the real driver come through, with and without a budget") {
  const auto codes = recorded_codes();
  for (const ErrorRow& row : kRows) {
    CAPTURE(row.call);
    REQUIRE(codes.count(row.call) == 1);
    for (const std::string budget : {"", "2GiB"}) {
      const Run run = Host().run(program("console"), {}, {.budget = budget, .input = row.script});
      REQUIRE(run.exit_status == 0);
      CHECK(run.log.all("start").size() == 1);
      const std::string answer = run.lines().back() + " ";
      CHECK(answer.rfind(row.answer + codes.at(row.call) + " ", 0) == 0);
    }
  }
}

TEST_CASE("NULL outputs and missing contexts and wrong arguments are answered line by line as without the library") {
  const Run plain = Host().run(program("console"), {}, {.preload = false, .input = kEverything});
  REQUIRE(plain.exit_status == 0);
  REQUIRE(plain.lines().size() > 90);
  for (const std::string budget : {"", "6GiB", "1TiB"}) {
    CAPTURE(budget);
    const Run run = Host().run(program("console"), {}, {.budget = budget, .input = kEverything});
    REQUIRE(run.exit_status == 0);
    CHECK(run.err == plain.err);
    CHECK(run.log.all("start").size() == 1);
    CHECK(run.lines() == plain.lines());
  }
}

TEST_CASE("the same holds on the old driver") {
  std::string script = kEverything;
  script.erase(script.find("create_v4 0\n"), std::string("create_v4 0\n").size());
  script.insert(script.find("create_v3 0\n"), "create 0\n");
  const Run plain = Host().run(program("console"), {}, {.preload = false, .sim = "sim-old", .input = script});
  const Run run = Host().run(program("console"), {}, {.budget = "6GiB", .sim = "sim-old", .input = script});
  REQUIRE(plain.exit_status == 0);
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.one("start")["mode"] == "enforce");
  CHECK(run.lines() == plain.lines());
}

TEST_CASE("a forked child is told that CUDA is not initialised, and the parent's books stay as they are") {
  Host host;
  const Run run = host.run(
      program("console"), {},
      {.budget = "2GiB", .input = "init 0\nretain 0\nalloc_v2 1048576\ninfo\nfork\ninfo\nfill alloc_v2 33554432\n"});
  REQUIRE(run.exit_status == 0);
  const std::vector<std::string> lines = run.lines();
  CHECK(lines.at(4) == "child 3 3 3");
  CHECK(lines.at(5) == "fork 0");
  CHECK(lines.at(6) == lines.at(3));
  CHECK(lines.at(7) == "fill 2 47");
  CHECK(run.log.one("start").number("seq") == 1);
}

TEST_CASE("calls that have nothing to do with the budget are answered exactly as without the library") {
  const Run plain = Host({"8GiB", "4GiB"}).run(program("other_calls"), {}, {.preload = false});
  CAPTURE(plain.err);
  REQUIRE(plain.exit_status == 0);
  REQUIRE(plain.lines().size() > 800);
  const Run run = Host({"8GiB", "4GiB"}).run(program("other_calls"), {}, {.budget = "2GiB"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.all("start").size() == 1);
  CHECK(run.lines() == plain.lines());
}
