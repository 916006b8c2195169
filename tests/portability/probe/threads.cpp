#include "tests/portability/probe/probe.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

std::atomic<int> thread_local_destroyed{0};

struct CountsThreads {
  std::string text = "made for this thread, and longer than the small string buffer";
  ~CountsThreads() { thread_local_destroyed.fetch_add(1); }
};

thread_local CountsThreads per_thread;
thread_local int per_thread_number = 40;

void condition_variables() {
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  std::thread other([&] {
    for (int round = 0; round < 100; ++round) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return turn == 1; });
      turn = 0;
      changed.notify_all();
    }
  });
  for (int round = 0; round < 100; ++round) {
    std::unique_lock lock(mutex);
    turn = 1;
    changed.notify_all();
    // The steady clock goes through pthread_cond_clockwait, which is newer than the floor.
    PROBE_EXPECT(changed.wait_for(lock, 60s, [&] { return turn == 0; }));
  }
  other.join();

  // The only real waits: that a time-out comes, and not early.
  std::unique_lock lock(mutex);
  for (const auto pause : {0ms, 1ms, 20ms, 300ms}) {
    const auto start = std::chrono::steady_clock::now();
    PROBE_EXPECT(!changed.wait_for(lock, pause, [] { return false; }));
    PROBE_EXPECT(std::chrono::steady_clock::now() - start >= pause);
  }
  PROBE_EXPECT(changed.wait_until(lock, std::chrono::system_clock::now() - 1s) == std::cv_status::timeout);
  PROBE_EXPECT(changed.wait_until(lock, std::chrono::steady_clock::now() - 1s) == std::cv_status::timeout);
}

void mutexes() {
  std::timed_mutex timed;
  timed.lock();
  std::thread([&] {
    PROBE_EXPECT(!timed.try_lock());
    PROBE_EXPECT(!timed.try_lock_for(2ms));
    PROBE_EXPECT(!timed.try_lock_until(std::chrono::system_clock::now() + 2ms));
  }).join();
  timed.unlock();
  PROBE_EXPECT(timed.try_lock_for(60s));
  timed.unlock();

  std::shared_timed_mutex shared;
  shared.lock_shared();
  std::thread([&] {
    PROBE_EXPECT(shared.try_lock_shared_for(60s));
    shared.unlock_shared();
    PROBE_EXPECT(!shared.try_lock_for(2ms));
  }).join();
  shared.unlock_shared();
  PROBE_EXPECT(shared.try_lock_for(60s));
  shared.unlock();

  std::recursive_mutex recursive;
  std::scoped_lock outer(recursive);
  PROBE_EXPECT(recursive.try_lock());
  recursive.unlock();

  long sum = 0;
  std::mutex mutex;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 8; ++worker) {
    workers.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        std::lock_guard lock(mutex);
        ++sum;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  PROBE_EXPECT(sum == 8000);

  std::once_flag once;
  int calls = 0;
  // Not with a callback that throws: the exception would pass a frame of pthread_once, which libc unwinds with the
  // libgcc_s.so of the system, and that aborts on the context of our own static unwinder.
  for (int round = 0; round < 3; ++round) std::call_once(once, [&] { ++calls; });
  PROBE_EXPECT(calls == 1);
}

void thread_locals() {
  for (int expected = 1; expected <= 8; ++expected) {
    std::thread([] {
      PROBE_EXPECT(per_thread.text.starts_with("made for this thread"));
      PROBE_EXPECT(++per_thread_number == 41);
    }).join();
    PROBE_EXPECT(thread_local_destroyed.load() == expected);
  }
}

}  // namespace

namespace probe {

void threads() {
  condition_variables();
  mutexes();
  thread_locals();

  std::atomic<int> waited{0};
  std::jthread waiter([&](std::stop_token) {
    waited.wait(0);
    waited = 2;
    waited.notify_all();
  });
  waited = 1;
  waited.notify_all();
  waiter.join();
  PROBE_EXPECT(waited == 2);

  std::random_device device;
  std::set<unsigned> numbers;
  for (int draw = 0; draw < 64; ++draw) numbers.insert(device());
  PROBE_EXPECT(numbers.size() > 60);
  PROBE_EXPECT(std::thread::hardware_concurrency() > 0);
}

}  // namespace probe
