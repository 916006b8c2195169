// Programs with an allocator, a sanitizer, a C++ runtime or a use of thread-local storage of their own.
#include <filesystem>

#include "tests/integration/robustness.h"

using namespace vramguard::integration;

namespace {

const std::string kFill = "init 0\nretain 0\nfill alloc_v2 33554432\nfree_all\nfill alloc_v2 33554432\n";

std::string found(std::initializer_list<const char*> files) {
  for (const char* file : files) {
    if (std::filesystem::exists(file)) return file;
  }
  return "";
}

void check_guarded_beside(const std::string& other) {
  for (const std::string& list : {other + ":" + preload_path(), preload_path() + ":" + other}) {
    Host host;
    CAPTURE(list);
    const Run run = host.run(program("console"), {}, preloading(list, {.budget = "2GiB", .input = kFill}));
    CAPTURE(run.err);
    REQUIRE(run.exit_status == 0);
    CHECK(run.lines().back() == "fill 2 47");
    CHECK(run.log.one("exit").number("refused") == 2);
    CHECK(run.err.empty());
    CHECK(host.run("/bin/true", {}, preloading(list)).exit_status == 0);
  }
}

// Under `vramguard run`, which sees to what such a program needs.
void check_sanitized_host(const std::string& name) {
  if (skipped_when_sanitized()) return;
  Host host;
  const Run alone = host.run(program(name), {}, {.preload = false});
  if (skipped(alone.exit_status != 0, "a program with this sanitizer does not run here: " + alone.err)) return;
  const std::vector<std::string> arguments{"run", "-b", "2GiB", "--", program(name)};
  const Run run =
      host.run(build_path("vramguard"), arguments,
               {.env = {{"ASAN_OPTIONS", "detect_leaks=0"}, {"TSAN_OPTIONS", "ignore_noninstrumented_modules=1"}},
                .preload = false});
  CAPTURE(run.err);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "done 2\n");
  CHECK(run.log.one("exit").number("refused") == 1);
}

}  // namespace

TEST_CASE("jemalloc and the library work together in either order") {
  const std::string other =
      found({"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2"});
  if (skipped(other.empty(), "no libjemalloc2") || skipped_when_sanitized()) return;
  check_guarded_beside(other);
}

TEST_CASE("tcmalloc and the library work together in either order") {
  const std::string other = found(
      {"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", "/usr/lib/aarch64-linux-gnu/libtcmalloc_minimal.so.4"});
  if (skipped(other.empty(), "no libtcmalloc-minimal4") || skipped_when_sanitized()) return;
  check_guarded_beside(other);
}

TEST_CASE("a malloc that asks dlsym at every call and the library work together in either order") {
  if (skipped_when_sanitized()) return;
  check_guarded_beside(program("libasking_malloc.so"));
}

TEST_CASE("a program that uses the driver before main is guarded") {
  const Run run = Host().run(program("early"), {}, {.budget = "2GiB"});
  CHECK(run.exit_status == 0);
  CHECK(run.out == "early 0 47\n");
}

TEST_CASE("a program built with AddressSanitizer runs under the command") { check_sanitized_host("host_address"); }

TEST_CASE("a program built with ThreadSanitizer runs under the command") { check_sanitized_host("host_thread"); }

TEST_CASE("exceptions of a C++ program stay its own around the driver's calls") {
  Host host;
  const Run run = host.run(program("host_exceptions"), {}, {.budget = "2GiB"});
  CAPTURE(run.err);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "caught 401\n");
  CHECK(run.log.one("exit").number("refused") == 400);
}

TEST_CASE("a program's shared spdlog keeps its loggers, its pattern and its output") {
  Host host;
  const Run run = same_with_and_without(host, program("host_spdlog"), {}, {.budget = "2GiB"});
  CHECK(run.out == "[host] [info] before 1\n[host] [info] after 2\n[host] [warning] 1 logger, alone\n");
  CHECK(run.log.all("oom_returned").size() == 1);
}

TEST_CASE("a thread that is cancelled inside a call ends after it, and the books are right") {
  if (skipped(sanitized(), "AddressSanitizer does not bear a cancelled thread")) return;
  struct Case {
    std::string what, slow;
    int freed, fit;
  };
  // 520 MiB are the context's; 7 blocks of 64 MiB fit beside it, less the one that a cancelled thread left behind.
  for (const Case& c : {Case{"alloc", "cuMemAlloc_v2", 0, 6}, Case{"free", "cuMemFree_v2", 1, 7},
                        Case{"refuse", "cuMemGetInfo_v2", 0, 7}, Case{"refuse_async", "cuMemGetInfo_v2", 0, 7}}) {
    Host host;
    CAPTURE(c.what);
    const Run run =
        host.run(program("cancelled"), {c.what}, {.budget = "1GiB", .env = {{"VGSIM_DELAY", c.slow + "=200"}}});
    CAPTURE(run.err);
    CHECK(run.signal == 0);
    CHECK(run.exit_status == 0);
    CHECK(run.out == c.what + " cancelled\nrefused 2 soon\nfreed " + std::to_string(c.freed) + "\nfit " +
                         std::to_string(c.fit) + "\n");
  }
}

TEST_CASE("the core loads where static thread-local storage has run out") {
  if (skipped_when_sanitized()) return;
  Host host;
  for (int i = 0; i < 40; ++i) {
    std::filesystem::copy_file(program("libtls_library.so"), host.path("tls" + std::to_string(i) + ".so"));
  }
  const Run run = host.run(program("tls_heavy"), {host.path("tls")}, {.budget = "2GiB"});
  CAPTURE(run.err);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "exhausted, 2\n");
  CHECK(run.log.one("oom_returned")["scope"] == "budget");
}
