// `vramguard ps`, with processes that this program makes up and the simulated NVML.

#include "cli/ps_command.h"
#include "cli/table_json.h"
#include "cli/table_text.h"
#include "core/bytes.h"
#include "tests/cli/command_fixture.h"
#include "tests/support/fabricated_state.h"
#include "tests/support/temporary_folder.h"

#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>

using namespace vramguard;
using Catch::Matchers::Contains;

namespace {

SeenProcess guarded(pid_t pid, const std::string& command, const std::string& group = "") {
  SeenProcess seen{"x.state", 4'000'000, true, pid, {}};
  seen.state.pid = pid;
  seen.state.start_ticks = 1;
  seen.state.started_at_ms = 1'000'000;
  set_state_text(seen.state.command, command);
  set_state_text(seen.state.group, group);
  return seen;
}

DeviceState& use(SeenProcess& seen, const std::string& uuid, Bytes used, Bytes budget = kStateUnknown) {
  DeviceState& device = add_device(seen.state, uuid);
  device.used_bytes = device.peak_bytes = used;
  device.budget_bytes = budget;
  return device;
}

// Two cards, one of which NVML knows.
NvmlView one_card() {
  NvmlView view;
  view.answer = NvmlAnswer::Told;
  view.devices.push_back({0, "GPU-a", "00000000:3B:00.0", "Card", 16_GiB, 6_GiB, {}});
  return view;
}

std::vector<std::string> lines(const SeenProcesses& seen, const NvmlView& nvml, std::size_t width = SIZE_MAX,
                               TableView view = {}) {
  return table_lines(make_table(seen, nvml, 1'090'000), view, {width, false});
}

bool conforms(const std::string& json) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/it.json") << json;
  const std::string command =
      "python3 " VRAMGUARD_CHECK_JSON " " VRAMGUARD_SCHEMAS "/ps.json " + folder.path() + "/it.json";
  return system(command.c_str()) == 0;
}

