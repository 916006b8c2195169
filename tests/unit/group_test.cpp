#include "core/state/group_share.h"

#include "core/ledger.h"
#include "core/state/group_membership.h"
#include "core/state/liveness.h"
#include "core/state/process_identity.h"
#include "tests/support/temporary_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace vramguard;

namespace {

constexpr Bytes operator""_M(unsigned long long n) { return n << 20; }

// A group of members that this process plays, each on a thread that stands for it.
class Group {
 public:
  explicit Group(const std::string& name = "team") {
    auto opened = open_group(folder_.path(), name);
    REQUIRE(std::holds_alternative<GroupFile*>(opened));
    file_ = std::get<GroupFile*>(opened);
  }
  ~Group() {
    ends_ = true;
    for (std::thread& member : members_) member.join();
    munmap(file_, sizeof *file_);
  }
  GroupShare join(const std::string& uuid = "GPU-1") {
    std::atomic<int> place{-1};
    members_.emplace_back([&] {
      auto joined = join_group(*file_, "member");
      place = std::holds_alternative<std::size_t>(joined) ? static_cast<int>(std::get<std::size_t>(joined)) : -2;
      place.notify_one();
      while (!ends_) std::this_thread::yield();
    });
    place.wait(-1);
    REQUIRE(place >= 0);
    return {*file_, static_cast<std::size_t>(place), *place_of_device(*file_, uuid)};
  }
  GroupFile& file() { return *file_; }
  const std::string& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  GroupFile* file_ = nullptr;
  std::atomic<bool> ends_{false};
  std::deque<std::thread> members_;
};

// A member in a process of its own, with so many bytes charged and both roles. Killed and reaped at the end.
pid_t member_that_dies(GroupFile& group, Bytes bytes) {
  const pid_t child = fork();
  if (child == 0) {
    auto joined = join_group(group, "child");
    const GroupShare share(group, std::get<std::size_t>(joined), *place_of_device(group, "GPU-1"));
    share.own().announced = share.own().used = bytes;
    share.begin_trial();
    share.take_sentinel_role();
    pause();
  }
  while (live_members(group) < 2 || group.devices[0].sentinel == 0) std::this_thread::yield();
  return child;
}

}  // namespace

TEST_CASE("members of a group fill their budget to the byte, and no further") {
  Group group;
  const GroupShare one = group.join(), two = group.join();
  CHECK(one.admit(60, 100));
  CHECK_FALSE(two.admit(41, 100));
  CHECK(two.own().announced == 0);
  CHECK(two.admit(40, 100));
  CHECK_FALSE(one.admit(1, 100));
  CHECK(one.others_announced() == 40);
  one.own().announced -= 60;
  CHECK(two.admit(60, 100));
}

TEST_CASE("devices of a group are told apart by their UUID, wherever the members count them") {
  Group group;
  const GroupShare one = group.join("GPU-1"), two = group.join("GPU-2"), three = group.join("GPU-1");
  CHECK(one.admit(100, 100));
  CHECK(two.admit(100, 100));
  CHECK_FALSE(three.admit(1, 100));
  CHECK(two.others_announced() == 0);
}

