// `vramguard set`, with processes that this program makes up.

#include "cli/set_command.h"
#include "core/state/group_file.h"
#include "core/state/process_state_file.h"
#include "core/state/shared_file.h"
#include "core/state/state_text.h"
#include "tests/cli/command_fixture.h"
#include "tests/cli/json_schema.h"
#include "tests/support/answering_thread.h"
#include "tests/support/temporary_folder.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

using namespace vramguard;
using Catch::Matchers::Contains;

namespace {

// The command, and a guarded process: this one, by a number of its own that nobody else has.
class SetFixture : public CommandFixture {
 public:
  SetFixture() {
    std::filesystem::create_directories(path("states"));
    set("VRAMGUARD_STATE_DIR", path("states"));
    file_ = std::make_unique<ProcessStateFile>(std::get<ProcessStateFile>(ProcessStateFile::make(path("states"))));
    ProcessState& seen = state();
    set_state_text(seen.comm, "train.py");
    set_state_text(seen.policy, "fail");
    seen.device_count = 2;
    for (int i = 0; i < 2; ++i) {
      set_state_text(seen.devices[i].uuid, i == 0 ? "GPU-11111111" : "GPU-22222222");
      seen.devices[i].ordinal = i;
      seen.devices[i].total_bytes = 16_GiB;
      seen.devices[i].budget_bytes = 8_GiB;
      seen.devices[i].used_bytes = seen.devices[i].group_used_bytes = i == 0 ? 5_GiB : 0;
    }
    REQUIRE(file_->mark_alive_and_publish());
  }

  ProcessState& state() { return file_->state(); }
  ProcessStateFile& file() { return *file_; }
  static std::string pid() { return std::to_string(getpid()); }

  // As a guard would.
  std::string obey(const ControlBlock& block) {
    ++asked;
    if ((block.what & kAskReload) != 0) return "config.toml:3:1: error: unknown key 'budgte'";
    if ((block.what & kAskPolicy) != 0) set_state_text(state().policy, state_text(block.policy));
    for (DeviceState& device : state().devices) {
      if ((block.what & kAskBudget) == 0 || state_text(device.uuid) != state_text(block.device)) continue;
      device.budget_bytes = block.budget_bytes;
      if (block.budget_bytes > 12_GiB && block.budget_bytes != kStateUnknown) {
        device.budget_bytes = 12_GiB;
        return "the administrator allows no more than 12GiB";
      }
    }
    return "";
  }
  std::function<std::string(const ControlBlock&)> guard() {
    return [this](const ControlBlock& block) { return obey(block); };
  }
  int asked = 0;

 private:
  std::unique_ptr<ProcessStateFile> file_;
};

}  // namespace

TEST_CASE("set changes budgets of a process by device, and says what holds now and what it means") {
  SetFixture fixture;
  const AnsweringThread process(fixture.file().control(), fixture.guard());
  const std::string name = "train.py (" + SetFixture::pid() + ")";
  Outcome outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--budget", "4GiB"});
  CHECK(outcome.err.empty());
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out == name + " cuda:0: budget 8GiB -> 4GiB, 5GiB in use: refuses new requests until it is under it\n" +
                           name + " cuda:1: budget 8GiB -> 4GiB, 0B in use\n");

  outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--device", "GPU-2222", "--budget", "50%"});
  CHECK(outcome.out == name + " cuda:1: budget 4GiB -> 8GiB, 0B in use\n");
  CHECK(fixture.state().devices[0].budget_bytes == 4_GiB);
  outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--device", "cuda:0", "--budget", "unlimited"});
  CHECK(outcome.out == name + " cuda:0: budget 4GiB -> unlimited, 5GiB in use\n");
}

TEST_CASE("set says when a program has taken its old budget at once and will give nothing back") {
  SetFixture fixture;
  const AnsweringThread process(fixture.file().control(), fixture.guard());
  fixture.state().devices[0].group_used_bytes = 7_GiB + 512_MiB;
  const Outcome outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--device", "cuda:0", "--budget", "4GiB"});
  CHECK(outcome.exit_status == 0);
  CHECK_THAT(outcome.out,
             Contains("7.5GiB in use: refuses new requests") && Contains("XLA_PYTHON_CLIENT_PREALLOCATE=false"));
}

TEST_CASE("set changes the policy; what a process does not do is on stderr, with exit status 1") {
  SetFixture fixture;
  const AnsweringThread process(fixture.file().control(), fixture.guard());
  const std::string name = "train.py (" + SetFixture::pid() + ")";
  Outcome outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--policy", "spill"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out == name + ": policy fail -> spill\n");

  outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--reload"});
  CHECK(outcome.exit_status == 1);
  CHECK(outcome.out.empty());
  CHECK(outcome.err == "vramguard: error: " + name + " config.toml:3:1: error: unknown key 'budgte'\n");

  outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--device", "cuda:0", "--budget", "15GiB"});
  CHECK(outcome.exit_status == 1);
  CHECK_THAT(outcome.err, Contains("the administrator allows no more than 12GiB"));
  CHECK_THAT(outcome.out, Contains("budget 8GiB -> 12GiB"));

  outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--device", "cuda:7", "--budget", "1GiB"});
  CHECK(outcome.exit_status == 1);
  CHECK_THAT(outcome.err, Contains(name + " does not see that device"));
}

