#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include <sys/wait.h>
#include <unistd.h>

#include "cli/exporter/collector.h"
#include "cli/exporter/listen_address.h"
#include "cli/exporter/live_samples.h"
#include "cli/exporter/textfile.h"
#include "core/state/fold_steps.h"
#include "core/state/totals_file.h"
#include "tests/support/fabricated_state.h"
#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

namespace fs = std::filesystem;

// The values by name and labels, as they stand in the text.
std::map<std::string, double> values_of(const Samples& samples) {
  std::map<std::string, double> values;
  for (const auto& family : samples.families()) {
    for (const auto& sample : family.metric) {
      Labels labels;
      for (const auto& label : sample.label) labels.emplace_back(label.name, label.value);
      values[series_text(family.name, labels)] =
          family.type == prometheus::MetricType::Gauge ? sample.gauge.value : sample.counter.value;
    }
  }
  return values;
}

LiveProcess process_with(const std::string& uuid, std::uint64_t used, std::uint64_t budget) {
  LiveProcess process;
  process.comm = "train";
  process.own_pid = 7;
  LiveDevice device;
  device.uuid = uuid;
  device.used_bytes = used;
  device.budget_bytes = budget;
  process.devices.push_back(device);
  return process;
}

std::map<std::string, double> live_values(const std::vector<LiveProcess>& live, bool per_process = false,
                                          const CardNames& cards = {}) {
  Samples samples;
  add_live(live, cards, per_process, samples);
  return values_of(samples);
}

NvmlView card(unsigned index, const std::string& uuid) {
  NvmlView view;
  view.answer = NvmlAnswer::Told;
  view.devices.emplace_back();
  view.devices.back().index = index;
  view.devices.back().uuid = uuid;
  return view;
}

const std::string kRecovered = R"(vramguard_ooms_recovered_total{gpu_uuid="GPU-1"})";

std::string stale_with(const std::string& folder, std::uint64_t recovered) {
  return make_stale_state(folder, [&](ProcessState& state) { add_device(state, "GPU-1").recovered = recovered; });
}

std::string folder_for_between;
void fold_all() { fold_stale({folder_for_between, geteuid()}); }
void fold_one_and_stop_before_its_file_is_gone() {
  for (const SeenProcess& process : read_states({{folder_for_between, geteuid()}}).processes) {
    if (process.alive) continue;
    const pid_t child = fork();
    if (child == 0) {
      fold_by_steps(folder_for_between, process.path, [](FoldStep step) {
        if (step == FoldStep::Published) _exit(0);
      });
    }
    waitpid(child, nullptr, 0);
    return;
  }
}
void fold_too_many() {
  Totals totals = read_totals_file(folder_for_between, geteuid());
  for (std::size_t i = 0; i <= Totals::kLastFolded; ++i) totals.add(std::to_string(i), {});
  REQUIRE(write_hidden_totals(folder_for_between, totals));
  REQUIRE(publish_totals(folder_for_between));
}

}  // namespace

TEST_CASE("processes with the same labels are one series: bytes are added up, of levels the worst counts") {
  LiveProcess one = process_with("GPU-1", 10, 100), other = process_with("GPU-1", 5, kStateUnknown);
  one.devices[0].level = 1;
  other.devices[0].level = 3;
  LiveProcess pod = process_with("GPU-1", 2, 50);
  pod.workload = {{"namespace", "research"}, {"pod", "train-0"}};
  auto values = live_values({other, one, pod});
  CHECK(values[R"(vramguard_used_bytes{gpu_uuid="GPU-1"})"] == 15);
  CHECK(values[R"(vramguard_budget_bytes{gpu_uuid="GPU-1"})"] == 100);
  CHECK(values[R"(vramguard_pressure_level{gpu_uuid="GPU-1",level="high"})"] == 1);
  CHECK(values[R"(vramguard_pressure_level{gpu_uuid="GPU-1",level="low"})"] == 0);
  CHECK(values["vramguard_guarded_processes"] == 2);
  CHECK(values[R"(vramguard_guarded_processes{namespace="research",pod="train-0"})"] == 1);
  CHECK(values[R"(vramguard_budget_bytes{gpu_uuid="GPU-1",namespace="research",pod="train-0"})"] == 50);
}

