#include "core/state/fold_steps.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <functional>
#include <random>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/state/counters.h"
#include "core/state/state_reader.h"
#include "core/state/totals_file.h"
#include "tests/support/fabricated_state.h"
#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

namespace fs = std::filesystem;
const std::string kRecovered = R"(vramguard_ooms_recovered_total{gpu_uuid="GPU-1"})";

std::string stale_with(const std::string& folder, std::uint64_t recovered) {
  return make_stale_state(folder, [&](ProcessState& state) { add_device(state, "GPU-1").recovered = recovered; });
}

std::uint64_t sum_in(const std::string& folder) { return read_totals(folder)[kRecovered]; }

// What somebody sees who adds sums and files up.
std::uint64_t seen_in(const std::string& folder) {
  Counters counters = read_totals(folder);
  const Totals totals = read_totals_file(folder, geteuid());
  for (const SeenProcess& process : read_states({{folder, geteuid()}}).processes) {
    if (!totals.has_folded(fs::path(process.path).stem())) add_counters(process.state, counters);
  }
  return counters[kRecovered];
}

std::size_t states_in(const std::string& folder) {
  return std::get<std::vector<std::string>>(state_paths(folder)).size();
}

// In a process of its own, which must end by itself with 0.
pid_t start(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  return child;
}
int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}
int in_child(const std::function<void()>& work) { return status_of(start(work)); }

FoldStep last_step;
void end_after_last_step(FoldStep step) {
  if (step == last_step) _exit(0);
}

int ready[2];  // a pipe
void say_ready_and_stay(FoldStep) {
  if (write(ready[1], "", 1) != 1) _exit(1);
  pause();
}
void wait_until_ready() {
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
}
void end(pid_t child) {
  kill(child, SIGKILL);
  status_of(child);
}

}  // namespace

TEST_CASE("a stale file's counts are added to the folder's sums, and its files are gone") {
  const TemporaryFolder folder;
  const std::string path = stale_with(folder.path(), 3);
  REQUIRE(fold(folder.path(), path));
  CHECK(sum_in(folder.path()) == 3);
  CHECK(states_in(folder.path()) == 0);
  CHECK_FALSE(fs::exists(fs::path(path).replace_extension(".control")));

  CHECK(fold(folder.path(), path));  // nothing is left to do
  CHECK(sum_in(folder.path()) == 3);
  stale_with(folder.path(), 4);
  stale_with(folder.path(), 5);
  fold_stale({folder.path(), geteuid()});
  CHECK(sum_in(folder.path()) == 12);
  CHECK(states_in(folder.path()) == 0);
}

TEST_CASE("what is zero takes no place in the sums") {
  const TemporaryFolder folder;
  REQUIRE(fold(folder.path(), stale_with(folder.path(), 1)));
  CHECK(read_totals(folder.path()).size() == 1);
}

TEST_CASE("a live process's file is left alone until it dies, however it dies") {
  const TemporaryFolder folder;
  REQUIRE(pipe(ready) == 0);
  const pid_t child = start([&] {
    ProcessStateFile file = make_state_file(folder.path());
    add_device(file.state(), "GPU-1").recovered = 2;
    if (file.mark_alive_and_publish()) say_ready_and_stay({});
  });
  wait_until_ready();
  fold_stale({folder.path(), geteuid()});
  CHECK_FALSE(fold(folder.path(), std::get<std::vector<std::string>>(state_paths(folder.path())).at(0)));
  CHECK(states_in(folder.path()) == 1);
  CHECK(sum_in(folder.path()) == 0);
  end(child);
  fold_stale({folder.path(), geteuid()});
  CHECK(states_in(folder.path()) == 0);
  CHECK(sum_in(folder.path()) == 2);
}

TEST_CASE("a process that ends adds its own counts while its mark stands") {
  const TemporaryFolder folder;
  CHECK(in_child([&] {
          ProcessStateFile file = make_state_file(folder.path());
          add_device(file.state(), "GPU-1").recovered = 2;
          if (!file.mark_alive_and_publish() || !fold(folder.path(), file.state_path())) _exit(1);
        }) == 0);
  CHECK(sum_in(folder.path()) == 2);
  CHECK(states_in(folder.path()) == 0);
}

