// However a program ends, it ends as without us: same status, no message, no hang, no call of ours after its last.
#include <algorithm>
#include <chrono>

#include "tests/integration/robustness.h"

using namespace vramguard::integration;

namespace {

enum class ExitRecord { Written, NotReached };

struct Ending {
  const char* way;
  ExitRecord exit_record;  // whether the exit handlers run
};

constexpr Ending kEndings[] = {
    {"return", ExitRecord::Written},         {"exit", ExitRecord::Written},
    {"exit_in_thread", ExitRecord::Written}, {"exit_while_others_allocate", ExitRecord::Written},
    {"pthread_exit", ExitRecord::Written},   {"static_destructor", ExitRecord::Written},
    {"deinitialized", ExitRecord::Written},  {"_exit", ExitRecord::NotReached},
    {"quick_exit", ExitRecord::NotReached},  {"abort", ExitRecord::NotReached},
    {"SIGTERM", ExitRecord::NotReached},     {"SIGKILL", ExitRecord::NotReached},
    {"SIGSEGV", ExitRecord::NotReached},     {"exec", ExitRecord::NotReached},
};

// The driver's calls after the program said that it leaves, "name result" each. The watchdog's looks at NVML go on
// while threads of the program do.
std::vector<std::string> calls_after_leaving(const std::string& trace) {
  std::vector<std::string> calls;
  for (const std::string& line : vramguard::lines_of(trace)) {
    if (line.starts_with("nvmlDevice")) continue;
    calls.push_back(line.substr(0, line.rfind(' ')));
    if (calls.back() == "cuDriverGetVersion 0") calls.clear();
  }
  return calls;
}

Run end(Host& host, const std::string& way, bool preload) {
  Options options{.budget = "2GiB", .env = {{"VGSIM_TRACE", host.path("trace")}}, .preload = preload};
  if (way == "deinitialized") options.env["VGSIM_FAIL"] = "cuMemFree_v2:1=4";
  return host.run(program("endings"), {way}, options);
}

}  // namespace

TEST_CASE("a program ends by every way with the status and the output it has without us") {
  for (const Ending& ending : kEndings) {
    const std::string way = ending.way;
    if (sanitized() && (way == "SIGSEGV" || way == "abort")) continue;  // the sanitizer's own handlers speak then
    CAPTURE(way);
    Host without_us, with_us;
    const Run without = end(without_us, way, false), with = end(with_us, way, true);
    CHECK(with.exit_status == without.exit_status);
    CHECK(with.signal == without.signal);
    CHECK(with.out == without.out);
    CHECK(with.err == without.err);
    CHECK(with.err.empty());
    // Calls of the program's own bring questions of ours along.
    if (calls_after_leaving(without_us.path("trace")).empty()) {
      CHECK(calls_after_leaving(with_us.path("trace")) == std::vector<std::string>{});
    }
    CHECK(with.log.one("oom_returned")["scope"] == "budget");  // whatever happens a moment later
    const std::size_t exits = with.log.all("exit").size();
    CHECK(exits == (ending.exit_record == ExitRecord::Written ? 1 : 0));
    if (exits == 1) CHECK(with.log.records().back()["ev"] == "exit");
  }
}

TEST_CASE("a library that used the driver can be unloaded") {
  Host host;
  const Run run =
      same_with_and_without(host, program("endings"), {"dlclose", program("liblate_library.so")}, {.budget = "2GiB"});
  CHECK(run.out == "library 2\n");
  CHECK(run.exit_status == 7);
  REQUIRE_FALSE(run.log.empty());
  CHECK(run.log.records().back()["ev"] == "exit");
}

TEST_CASE("the end of a program takes less than 50 ms more than without us") {
  using namespace std::chrono;
  const auto quickest = [](bool preload) {
    auto best = milliseconds::max();
    for (int i = 0; i < 5; ++i) {
      Host host;
      const auto process = host.start(program("endings"), {"exit"}, {.budget = "2GiB", .preload = preload});
      while (process->read_line() != "leaving") {
      }
      const auto start = steady_clock::now();
      CHECK(process->finish().exit_status == 7);
      best = std::min(best, duration_cast<milliseconds>(steady_clock::now() - start));
    }
    return best;
  };
  const auto without = quickest(false), with = quickest(true);
  CHECK((with - without).count() < 50);
}
