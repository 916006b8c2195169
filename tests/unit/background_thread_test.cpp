#include "core/background_thread.h"

#include <catch2/catch.hpp>

#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

// The threads of these tests live as long as the test program, as in a guarded one: so does what they use.
class CountedWork final : public BackgroundThread::Work {
 public:
  MonotonicTime run(MonotonicTime now) noexcept override {
    const std::lock_guard lock(mutex_);
    ++runs_;
    seen_ = pending_.load();
    changed_.notify_all();
    return due_in_.count() == 0 ? MonotonicTime::max() : now + due_in_;
  }

  void add() { ++pending_; }
  void set_due_in(std::chrono::milliseconds due_in) {
    const std::lock_guard lock(mutex_);
    due_in_ = due_in;
  }
  bool wait_for_runs(int runs) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return runs_ >= runs; });
  }
  bool wait_until_seen(int pending) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return seen_ >= pending; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> pending_{0};
  int seen_ = 0;
  int runs_ = 0;
  std::chrono::milliseconds due_in_{0};
};

struct Started {
  CountedWork work;
  std::atomic<unsigned> running{0};
  BackgroundThread thread{"vramguard", running, std::chrono::hours(1)};  // nothing but what is tested wakes it
};

Started& started() {
  static Started& instance = *[] {
    auto* fresh = new Started;
    REQUIRE(fresh->thread.start(fresh->work));
    return fresh;
  }();
  return instance;
}

// The line of /proc/self/task/<thread named vramguard>/status that starts with `key`.
std::string status_line_of_thread(const std::string& key) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (content_of(task.path() / "comm") != "vramguard\n") continue;
    for (const std::string& line : lines_of(task.path() / "status")) {
      if (line.starts_with(key)) return line;
    }
  }
  return "";
}

TEST_CASE("the thread runs its work at once and again each time it is woken") {
  Started& hook = started();
  CHECK(hook.work.wait_for_runs(1));
  for (int i = 1; i <= 100; ++i) {
    hook.work.add();
    hook.thread.wake();
    REQUIRE(hook.work.wait_until_seen(i));
  }
}

TEST_CASE("no wake is lost when many threads wake at the same time") {
  auto* hook = new Started;
  REQUIRE(hook->thread.start(hook->work));
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([hook] {
      for (int k = 0; k < 1000; ++k) {
        hook->work.add();
        hook->thread.wake();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(hook->work.wait_until_seen(16'000));
}

TEST_CASE("the thread comes back by itself when something is due") {
  auto* hook = new Started;
  hook->work.set_due_in(std::chrono::milliseconds(1));
  REQUIRE(hook->thread.start(hook->work));
  CHECK(hook->work.wait_for_runs(20));
  hook->work.set_due_in(std::chrono::milliseconds(0));
}

TEST_CASE("the thread blocks every signal, and the one that starts it keeps its own mask") {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  CHECK(started().work.wait_for_runs(1));
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) CHECK(sigismember(&before, signal) == sigismember(&after, signal));
  // All but KILL, STOP and the two that glibc keeps for itself.
  CHECK(status_line_of_thread("SigBlk:") == "SigBlk:\tfffffffe7ffbfeff");
}

TEST_CASE("a program with a main thread is not taken for one that has ended") {
  CHECK_FALSE(only_own_threads_remain(0));
  CHECK_FALSE(only_own_threads_remain(1));
}

}  // namespace
}  // namespace vramguard