TEST_CASE("the budget of a group counts once for each card, its members' use each time") {
  LiveProcess one = process_with("GPU-1", 10, 100), other = process_with("GPU-1", 5, 100);
  one.group = other.group = "job";
  one.folder = other.folder = "/run/vramguard/1000";
  LiveProcess elsewhere = one;
  elsewhere.folder = "/run/vramguard/1001";  // another user's group of the same name
  auto values = live_values({one, other, elsewhere});
  CHECK(values[R"(vramguard_budget_bytes{gpu_uuid="GPU-1"})"] == 200);
  CHECK(values[R"(vramguard_used_bytes{gpu_uuid="GPU-1"})"] == 25);
}

TEST_CASE("processes have series of their own when that is asked for") {
  auto values = live_values({process_with("GPU-1", 10, 100)}, true);
  CHECK(values[R"(vramguard_used_bytes{gpu_uuid="GPU-1",pid="7",comm="train",user="root"})"] == 10);
  CHECK(values["vramguard_guarded_processes"] == 1);
}

TEST_CASE("a label is shown without what Prometheus would not read") {
  CHECK(live_values({process_with("GPU-\xff\n", 10, 100)})[R"(vramguard_used_bytes{gpu_uuid="GPU-??"})"] == 10);
}

TEST_CASE("nothing guarded is a zero and not a gap") { CHECK(live_values({})["vramguard_guarded_processes"] == 0); }

TEST_CASE("a card keeps its number while NVML does not answer") {
  CardNames cards;
  cards.learn(card(3, "GPU-1"));
  cards.learn({});
  auto values = live_values({process_with("GPU-1", 10, 100)}, false, cards);
  CHECK(values[R"(vramguard_used_bytes{gpu="3",gpu_uuid="GPU-1"})"] == 10);
}

TEST_CASE("free memory is NVML's number, else that of the process that wrote last") {
  LiveProcess old = process_with("GPU-1", 0, 0), recent = old;
  old.updated_at_ms = 1;
  old.devices[0].device_free_bytes = 10;
  recent.updated_at_ms = 2;
  recent.devices[0].device_free_bytes = 20;
  const auto free = [&](NvmlView nvml) {
    Samples samples;
    add_free({old, recent, process_with("GPU-1", 0, 0)}, nvml, {}, samples);
    return values_of(samples)[R"(vramguard_device_free_bytes{gpu_uuid="GPU-1"})"];
  };
  CHECK(free({}) == 20);
  NvmlView nvml = card(0, "GPU-1");
  nvml.devices[0].free_bytes = 30;
  CHECK(free(nvml) == 30);
}

TEST_CASE("a process that NVML shows is guarded, unguarded or unknown") {
  NvmlView nvml = card(0, "GPU-1");
  const pid_t self = getpid();
  nvml.devices[0].processes = {{self, 1}, {1, 1}};
  const auto counted = [&](const std::vector<LiveProcess>& live) {
    Samples samples;
    add_unguarded(live, nvml, {}, samples);
    auto values = values_of(samples);
    return std::pair(values[R"(vramguard_unguarded_processes{gpu_uuid="GPU-1"})"],
                     values[R"(vramguard_unknown_processes{gpu_uuid="GPU-1"})"]);
  };
  CHECK(counted({}) == std::pair(0.0, 2.0));  // neither has mapped anything of CUDA
  LiveProcess guarded = process_with("GPU-1", 0, 0);
  guarded.pid = self;
  CHECK(counted({guarded}) == std::pair(0.0, 1.0));

  Samples nothing;
  add_unguarded({guarded}, {}, {}, nothing);
  CHECK(nothing.families().empty());
}

TEST_CASE("counts are shown in the metric's unit, and only those that vramguard has") {
  Samples samples;
  add_counts({{R"(vramguard_oom_wait_milliseconds_total{gpu_uuid="GPU-1",pod="x"})", 1500},
              {R"(vramguard_ooms_recovered_total{gpu_uuid="GPU-1",job="stolen",instance="x"})", 2},
              {R"(vramguard_used_bytes{gpu_uuid="GPU-1"})", 3},
              {R"(vramguard_oom_wait_seconds_total{gpu_uuid="GPU-1"})", 3},
              {"up", 0},
              {"no series {", 1}},
             {}, samples);
  CHECK(values_of(samples) ==
        std::map<std::string, double>{{R"(vramguard_oom_wait_seconds_total{gpu_uuid="GPU-1",pod="x"})", 1.5},
                                      {kRecovered, 2}});
}

