#include "core/state/counters.h"

#include <catch2/catch.hpp>

#include <memory>
#include <random>

#include "core/state/process_state_file.h"
#include "tests/support/fabricated_state.h"

namespace vramguard {
namespace {

const std::string kGpu = "GPU-1";

struct Process {
  std::unique_ptr<ProcessState> state = std::make_unique<ProcessState>();
  DeviceState& device = add_device(*state, kGpu);
};

Counters counters_of(const ProcessState& state) {
  Counters counters;
  add_counters(state, counters);
  return counters;
}

}  // namespace

TEST_CASE("what a process has counted has a series for each device, scope and level") {
  Process process;
  process.device.refused[0] = 3;
  process.device.refused[2] = 1;
  process.device.returned[1] = 2;
  process.device.recovered = 4;
  process.device.waited_ms = 1500;
  process.device.transitions[4] = 5;
  process.state->log_dropped = 6;
  process.state->log_suppressed = 7;

  Counters counters = counters_of(*process.state);
  CHECK(counters[R"(vramguard_requests_refused_total{gpu_uuid="GPU-1",scope="budget"})"] == 3);
  CHECK(counters[R"(vramguard_requests_refused_total{gpu_uuid="GPU-1",scope="leave_free"})"] == 0);
  CHECK(counters[R"(vramguard_requests_refused_total{gpu_uuid="GPU-1",scope="device"})"] == 1);
  CHECK(counters[R"(vramguard_ooms_returned_total{gpu_uuid="GPU-1",scope="leave_free"})"] == 2);
  CHECK(counters[R"(vramguard_ooms_recovered_total{gpu_uuid="GPU-1"})"] == 4);
  CHECK(counters[R"(vramguard_oom_wait_milliseconds_total{gpu_uuid="GPU-1"})"] == 1500);
  CHECK(counters[R"(vramguard_pressure_transitions_total{gpu_uuid="GPU-1",to="critical"})"] == 5);
  CHECK(counters[R"(vramguard_log_dropped_total{cause="lost"})"] == 6);
  CHECK(counters[R"(vramguard_log_dropped_total{cause="rate_limit"})"] == 7);
  CHECK(counters.size() == 15);  // those that are zero are there, too
}

TEST_CASE("what hooks have done is counted by hook, cause and reason") {
  Process process;
  process.state->hook_count = 1;
  HookState& hook = process.state->hooks[0];
  set_state_text(hook.name, "drop \"cache\"");
  hook.runs = 9;
  hook.outcomes[0] = 5;  // ok: no failure
  hook.outcomes[4] = 2;
  hook.skips[3] = 1;

  Counters counters = counters_of(*process.state);
  CHECK(counters[R"(vramguard_hook_runs_total{hook="drop \"cache\""})"] == 9);
  CHECK(counters[R"(vramguard_hook_failures_total{hook="drop \"cache\"",cause="timeout"})"] == 2);
  CHECK(counters[R"(vramguard_hook_skips_total{hook="drop \"cache\"",reason="cooldown"})"] == 1);
  CHECK(counters.size() == 15 + 1 + 5 + 7);
}

TEST_CASE("a workload is named by its pod, else by its job, else by its container") {
  Process process;
  const auto first = [&] { return counters_of(*process.state).begin()->first; };
  CHECK(first() == R"(vramguard_log_dropped_total{cause="lost"})");
  set_state_text(process.state->container, "0123456789ab");
  CHECK(first() == R"(vramguard_log_dropped_total{cause="lost",container="0123456789ab"})");
  set_state_text(process.state->slurm_job, "4711");
  CHECK(first() == R"(vramguard_log_dropped_total{cause="lost",slurm_job="4711"})");
  set_state_text(process.state->pod, "train-0");
  set_state_text(process.state->namespace_, "research");
  CHECK(first() == R"(vramguard_log_dropped_total{cause="lost",namespace="research",pod="train-0"})");
}

TEST_CASE("counts of processes with the same labels are added up, and never wrap") {
  Process one, other;
  one.device.recovered = 3;
  other.device.recovered = 4;
  one.device.waited_ms = UINT64_MAX - 1;
  other.device.waited_ms = 5;
  Counters counters;
  add_counters(*one.state, counters);
  add_counters(*other.state, counters);
  CHECK(counters[R"(vramguard_ooms_recovered_total{gpu_uuid="GPU-1"})"] == 7);
  CHECK(counters[R"(vramguard_oom_wait_milliseconds_total{gpu_uuid="GPU-1"})"] == UINT64_MAX);
}

TEST_CASE("a label shows any text without breaking the line or the encoding") {
  CHECK(escaped_label("a\\b\"c") == R"(a\\b\"c)");
  CHECK(escaped_label("a\nb\tc\xff") == "a?b?c?");
  CHECK(escaped_label("schön") == "schön");
}

TEST_CASE("a series is read back as it was written") {
  const Labels labels{{"hook", "a \"b\" \\ {c=\"d\"},e"}, {"gpu_uuid", ""}};
  const std::optional<Series> read = parse_series(series_text("vramguard_x_total", labels));
  REQUIRE(read);
  CHECK(read->name == "vramguard_x_total");
  CHECK(read->labels == labels);
  REQUIRE(parse_series("alone"));
  CHECK(parse_series("alone")->labels.empty());
}

TEST_CASE("what is no series is not read as one") {
  for (const char* text : {"", "{}", "a{", "a{}", "a{b}", "a{b=}", R"(a{b="c)",
                           R"(a{b="c"})"
                           "x",
                           R"(a{b="c",})", R"(a{b="\n"})", R"(a{b="\)", "1a", "a b", R"(a{="c"})"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_series(text));
  }
}

TEST_CASE("a state of any content has counts that can be written and read back") {
  std::mt19937_64 random(1);
  auto state = std::make_unique<ProcessState>();
  for (int round = 0; round < 20; ++round) {
    auto* bytes = reinterpret_cast<unsigned char*>(state.get());
    for (std::size_t i = 0; i < sizeof *state; ++i) bytes[i] = static_cast<unsigned char>(random());
    for (const auto& [series, value] : counters_of(*state)) {
      CAPTURE(series);
      REQUIRE(series.find('\n') == std::string::npos);
      REQUIRE(parse_series(series));
    }
  }
}

}  // namespace vramguard