TEST_CASE("members that race for a budget never exceed it, and what fits is not refused in the end") {
  Group group;
  constexpr Bytes kBudget = 100;
  std::vector<GroupShare> shares;
  for (int i = 0; i < 4; ++i) shares.push_back(group.join());
  std::atomic<Bytes> taken{0}, highest{0};
  std::vector<std::thread> threads;
  for (const GroupShare& share : shares) {
    threads.emplace_back([&, share] {
      for (Bytes i = 0; i < 2000; ++i) {
        const Bytes bytes = 1 + i % 60;
        share.own().calls += 1;
        if (share.admit(bytes, kBudget)) {
          const Bytes now = taken += bytes;
          Bytes most = highest;
          while (most < now && !highest.compare_exchange_weak(most, now)) {
          }
          taken -= bytes;
          share.own().announced -= bytes;
        }
        share.own().calls += (std::uint64_t{1} << 32) - 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(highest <= kBudget);
  CHECK(highest > 0);
  for (const GroupShare& share : shares) {
    CHECK(share.own().announced == 0);
    CHECK(share.admit(kBudget, kBudget));
    share.own().announced -= kBudget;
  }
}

TEST_CASE("what a dead member had is free once it is buried, and so are its roles and its place") {
  Group group;
  const GroupShare one = group.join();
  const pid_t child = member_that_dies(group.file(), 80);
  CHECK_FALSE(one.admit(30, 100));
  CHECK_FALSE(one.begin_trial());
  CHECK_FALSE(one.take_sentinel_role());
  CHECK_FALSE(bury_dead(group.file(), identity_of_this_process().pid_namespace));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(one.admit(30, 100));  // buries it on the way
  CHECK(one.begin_trial());
  CHECK(one.take_sentinel_role());
  CHECK(one.others_used() == 0);
  CHECK(one.alone());
  CHECK(group.join().place() == 1);
}

TEST_CASE("while a dead member is not buried yet nobody is alone, and of those who bury it one keeps no place") {
  Group group;
  const GroupShare one = group.join();
  const pid_t child = member_that_dies(group.file(), 80);
  kill(child, SIGKILL);
  siginfo_t died;
  waitid(P_PID, static_cast<id_t>(child), &died, WEXITED | WNOWAIT);
  CHECK_FALSE(one.alone());
  waitpid(child, nullptr, 0);
  std::atomic<int> buried{0};
  std::vector<std::thread> undertakers;
  for (int i = 0; i < 4; ++i) {
    undertakers.emplace_back([&] { buried += bury_dead(group.file(), identity_of_this_process().pid_namespace); });
  }
  for (std::thread& undertaker : undertakers) undertaker.join();
  CHECK(buried == 1);
  CHECK(live_members(group.file()) == 1);
  CHECK(is_free(group.file().members[1].alive));
}

TEST_CASE("a request beyond all devices is not announced, so that no sum overflows") {
  Group group;
  const GroupShare one = group.join(), two = group.join();
  Budget budget(kUnlimitedBytes);
  budget.share_with(one);
  CHECK(budget.try_reserve(100));
  CHECK_FALSE(budget.try_reserve(UINT64_MAX - 1));
  CHECK(two.others_announced() == 100);
}

TEST_CASE("what was set for a group ends with its last member") {
  Group group;
  CHECK_FALSE(set_group_budget(group.folder(), "team", "GPU-1", 50));
  const GroupShare one = group.join();
  CHECK(one.budget_of_group() == 0);
  CHECK_FALSE(set_group_budget(group.folder(), "team", "GPU-1", 50));
  CHECK(one.budget_of_group() == 50);
  group.join();
  CHECK(one.budget_of_group() == 50);
}

TEST_CASE("a group of another boot is made anew, and a file that was replaced is not current") {
  TemporaryFolder folder;
  auto old = open_group(folder.path(), "team");
  REQUIRE(std::holds_alternative<GroupFile*>(old));
  CHECK(is_current(*std::get<GroupFile*>(old), folder.path(), "team"));
  std::get<GroupFile*>(old)->boot ^= 1;
  auto fresh = open_group(folder.path(), "team");
  REQUIRE(std::holds_alternative<GroupFile*>(fresh));
  CHECK_FALSE(is_current(*std::get<GroupFile*>(old), folder.path(), "team"));
  CHECK(is_current(*std::get<GroupFile*>(fresh), folder.path(), "team"));
}

TEST_CASE("a group that is full turns newcomers away in words") {
  Group group;
  for (GroupSlot& slot : group.file().members) REQUIRE(take_mark(slot.alive) == Mark::Taken);
  const auto joined = join_group(group.file(), "late");
  REQUIRE(std::holds_alternative<StateProblem>(joined));
  CHECK(std::get<StateProblem>(joined).message == "the group has 256 members already");
  for (GroupSlot& slot : group.file().members) leave_mark(slot.alive);
}

TEST_CASE("a run's group is never made by its members, and a file of another kind is no group") {
  TemporaryFolder folder;
  auto missing = open_group(folder.path(), "run-1-2");
  REQUIRE(std::holds_alternative<StateProblem>(missing));
  CHECK(std::get<StateProblem>(missing).message.find("is not in " + folder.path()) != std::string::npos);
  REQUIRE_FALSE(make_group(folder.path(), "run-1-2"));
  CHECK(std::holds_alternative<GroupFile*>(open_group(folder.path(), "run-1-2")));

  REQUIRE_FALSE(make_group(folder.path(), "old"));
  auto opened = open_group(folder.path(), "old");
  std::get<GroupFile*>(opened)->version = kGroupVersion + 1;
  auto other = open_group(folder.path(), "old");
  REQUIRE(std::holds_alternative<StateProblem>(other));
  CHECK(std::get<StateProblem>(other).message.find("another version of vramguard") != std::string::npos);

  REQUIRE(truncate(group_path(folder.path(), "run-1-2").c_str(), 100) == 0);
  CHECK(std::holds_alternative<StateProblem>(open_group(folder.path(), "run-1-2")));
  CHECK(std::holds_alternative<StateProblem>(open_group(folder.path(), "../team")));
}

TEST_CASE("names of groups are such that they can be part of a path") {
  CHECK(objection_to_group_name("team-1_a.B").empty());
  for (const std::string name : {"", ".team", "a/b", "a b", "\xc3\xa9"}) {
    CAPTURE(name);
    CHECK_FALSE(objection_to_group_name(name).empty());
  }
  CHECK(objection_to_group_name(std::string(64, 'a')).empty());
  CHECK_FALSE(objection_to_group_name(std::string(65, 'a')).empty());
}

TEST_CASE("groups that nobody has joined for a day are removed, unless they have members or belong to a run") {
  Group group;
  group.join();
  const std::string& folder = group.folder();
  REQUIRE_FALSE(make_group(folder, "idle"));
  REQUIRE_FALSE(make_group(folder, "fresh"));
  REQUIRE_FALSE(make_group(folder, "run-1-2"));
  const timespec long_ago[2] = {{1'000'000, 0}, {1'000'000, 0}};
  for (const char* name : {"team", "idle", "run-1-2"}) {
    REQUIRE(utimensat(AT_FDCWD, group_path(folder, name).c_str(), long_ago, 0) == 0);
  }
  remove_idle_files(folder);
  const auto there = [&](const char* name) { return access(group_path(folder, name).c_str(), F_OK) == 0; };
  CHECK(there("team"));
  CHECK_FALSE(there("idle"));
  CHECK(there("fresh"));
  CHECK(there("run-1-2"));
}

TEST_CASE("a ledger in a group counts what all members take: room, use, pressure and one trial at a time") {
  Group group;
  const GroupShare mine = group.join(), theirs = group.join();
  Ledger memory(100_M, nullptr, nullptr), other(100_M, nullptr, nullptr);
  memory.share_with(mine);
  other.share_with(theirs);
  {
    auto taken = other.reserve(60_M);
    REQUIRE(taken);
    REQUIRE(other.settle(*taken, Holder::Physical, 60_M));
  }
  CHECK(memory.used() == 0);
  CHECK(memory.used_by_group() == 60_M);
  CHECK(memory.free() == 40_M);
  CHECK(memory.unreserved() == 40_M);
  CHECK(memory.short_of(50_M) == 10_M);
  CHECK_FALSE(memory.reserve(41_M));
  CHECK(memory.quiet());

  memory.set_thresholds({});
  CHECK_FALSE(memory.evaluate_pressure(MonotonicTime(std::chrono::seconds(1))));
  {
    auto taken = memory.reserve(38_M);
    REQUIRE(taken);
    REQUIRE(memory.settle(*taken, Holder::Physical, 38_M));
  }
  const auto change = memory.evaluate_pressure(MonotonicTime(std::chrono::seconds(2)));
  REQUIRE(change);
  CHECK(change->to == PressureLevel::High);
  CHECK(change->used == 98_M);
  CHECK(change->free == 2_M);

  auto trial = memory.reserve_trial(0);
  REQUIRE(trial);
  CHECK_FALSE(other.reserve_trial(0));
  trial.reset();
  CHECK(other.reserve_trial(0));

  auto held = other.reserve(2_M);
  REQUIRE(held);
  other.settle_sentinel(*held);
  CHECK(memory.sentinel() == 0);
  CHECK(memory.sentinel_of_group() == 2_M);
  CHECK(memory.free() == 2_M);
  CHECK(memory.unreserved() == 0);
}