TEST_CASE("each process is counted once while somebody folds its file") {
  const TemporaryFolder folder;
  const StateFolder state{folder.path(), geteuid()};
  folder_for_between = folder.path();
  for (const auto between : {fold_one_and_stop_before_its_file_is_gone, fold_all}) {
    fold_stale(state);
    const std::uint64_t before = read_totals(folder.path())[kRecovered];
    for (const int recovered : {1, 2, 3}) stale_with(folder.path(), recovered);
    FolderReading reading = read_folder(state, between);
    CHECK(reading.exact);
    CHECK(reading.counters[kRecovered] == before + 6);
    CHECK(read_folder(state).counters[kRecovered] == before + 6);
  }
}

TEST_CASE("a reading says that it is not exact when more processes end meanwhile than are known by name") {
  const TemporaryFolder folder;
  folder_for_between = folder.path();
  CHECK_FALSE(read_folder({folder.path(), geteuid()}, fold_too_many).exact);
}

TEST_CASE("files that cannot be read are counted, and keep nothing else from being shown") {
  const TemporaryFolder folder;
  stale_with(folder.path(), 4);
  std::ofstream(folder.path() + "/1-2-3.state") << "nonsense";
  std::ofstream(folder.path() + "/totals") << "vramguard totals 2\n";
  CollectorOptions options;
  options.state_dirs = {folder.path(), folder.path() + "/missing"};
  options.nvml = false;
  const std::string text = exposition(Collector(options));
  CAPTURE(text);
  CHECK(text.find("\nvramguard_exporter_unreadable_files 3\n") != std::string::npos);
  CHECK(text.find("\nvramguard_exporter_stale_files 1\n") != std::string::npos);
  CHECK(text.find("\n" + kRecovered + " 4\n") != std::string::npos);
}

TEST_CASE("state of any content makes no text that Prometheus would not read") {
  const TemporaryFolder folder;
  std::mt19937_64 random(3);
  for (int i = 0; i < 5; ++i) {
    make_stale_state(folder.path(), [&](ProcessState& state) {
      auto* from = reinterpret_cast<unsigned char*>(&state.vramguard_version);
      for (auto* byte = from; byte < reinterpret_cast<unsigned char*>(&state + 1); ++byte)
        *byte = static_cast<unsigned char>(random());
    });
  }
  CollectorOptions options;
  options.state_dirs = {folder.path()};
  options.nvml = false;
  const std::string text = exposition(Collector(options));
  CHECK(printable(text).size() == text.size());
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1, ++lines) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with('#')) continue;
    CAPTURE(line);
    REQUIRE(line.starts_with("vramguard_"));
    REQUIRE(parse_series(line.substr(0, line.rfind(' '))));
  }
  CHECK(lines > 100);
}

TEST_CASE("an address is numeric and has a port, and why it cannot be had is said") {
  CHECK_FALSE(why_not_listen("127.0.0.1:0"));
  for (const char* wrong :
       {"", "19835", "localhost:19835", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:1x", "::1:80"}) {
    CAPTURE(wrong);
    REQUIRE(why_not_listen(wrong));
    CHECK(why_not_listen(wrong)->find("is no address and port") != std::string::npos);
  }
  CHECK(why_not_listen("192.0.2.1:19835") == "192.0.2.1:19835 is no address of this machine");
}

TEST_CASE("the text file is replaced as a whole, and keeps its content where that cannot be done") {
  const TemporaryFolder folder;
  REQUIRE_FALSE(write_textfile(folder.path(), "one\n"));
  REQUIRE_FALSE(write_textfile(folder.path(), "two\n"));
  CHECK(content_of(folder.path() + "/vramguard.prom") == "two\n");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
  CHECK(write_textfile(folder.path() + "/missing", "x"));
  fs::create_directory(folder.path() + "/.vramguard.prom");
  CHECK(write_textfile(folder.path(), "three\n"));
  CHECK(content_of(folder.path() + "/vramguard.prom") == "two\n");
}

TEST_CASE("docs/metrics.md has a line for each metric with its type, and for no other") {
  std::map<std::string, std::string> documented;
  for (const std::string& line : lines_of(VRAMGUARD_SOURCE_DIR "/docs/metrics.md")) {
    if (!line.starts_with("| `vramguard_")) continue;
    const std::size_t name_end = line.find('`', 3), kind = line.find("| ", name_end) + 2;
    documented[line.substr(3, name_end - 3)] = line.substr(kind, line.find(' ', kind) - kind);
  }
  std::map<std::string, std::string> known;
  for (const MetricInfo& info : kMetricInfos) known[info.name] = info.kind == MetricKind::Gauge ? "gauge" : "counter";
  CHECK(documented == known);
}

}  // namespace vramguard
