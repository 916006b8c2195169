// core/state/control_client: one process asks another through its private file.

#include "core/state/control_client.h"

#include "core/state/process_state_file.h"
#include "tests/support/answering_thread.h"
#include "tests/support/temporary_folder.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace vramguard;
using Catch::Matchers::Contains;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLong{10'000};  // an answer that comes ends it
constexpr milliseconds kShort{20};

ProcessStateFile published_file(const std::string& folder) {
  auto made = ProcessStateFile::make(folder);
  REQUIRE(std::holds_alternative<ProcessStateFile>(made));
  auto file = std::get<ProcessStateFile>(std::move(made));
  REQUIRE(file.mark_alive_and_publish());
  return file;
}

ControlRequest budget_of(Bytes bytes) {
  ControlRequest request;
  request.what = kAskBudget;
  request.budget_bytes = bytes;
  request.device = "GPU-8f6e";
  return request;
}

ControlAnswer answer(const std::variant<ControlAnswer, StateProblem>& asked) {
  INFO((std::holds_alternative<StateProblem>(asked) ? std::get<StateProblem>(asked).message : ""));
  REQUIRE(std::holds_alternative<ControlAnswer>(asked));
  return std::get<ControlAnswer>(asked);
}

std::string problem(const std::variant<ControlAnswer, StateProblem>& asked) {
  REQUIRE(std::holds_alternative<StateProblem>(asked));
  return std::get<StateProblem>(asked).message;
}

}  // namespace

TEST_CASE("a process is told what is asked for, and its answer comes back") {
  const TemporaryFolder folder;
  const ProcessStateFile file = published_file(folder.path());
  std::vector<std::string> heard;
  const AnsweringThread process(file.control(), [&](const ControlBlock& block) {
    heard.push_back(std::to_string(block.what) + " " + std::to_string(block.budget_bytes) + " " +
                    state_text(block.device) + " " + state_text(block.policy));
    return std::string(heard.size() == 2 ? "the budget is capped at 4GiB" : "");
  });
  ControlRequest policy;
  policy.what = kAskPolicy;
  policy.policy = "spill";

  CHECK(answer(ask_process(file.control_path(), geteuid(), budget_of(5_GiB), kLong)).done);
  const ControlAnswer refusal = answer(ask_process(file.control_path(), geteuid(), budget_of(8_GiB), kLong));
  CHECK_FALSE(refusal.done);
  CHECK(refusal.text == "the budget is capped at 4GiB");
  CHECK(answer(ask_process(file.control_path(), geteuid(), policy, kLong)).done);
  CHECK(heard == std::vector<std::string>{"1 5368709120 GPU-8f6e ", "1 8589934592 GPU-8f6e ",
                                          "2 " + std::to_string(kStateUnknown) + "  spill"});
}

TEST_CASE("many that ask a process at once each get their own answer") {
  const TemporaryFolder folder;
  const ProcessStateFile file = published_file(folder.path());
  const AnsweringThread process(file.control(),
                                [](const ControlBlock& block) { return std::to_string(block.budget_bytes); });
  std::atomic<int> right = 0;
  std::vector<std::thread> askers;
  for (Bytes asker = 1; asker <= 4; ++asker) {
    askers.emplace_back([&, asker] {
      for (Bytes i = 0; i < 25; ++i) {
        const Bytes bytes = asker * 1000 + i;
        const auto asked = ask_process(file.control_path(), geteuid(), budget_of(bytes), kLong);
        const auto* heard = std::get_if<ControlAnswer>(&asked);
        if (heard != nullptr && heard->text == std::to_string(bytes)) ++right;
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  CHECK(right == 100);
}

TEST_CASE("a request that is not answered in time is withdrawn, and the next one waits for its end") {
  const TemporaryFolder folder;
  const ProcessStateFile file = published_file(folder.path());
  CHECK_THAT(problem(ask_process(file.control_path(), geteuid(), budget_of(1_GiB), kShort)),
             Contains("did not answer within 20 ms: it is stopped"));
  CHECK(file.control().what == 0);
  CHECK(file.control().asked == 1);

  // What may still be being read is not written over.
  CHECK_THAT(problem(ask_process(file.control_path(), geteuid(), budget_of(2_GiB), kShort)),
             Contains("did not answer"));
  CHECK(file.control().budget_bytes == 1_GiB);
  CHECK(file.control().asked == 1);

  std::vector<Bytes> heard;
  const AnsweringThread process(file.control(), [&](const ControlBlock& block) {
    if ((block.what & kAskBudget) != 0) heard.push_back(block.budget_bytes);
    return "";
  });
  CHECK(answer(ask_process(file.control_path(), geteuid(), budget_of(3_GiB), kLong)).done);
  CHECK(heard == std::vector<Bytes>{3_GiB});
}

TEST_CASE("the numbers of requests may wrap") {
  const TemporaryFolder folder;
  const ProcessStateFile file = published_file(folder.path());
  file.control().asked = file.control().answered = UINT32_MAX;
  const AnsweringThread process(file.control(), [](const ControlBlock&) { return ""; });
  CHECK(answer(ask_process(file.control_path(), geteuid(), budget_of(1_GiB), kLong)).done);
  CHECK(answer(ask_process(file.control_path(), geteuid(), budget_of(1_GiB), kLong)).done);
}

TEST_CASE("who asks while somebody else holds the file gives up in time") {
  const TemporaryFolder folder;
  const ProcessStateFile file = published_file(folder.path());
  const AnsweringThread process(file.control(), [](const ControlBlock&) { return ""; });
  const int holder = open(file.control_path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(holder, LOCK_EX) == 0);
  CHECK(problem(ask_process(file.control_path(), geteuid(), budget_of(1_GiB), kShort)) ==
        "others ask it all the time; try again");
  close(holder);
  CHECK(answer(ask_process(file.control_path(), geteuid(), budget_of(1_GiB), kLong)).done);
}

TEST_CASE("a private file that is gone, foreign or strange is named as such, and never written to") {
  const TemporaryFolder folder;
  ProcessStateFile file = published_file(folder.path());
  const std::string path = file.control_path();
  const auto ask = [&](uid_t owner) { return problem(ask_process(path, owner, budget_of(1_GiB), kShort)); };

  CHECK_THAT(ask(geteuid() + 1), Contains("belongs to another user"));
  file.control().version = kStateVersion + 1;
  CHECK_THAT(ask(geteuid()), Contains("was written by another version of vramguard"));
  file.control().version = kStateVersion;
  file.control().magic[0] = 'x';
  CHECK_THAT(ask(geteuid()), Contains("was not written by vramguard"));
  CHECK(file.control().asked == 0);

  file.remove();
  CHECK(ask(geteuid()) == "the process has ended");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_THAT(ask(geteuid()), Contains("is no file"));
  unlink(path.c_str());
  REQUIRE(symlink("/etc/passwd", path.c_str()) == 0);
  CHECK_THAT(ask(geteuid()), Contains("cannot be opened"));
  unlink(path.c_str());
  std::ofstream(path) << "short";
  CHECK_THAT(ask(geteuid()), Contains("was written by another version of vramguard"));
}