TEST_CASE("whoever is killed while adding counts leaves them to be seen, and added, exactly once") {
  for (int step = 0; step <= static_cast<int>(FoldStep::ControlRemoved); ++step) {
    CAPTURE(step);
    const TemporaryFolder folder;
    stale_with(folder.path(), 1);
    REQUIRE(fold(folder.path(), stale_with(folder.path(), 10)));
    const std::string path = stale_with(folder.path(), 100);
    last_step = static_cast<FoldStep>(step);
    REQUIRE(in_child([&] { fold_by_steps(folder.path(), path, end_after_last_step); }) == 0);
    CHECK(seen_in(folder.path()) == 111);

    // The next one meets another stale file first.
    const std::string later = stale_with(folder.path(), 1000);
    REQUIRE(fold(folder.path(), later));
    CHECK(seen_in(folder.path()) == 1111);
    fold_stale({folder.path(), geteuid()});
    CHECK(sum_in(folder.path()) == 1111);
    CHECK(states_in(folder.path()) == 0);
  }
}

TEST_CASE("the files of who was killed are removed before the sums forget that they were added") {
  const TemporaryFolder folder;
  const std::string path = stale_with(folder.path(), 1);
  last_step = FoldStep::Published;
  REQUIRE(in_child([&] { fold_by_steps(folder.path(), path, end_after_last_step); }) == 0);
  for (std::size_t i = 0; i < Totals::kLastFolded; ++i) REQUIRE(fold(folder.path(), stale_with(folder.path(), 1)));
  fold_stale({folder.path(), geteuid()});
  CHECK(sum_in(folder.path()) == 1 + Totals::kLastFolded);
}

TEST_CASE("several who add the same files at once add each once") {
  const TemporaryFolder folder;
  constexpr int kFiles = 60;
  for (int i = 0; i < kFiles; ++i) stale_with(folder.path(), 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(start([&] {
      for (int tries = 0; tries < 1000 && states_in(folder.path()) > 0; ++tries) fold_stale({folder.path(), geteuid()});
    }));
  }
  std::thread same([&] { fold_stale({folder.path(), geteuid()}); });
  fold_stale({folder.path(), geteuid()});
  same.join();
  for (const pid_t child : children) CHECK(status_of(child) == 0);
  CHECK(states_in(folder.path()) == 0);
  CHECK(sum_in(folder.path()) == kFiles);
}

TEST_CASE("who holds the sums keeps nobody waiting") {
  const TemporaryFolder folder;
  const std::string path = stale_with(folder.path(), 1);
  REQUIRE(pipe(ready) == 0);
  const pid_t child = start([&] { fold_by_steps(folder.path(), path, say_ready_and_stay); });
  wait_until_ready();
  CHECK_FALSE(fold(folder.path(), path));
  CHECK(seen_in(folder.path()) == 1);
  end(child);
  CHECK(fold(folder.path(), path));
  CHECK(sum_in(folder.path()) == 1);
}

TEST_CASE("threads of one process keep each other from the sums") {
  static std::string path;
  static bool other;
  const TemporaryFolder folder;
  path = stale_with(folder.path(), 1);
  CHECK(fold_by_steps(folder.path(), path, [](FoldStep step) {
    if (step == FoldStep::Locked)
      std::thread([] { other = fold(std::filesystem::path(path).parent_path(), path); }).join();
  }));
  CHECK_FALSE(other);
  CHECK(sum_in(folder.path()) == 1);
}

TEST_CASE("a child that is forked meanwhile does not hold the sums") {
  static pid_t child;
  child = 0;
  const TemporaryFolder folder;
  const std::string first = stale_with(folder.path(), 1), second = stale_with(folder.path(), 2);
  CHECK(fold_by_steps(folder.path(), first, [](FoldStep step) {
    if (step == FoldStep::Locked && (child = fork()) == 0) {
      for (;;) pause();
    }
  }));
  CHECK(fold(folder.path(), second));
  CHECK(sum_in(folder.path()) == 3);
  end(child);
}

TEST_CASE("a full file system loses no counts and kills nobody") {
  const TemporaryFolder folder;
  REQUIRE(fold(folder.path(), stale_with(folder.path(), 1)));
  const std::string path = stale_with(folder.path(), 2);
  CHECK(in_child([&] {
          const rlimit nothing{10, 10};  // SIGXFSZ kills a process that writes more
          setrlimit(RLIMIT_FSIZE, &nothing);
          if (fold(folder.path(), path)) _exit(1);
        }) == 0);
  CHECK(states_in(folder.path()) == 1);
  CHECK(seen_in(folder.path()) == 3);
  CHECK_FALSE(fs::exists(folder.path() + "/.totals"));
  CHECK(fold(folder.path(), path));
  CHECK(sum_in(folder.path()) == 3);
}

