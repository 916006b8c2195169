#include "core/background_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "core/undisturbed.h"

namespace vramguard {

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

bool create_detached(std::size_t stack_bytes, void* (*enter)(void*), void* argument, int& error) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  error = pthread_create(&thread, &attributes, enter, argument);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

}  // namespace

bool BackgroundThread::start(Work& work) noexcept {
  work_ = &work;
  // The new thread inherits the mask.
  const Undisturbed undisturbed;
  int error = 0;
  running_.fetch_add(1);
  if (create_detached(kStackBytes, &BackgroundThread::enter, this, error)) return true;
  // A program with much thread-local data leaves too little of a small stack.
  if (error == EINVAL && create_detached(0, &BackgroundThread::enter, this, error)) return true;
  running_.fetch_sub(1);
  return false;
}

void BackgroundThread::wake() noexcept {
  if (state().exchange(kWoken, std::memory_order_acq_rel) == kAsleep) futex_wake_all(*word_, scope_);
}

void* BackgroundThread::enter(void* self) noexcept {
  auto* thread = static_cast<BackgroundThread*>(self);
  prctl(PR_SET_NAME, thread->name_);
  thread->work_->begin();
  thread->loop();
  thread->running_.fetch_sub(1);
  return nullptr;
}

void BackgroundThread::loop() noexcept {
  const Clock clock;
  MonotonicTime look = clock.now() + look_around_;
  for (;;) {
    state().exchange(kAwake, std::memory_order_acq_rel);
    MonotonicTime next = clock.now();
    if (next < look) next = work_->run(next);
    if (next == kEnd) return;

    for (MonotonicTime now = clock.now(); now < next || now >= look; now = clock.now()) {
      if (now >= look) {
        if (only_own_threads_remain(running_.load())) return work_->leave(now);
        look = now + look_around_;
        continue;
      }
      if (!sleep_until(std::min(next, look))) break;
    }
  }
}

// False when somebody woke us.
bool BackgroundThread::sleep_until(MonotonicTime time) noexcept {
  std::uint32_t expected = kAwake;
  if (!state().compare_exchange_strong(expected, kAsleep, std::memory_order_acq_rel)) return false;
  futex_wait(*word_, kAsleep, time, scope_);
  expected = kAsleep;
  return state().compare_exchange_strong(expected, kAwake, std::memory_order_acq_rel);
}

namespace {

struct MainAndThreads {
  char main;  // the state of `main`: Z once it has ended while others go on
  unsigned threads;
};

// pid (comm) state ...: the name may hold anything. /proc/self is `main`; the 18th field from the state on is the
// number of threads, `main` included.
std::optional<MainAndThreads> state_of_this_process() noexcept {
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char text[1024];
  const ssize_t size = read(fd, text, sizeof text);
  close(fd);
  if (size <= 0) return std::nullopt;

  const std::string_view stat(text, static_cast<std::size_t>(size));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return std::nullopt;
  std::size_t at = name_end + 2;
  MainAndThreads state{stat[at], 0};
  for (int field = 0; field < 17 && at != std::string_view::npos; ++field) at = stat.find(' ', at + 1);
  if (at == std::string_view::npos) return std::nullopt;
  std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), state.threads);
  return state;
}

}  // namespace

std::optional<unsigned> threads_of_this_process() noexcept {
  const std::optional<MainAndThreads> state = state_of_this_process();
  return state ? std::optional(state->threads) : std::nullopt;
}

bool only_own_threads_remain(unsigned own) noexcept {
  const std::optional<MainAndThreads> state = state_of_this_process();
  return state && state->main == 'Z' && state->threads == own + 1;
}

}  // namespace vramguard