// A child that does that and then lives until it is gone.
class Child {
 public:
  explicit Child(const std::function<bool()>& work) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      const char done = work() ? '1' : '0';
      static_cast<void>(write(ready[1], &done, 1));
      pause();
      _exit(0);
    }
    char done = '0';
    REQUIRE(read(ready[0], &done, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    REQUIRE(done == '1');
  }
  Child(const Child&) = delete;
  ~Child() { end(); }
  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// The command, a state folder of its own and the simulated cards.
class PsFixture : public CommandFixture {
 public:
  PsFixture() {
    std::filesystem::create_directory(path("states"));
    set("VRAMGUARD_STATE_DIR", path("states"));
    set("LD_LIBRARY_PATH", VRAMGUARD_SIM_FOLDER);
    set("VGSIM_STATE", path("cards"));
  }
  // In a child: a context on the simulated card.
  bool use_card() const {
    setenv("VGSIM_STATE", path("cards").c_str(), 1);
    void* driver = dlopen(VRAMGUARD_SIM_FOLDER "/libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) return false;
    const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    const auto retain = reinterpret_cast<int (*)(void**, int)>(dlsym(driver, "cuDevicePrimaryCtxRetain"));
    void* context = nullptr;
    return init != nullptr && retain != nullptr && init(0) == 0 && retain(&context, 0) == 0;
  }
  std::string line_with(const std::string& text, const std::string& part) const {
    const std::size_t at = text.find(part);
    if (at == std::string::npos) return "";
    const std::size_t start = text.rfind('\n', at) + 1;
    return text.substr(start, text.find('\n', at) - start);
  }
};

}  // namespace

TEST_CASE("ps shows a guarded process for each device that it uses, and once where it uses none") {
  SeenProcesses seen;
  seen.processes = {guarded(100, "python train.py"), guarded(200, "idle")};
  DeviceState& device = use(seen.processes[0], "GPU-a", 3_GiB, 8_GiB);
  device.level = 3;
  device.peak_bytes = 5_GiB;
  device.refused[0] = 1;
  device.refused[2] = 2;
  use(seen.processes[0], "GPU-b123456789", 1_GiB);
  add_device(seen.processes[1].state, "GPU-a").budget_bytes = 8_GiB;
  CHECK(
      lines(seen, one_card()) ==
      std::vector<std::string>{"GPU           USER     PID  COMMAND          LEVEL  USED  BUDGET  PEAK  REFUSED  AGE",
                               "0             4000000  100  python train.py  high   3GiB    8GiB  5GiB        3   1m",
                               "GPU-b1234567  4000000  100  python train.py  none   1GiB       -  1GiB        0   1m",
                               "-             4000000  200  idle             -         -       -     -        -   1m"});
}

TEST_CASE("members of a group stand under a line with their sum and their budget") {
  SeenProcesses seen;
  seen.processes = {guarded(100, "rank 0", "job"), guarded(150, "other"), guarded(200, "rank 1", "job"),
                    guarded(300, "alone", "single")};
  use(seen.processes[0], "GPU-a", 1_GiB, 8_GiB);
  use(seen.processes[1], "GPU-a", 1_GiB, 2_GiB);
  use(seen.processes[2], "GPU-a", 2_GiB, 8_GiB).level = 4;
  use(seen.processes[3], "GPU-a", 1_GiB, 4_GiB);
  const std::vector<std::string> grouped = lines(seen, one_card());
  REQUIRE(grouped.size() == 6);
  CHECK_THAT(grouped[1], Contains("job") && Contains("(2 processes)") && Contains("critical  3GiB    8GiB"));
  CHECK_THAT(grouped[2], Contains("100") && Contains("  rank 0") && Contains("1GiB  shared"));
  CHECK_THAT(grouped[3], Contains("200") && Contains("  rank 1"));
  CHECK_THAT(grouped[4], Contains("150") && Contains("2GiB"));
  CHECK_THAT(grouped[5], Contains("single") && Contains("alone") && Contains("4GiB"));
  CHECK(lines(seen, one_card(), SIZE_MAX, {TableOrder::Start, false}).size() == 5);
}

TEST_CASE("rows are sorted by use, by the room that is left and by number, within each device") {
  SeenProcesses seen;
  seen.processes = {guarded(300, "a"), guarded(200, "b"), guarded(100, "c")};
  use(seen.processes[0], "GPU-a", 2_GiB, 16_GiB);
  use(seen.processes[1], "GPU-a", 3_GiB, 8_GiB);
  use(seen.processes[2], "GPU-a", 1_GiB, 2_GiB);
  const auto commands = [&](TableOrder order) {
    std::string all;
    const ProcessTable table = make_table(seen, one_card(), 0);
    for (const TableRow& row : arrange(table, {order, true})) all += row.process->command;
    return all;
  };
  CHECK(commands(TableOrder::Start) == "abc");
  CHECK(commands(TableOrder::Used) == "bac");
  CHECK(commands(TableOrder::Room) == "cba");
  CHECK(commands(TableOrder::Pid) == "cba");
}

TEST_CASE("a narrow terminal has fewer columns, the most important ones, down to nothing") {
  SeenProcesses seen;
  seen.processes = {guarded(28491, "python train.py --with=a-very-long-list-of-arguments", "job")};
  use(seen.processes[0], "GPU-a", 3_GiB, 8_GiB);
  for (std::size_t width = 0; width < 130; ++width) {
    for (const std::string& line : lines(seen, one_card(), width)) REQUIRE(text_width(line) <= width);
  }
  CHECK(lines(seen, one_card(), 20) == std::vector<std::string>{"GPU    PID  USED", "0    28491  3GiB"});
  CHECK_THAT(lines(seen, one_card(), 80)[1], Contains("python") && Contains("~") && Contains("8GiB"));
}

TEST_CASE("what a stranger wrote cannot steer the terminal or break the JSON") {
  SeenProcesses seen;
  seen.processes = {guarded(1, "\x1b[2J\xff\n")};
  use(seen.processes[0], "GPU-\x1b]0;x\a", UINT64_MAX - 1, 0);
  seen.unreadable = {{"/dev/shm/\x1b.state", "is no file"}};
  const ProcessTable table = make_table(seen, {}, 0);
  for (const std::string& line : table_lines(table, {}, {})) CHECK(line.find('\x1b') == std::string::npos);
  CHECK(conforms(table_json(table)));
}

TEST_CASE("colours are there where they are asked for alone") {
  SeenProcesses seen;
  seen.processes = {guarded(1, "x")};
  use(seen.processes[0], "GPU-a", 1, 1).level = 4;
  const ProcessTable table = make_table(seen, one_card(), 0);
  CHECK_THAT(table_lines(table, {}, {80, true})[1], Contains("\x1b[31m"));
  CHECK(table_lines(table, {}, {80, false})[1].find('\x1b') == std::string::npos);
}

TEST_CASE("where nothing is guarded ps says how to start") {
  CHECK(processes_text({}, {}) == "No process is guarded. Start one under a budget: vramguard run -b 8GiB COMMAND\n");
}

TEST_CASE("ps finds guarded and unguarded processes of a card, and only once each") {
  const PsFixture fixture;
  const Child stranger([&] { return fixture.use_card(); });
  Child member([&] {
    auto* file = new ProcessStateFile(make_state_file(fixture.path("states")));
    set_state_text(file->state().command, "the-guarded-one");
    return file->mark_alive_and_publish() && fixture.use_card();
  });
  const Outcome outcome = fixture.vramguard({"ps"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.exit_status == 0);
  const std::string pid = " " + std::to_string(stranger.pid()) + " ";
  CHECK_THAT(fixture.line_with(outcome.out, pid), Contains("unguarded") && Contains("520MiB"));
  CHECK_THAT(fixture.line_with(outcome.out, "the-guarded-one"), Contains(std::to_string(member.pid())));
  CHECK(fixture.line_with(outcome.out, " " + std::to_string(member.pid()) + " ") ==
        fixture.line_with(outcome.out, "the-guarded-one"));
  CHECK(fixture.vramguard({}).out.find("the-guarded-one") != std::string::npos);
  const Outcome json = fixture.vramguard({"ps", "--json"});
  CHECK_THAT(json.out, Contains("\"nvml\": \"ok\"") && Contains("\"unguarded\""));
  CHECK(conforms(json.out));

  member.end();
  CHECK(fixture.vramguard({"ps"}).out.find("the-guarded-one") == std::string::npos);
  for (const auto& entry : std::filesystem::directory_iterator(fixture.path("states")))
    CHECK(entry.path().extension() != ".state");
}

TEST_CASE("an NVML that never answers does not hold ps, which says what it does not know") {
  PsFixture fixture;
  fixture.set("VGSIM_DELAY", "nvmlInit_v2=20000");
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = fixture.vramguard({"ps"});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  CHECK(outcome.exit_status == 0);
  CHECK_THAT(outcome.err, Contains("NVML does not answer"));
  CHECK_THAT(fixture.vramguard({"ps", "--json"}).out, Contains("\"nvml\": \"stuck\""));
}

TEST_CASE("files that tell nothing are named on stderr, and ps goes on") {
  const PsFixture fixture;
  fixture.write("states/x.state", "not ours");
  const Outcome outcome = fixture.vramguard({"ps"});
  CHECK(outcome.exit_status == 0);
  CHECK_THAT(outcome.err, Contains("x.state: was not written by vramguard"));
}