TEST_CASE("only files right in a folder of this user's own are added") {
  const TemporaryFolder folder;
  const std::string path = stale_with(folder.path(), 1);
  CHECK_FALSE(fold(folder.path(), "/etc/passwd"));
  CHECK_FALSE(fold(folder.path(), folder.path() + "/../x.state"));
  CHECK_FALSE(fold(folder.path(), folder.path() + "/.state"));
  fs::create_directory(folder.path() + "/inner");
  fs::create_symlink(path, folder.path() + "/inner/1-2-3.state");
  CHECK_FALSE(fold(folder.path() + "/inner", folder.path() + "/inner/1-2-3.state"));
  fold_stale({folder.path(), geteuid() + 1});
  CHECK(states_in(folder.path()) == 1);
  chmod(folder.path().c_str(), 0777);
  CHECK_FALSE(fold(folder.path(), path));
  CHECK(sum_in(folder.path()) == 0);
}

TEST_CASE("sums of any content harm nobody, and counts are added to what can be read of them") {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  const std::string good = "vramguard totals 1\nfolds 3\nfolded 1-2-3\n" + kRecovered + " 5\n";
  for (int round = 0; round < 80; ++round) {
    std::string text = good;
    for (unsigned i = random() % 6; i > 0; --i) text[random() % text.size()] = static_cast<char>(random());
    text.resize(text.size() - random() % 20);
    std::ofstream(folder.path() + "/totals", std::ios::binary) << text;
    const std::uint64_t before = sum_in(folder.path());
    const std::string path = stale_with(folder.path(), 2);
    if (!fold(folder.path(), path)) {
      REQUIRE(read_totals_file(folder.path(), geteuid()).of_another_version);
      fs::remove(folder.path() + "/totals");
      REQUIRE(fold(folder.path(), path));
    } else {
      REQUIRE(sum_in(folder.path()) == (before > UINT64_MAX - 2 ? UINT64_MAX : before + 2));
    }
  }
}

TEST_CASE("the name of a process that was added is never a way out of the folder") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() + "/state");
  std::ofstream(folder.path() + "/precious.state") << "x";
  std::ofstream(folder.path() + "/state/totals") << "vramguard totals 1\nfolds 1\nfolded ../precious\n";
  CHECK(fold(folder.path() + "/state", stale_with(folder.path() + "/state", 1)));
  CHECK(fs::exists(folder.path() + "/precious.state"));
}

TEST_CASE("sums that another version has written are left alone") {
  const TemporaryFolder folder;
  const std::string text = "vramguard totals 2\nwhatever\n";
  std::ofstream(folder.path() + "/totals") << text;
  CHECK_FALSE(fold(folder.path(), stale_with(folder.path(), 1)));
  CHECK(content_of(folder.path() + "/totals") == text);
  CHECK(states_in(folder.path()) == 1);
}

TEST_CASE("sums that are a link, a pipe or huge are not waited for") {
  const TemporaryFolder folder;
  const std::string totals = folder.path() + "/totals";
  REQUIRE(mkfifo(totals.c_str(), 0600) == 0);
  CHECK(read_totals(folder.path()).empty());
  fs::remove(totals);
  std::ofstream(folder.path() + "/elsewhere") << "vramguard totals 1\n" + kRecovered + " 5\n";
  fs::create_symlink(folder.path() + "/elsewhere", totals);
  CHECK(read_totals(folder.path()).empty());
  fs::remove(totals);
  std::ofstream(totals) << "vramguard totals 1\n" + kRecovered + " 5\n";
  fs::resize_file(totals, std::uintmax_t{1} << 34);
  CHECK(sum_in(folder.path()) == 5);
}

TEST_CASE("of more than 4,096 series the oldest that name a workload go first, then the oldest") {
  Totals totals;
  totals.add("0", {{R"(a{gpu_uuid="GPU-1"})", 1}});
  for (int i = 0; i < 5000; ++i)
    totals.add(std::to_string(i), {{"b{pod=\"" + std::to_string(i) + "\"}", 1}, {R"(b{pod="0"})", 1}});
  REQUIRE(totals.sums.size() == Totals::kMostSeries);
  CHECK(totals.sums.front().first == R"(a{gpu_uuid="GPU-1"})");
  CHECK(totals.sums[1].first == "b{pod=\"906\"}");
  CHECK(totals.sums.end()[-2] == std::pair<std::string, std::uint64_t>(R"(b{pod="0"})", 5000));
  CHECK(totals.folded.size() == Totals::kLastFolded);
  CHECK(totals.has_folded("4999"));
  CHECK_FALSE(totals.has_folded("4743"));

  for (int i = 0; i < 5000; ++i) totals.add("x", {{"c{hook=\"" + std::to_string(i) + "\"}", 1}});
  CHECK(totals.sums.size() == Totals::kMostSeries);
  CHECK(totals.sums.front().first == "c{hook=\"904\"}");
}

}  // namespace vramguard