TEST_CASE("set gives a group's budget to its members and to those that will join") {
  SetFixture fixture;
  set_state_text(fixture.state().group, "team");
  REQUIRE_FALSE(make_group(fixture.path("states"), "team"));
  const AnsweringThread process(fixture.file().control(), fixture.guard());
  const Outcome outcome = fixture.vramguard({"set", "-g", "team", "--device", "cuda:0", "--budget", "6GiB"});
  CHECK(outcome.err.empty());
  CHECK(outcome.exit_status == 0);
  CHECK(fixture.state().devices[0].budget_bytes == 6_GiB);
  auto opened = open_group(fixture.path("states"), "team");
  GroupFile* group = std::get<GroupFile*>(opened);
  CHECK(group->devices[*place_of_device(*group, "GPU-11111111")].budget == 6_GiB);
  unmap(group, sizeof *group);
  CHECK_THAT(fixture.vramguard({"set", "-g", "teem", "--budget", "6GiB"}).err,
             Contains("no live process is in a group 'teem'"));
}

TEST_CASE("set tells programs the same as JSON") {
  SetFixture fixture;
  const AnsweringThread process(fixture.file().control(), fixture.guard());
  const Outcome outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--device", "cuda:0", "--budget", "4GiB",
                                             "--policy", "spill", "--reload", "--json"});
  CHECK(outcome.exit_status == 1);  // the configuration is wrong
  CHECK_THAT(outcome.out, Contains("\"old_budget_bytes\": 8589934592") && Contains("\"budget_bytes\": 4294967296") &&
                              Contains("\"done\": true"));
  CHECK(conforms("set.json", outcome.out));
}

TEST_CASE("set refuses what makes no sense before it asks anybody") {
  SetFixture fixture;
  const auto refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "set");
    const Outcome outcome = fixture.vramguard(arguments);
    CHECK(outcome.exit_status == 125);
    return outcome.err;
  };
  const std::string pid = SetFixture::pid();
  CHECK_THAT(refused({"--budget", "4GiB"}), Contains("name one process with -p, or a group with -g"));
  CHECK_THAT(refused({"-p", pid, "-g", "team", "--budget", "4GiB"}), Contains("whose?"));
  CHECK_THAT(refused({"-p", pid}), Contains("give --budget, --policy or --reload"));
  CHECK_THAT(refused({"-p", pid, "--budget", "20"}), Contains("did you mean 20GiB?"));
  CHECK_THAT(refused({"-p", pid, "--budget", "0"}), Contains("write 'unlimited' for no limit"));
  CHECK_THAT(refused({"-p", pid, "--policy", "spil"}), Contains("--policy: "));
  CHECK_THAT(refused({"-p", pid, "--budget", "4GiB", "--device", "gpu0"}), Contains("--device: 'gpu0' names no GPU"));
  CHECK_THAT(refused({"-p", pid, "--policy", "fail", "--device", "cuda:0"}), Contains("--device goes with --budget"));
  CHECK(fixture.asked == 0);
}

TEST_CASE("set says who cannot be asked: no such process, one that is stopped, one of another user") {
  SetFixture fixture;
  Outcome outcome = fixture.vramguard({"set", "-p", "999999999", "--budget", "4GiB"});
  CHECK(outcome.exit_status == 1);
  CHECK_THAT(outcome.err, Contains("no guarded process has the number 999999999"));

  outcome = fixture.vramguard({"set", "-p", SetFixture::pid(), "--policy", "fail"});
  CHECK(outcome.exit_status == 1);
  CHECK_THAT(outcome.err, Contains("did not answer within 100 ms: it is stopped"));

  if (geteuid() != 0) return;  // nobody else can make files of two users
  for (const std::string& path : {fixture.file().control_path(), fixture.file().state_path(), fixture.path("states")})
    REQUIRE(chown(path.c_str(), 12345, 12345) == 0);
  fixture.state().start_ticks = 0;  // this process does not belong to that user
  const AnsweringThread process(fixture.file().control(), fixture.guard());
  CHECK(fixture.vramguard({"set", "-p", SetFixture::pid(), "--policy", "spill"}).exit_status == 0);
  // As a third user, in a child that can see the folder.
  REQUIRE(chmod(fixture.folder().c_str(), 0755) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const int err = open(fixture.path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    setenv("VRAMGUARD_STATE_DIR", fixture.path("states").c_str(), 1);
    SetOptions options;
    options.pid = getppid();
    options.policy = "fail";
    _exit(dup2(err, STDERR_FILENO) >= 0 && seteuid(54321) == 0 ? set_limits(options) : 99);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 1);
  CHECK_THAT(content_of(fixture.path("err")), Contains("belongs to 12345: only that user or root can change it"));
}
