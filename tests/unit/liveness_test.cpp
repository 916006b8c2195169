#include "core/state/liveness.h"

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

using namespace vramguard;

namespace {

// In memory that forked children share.
class SharedMark {
 public:
  SharedMark()
      : mark_(static_cast<pthread_mutex_t*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(prepare_mark(*mark_));
  }
  SharedMark(const SharedMark&) = delete;
  ~SharedMark() { munmap(mark_, 4096); }
  pthread_mutex_t& operator*() { return *mark_; }

 private:
  pthread_mutex_t* mark_;
};

}  // namespace

TEST_CASE("a mark is held from the taking to the end of the thread") {
  SharedMark mark;
  CHECK_FALSE(is_held(*mark));
  std::thread([&] {
    CHECK(take_mark(*mark) == Mark::Taken);
    CHECK(is_held(*mark));
    const pthread_mutex_t copy = *mark;
    CHECK(is_held(copy));
  }).join();
  CHECK_FALSE(is_held(*mark));
}

TEST_CASE("who takes the mark of a dead thread is told, and one that is held is not given") {
  SharedMark mark;
  std::thread([&] { take_mark(*mark); }).join();
  CHECK(take_mark(*mark) == Mark::TakenFromDead);
  std::thread([&] { CHECK(take_mark(*mark) == Mark::Held); }).join();
  leave_mark(*mark);
  CHECK_FALSE(is_held(*mark));
}

TEST_CASE("the mark of a killed process is not held, although its forked child lives") {
  SharedMark mark;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t holder = fork();
  if (holder == 0) {
    take_mark(*mark);
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    static_cast<void>(write(ready[1], &child, sizeof child));
    pause();
    _exit(0);
  }
  pid_t child = -1;
  REQUIRE(read(ready[0], &child, sizeof child) == sizeof child);
  CHECK(is_held(*mark));
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  CHECK_FALSE(is_held(*mark));
  kill(child, SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("content that is no mark tells nothing and harms nobody") {
  pthread_mutex_t content;
  for (const int byte : {0, 0xff, 0x55, 0xaa}) {
    std::memset(&content, byte, sizeof content);
    static_cast<void>(is_held(content));
  }
  std::memset(&content, 0, sizeof content);
  CHECK_FALSE(is_held(content));
}
