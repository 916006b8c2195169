// A program that logs as a guarded one does and ends in the way its first argument names. Run by log_program_test.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/background_thread.h"
#include "core/pressure_log.h"

using namespace vramguard;

namespace {

// What the guard does with log and thread, and nothing else. Never destroyed.
class Logging final : public BackgroundThread::Work {
 public:
  explicit Logging(const char* path) : log_(config(path), *new Clock) {}

  static Logging* current;
  static void start(const char* path) {
    current = new Logging(path);
    if (!current->thread_.start(*current)) _exit(99);
  }

  MonotonicTime run(MonotonicTime) noexcept override {
    log_.write_queued();
    return log_.next_write();
  }
  void leave(MonotonicTime now) noexcept override { run(now); }
  void post(const LogRecord& record) {
    log_.post(record);
    thread_.wake();
  }
  PressureLog& log() { return log_; }

 private:
  static LogConfig config(const char* path) {
    LogConfig config;
    config.path = path;
    return config;
  }

  PressureLog log_;
  std::atomic<unsigned> running_{0};
  BackgroundThread thread_{"vramguard", running_, std::chrono::milliseconds(10)};
};
Logging* Logging::current = nullptr;

void post_numbered(int number) {
  LogRecord record(Event::Device);
  record.add("total_bytes", number);
  Logging::current->post(record);
}

void post_hundred() {
  for (int i = 0; i < 100; ++i) post_numbered(i);
}

void write_exit_record() { Logging::current->log().write_last(LogRecord(Event::Exit)); }

bool main_has_left() {
  std::ifstream file("/proc/self/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  return stat.find(") Z ") != std::string::npos;
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

int fork_child(const char* path, bool busy) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    Logging::start(path);
    post_numbered(1);
    if (!busy) post_numbered(2);
    write_exit_record();
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 98;
  const std::string way = argv[1];
  const char* path = argv[2];
  alarm(30);

  if (way == "size-limit") {  // no thread of ours: this one writes, and must survive the limit
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    static Logging* const kept = new Logging(path);  // reachable: a leak report would run into the limit itself
    PressureLog& log = kept->log();
    for (int i = 0; i < 20; ++i) {
      log.post(LogRecord(Event::Device));
      log.write_queued();
    }
    sigset_t pending;
    sigpending(&pending);
    return log.dropped() > 0 && sigismember(&pending, SIGXFSZ) == 0 ? 7 : 96;
  }

  // Registered first, so that it runs after the exit record.
  std::atexit([] {
    if (Logging::current != nullptr) post_hundred();
  });
  Logging::start(path);
  std::atexit(write_exit_record);
  std::at_quick_exit(write_exit_record);

  if (way == "return") {
    post_hundred();
    return 7;
  }
  if (way == "quick-exit") {
    post_hundred();
    std::quick_exit(7);
  }
  if (way == "exit-in-thread") {
    std::thread([] {
      post_hundred();
      std::exit(7);
    }).detach();
    sleep_for_ever();
  }
  if (way == "exit-while-busy") {
    std::atomic<int> running{0};
    for (int i = 0; i < 32; ++i) {
      std::thread([&running] {
        ++running;
        for (;;) post_numbered(0);
      }).detach();
    }
    while (running < 32) std::this_thread::yield();
    std::exit(7);
  }
  if (way == "exit-in-signal-handler") {
    std::signal(SIGVTALRM, [](int) { std::exit(7); });
    const itimerval soon{{0, 0}, {0, 20'000}};
    setitimer(ITIMER_VIRTUAL, &soon, nullptr);
    for (;;) post_numbered(0);
  }
  if (way == "main-leaves-first") {
    std::thread([] {
      while (!main_has_left()) std::this_thread::yield();
      // Long enough for a thread that ends too early to do so; one that stays passes at any speed.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      post_hundred();
      if (!Logging::current->log().wait_written(std::chrono::seconds(20))) _exit(97);
    }).detach();
    pthread_exit(nullptr);
  }
  if (way == "kill") {
    LogRecord record(Event::OomReturned);
    record.add("request_bytes", 5);
    Logging::current->post(record);
    if (!Logging::current->log().wait_written(std::chrono::seconds(20))) return 97;
    raise(SIGKILL);
  }
  if (way == "fork") {
    post_hundred();
    if (fork_child(path, false) != 3) return 95;
    post_hundred();
    return 7;
  }
  if (way == "fork-while-busy") {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&stop] {
        while (!stop) post_numbered(0);
      });
    }
    const std::string child_path = std::string(path) + ".child";
    int failed = 0;
    for (int i = 0; i < 100; ++i) failed += fork_child(child_path.c_str(), true) == 3 ? 0 : 1;
    stop = true;
    for (auto& thread : threads) thread.join();
    return failed == 0 ? 7 : 94;
  }
  return 98;
}
