// Ends in the way that it is told, with live allocations. The driver's version is asked for last of all before.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

extern "C" {
#include "tests/integration/programs/guest.h"
}

namespace {

driver cu;

void say(const std::string& text) {
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(4);
}

// Made before main, so it ends after whatever was registered since.
struct Late {
  CUdeviceptr address = 0;
  ~Late() {
    if (address == 0) return;
    say("late free " + std::to_string(cu.cuMemFree_v2(address)) + ", too much " + std::to_string(ask_too_much(&cu)) +
        "\n");
  }
} late;

// After the time that the guard's thread needs to write what it has.
void leave() {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  int version = 0;
  cu.cuDriverGetVersion(&version);
  say("leaving\n");
}

void work_on(std::chrono::milliseconds time) {
  use_device(&cu, 0);
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) cu.cuMemFree_v2(allocate_bytes(&cu, kMiB));
}

void end_by(const std::string& way) {
  if (way == "return") return;
  if (way == "exit") exit(7);
  if (way == "exit_in_thread") {
    std::thread([] { exit(7); }).detach();
    for (;;) pause();
  }
  if (way == "exit_while_others_allocate") {
    for (int i = 0; i < 8; ++i) std::thread([] { work_on(std::chrono::hours(1)); }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    exit(7);
  }
  if (way == "_exit") _exit(7);
  if (way == "quick_exit") quick_exit(7);
  if (way == "abort") abort();
  if (way == "SIGTERM" || way == "SIGKILL" || way == "SIGSEGV") {
    kill(getpid(), way == "SIGTERM" ? SIGTERM : way == "SIGKILL" ? SIGKILL : SIGSEGV);
    for (;;) pause();
  }
  if (way == "static_destructor") {
    late.address = allocate_bytes(&cu, kMiB);
    exit(7);
  }
  if (way == "exec") execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
  if (way == "deinitialized") {
    say("free " + std::to_string(cu.cuMemFree_v2(allocate_bytes(&cu, kMiB))) + "\n");
    exit(7);
  }
  must(false, way.c_str());
}

void load_and_unload(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  must(handle != nullptr, "dlopen");
  const auto use = reinterpret_cast<int (*)()>(dlsym(handle, "use_late"));
  say("library " + std::to_string(use()) + "\n");
  dlclose(handle);
}

}  // namespace

int main(int argc, char** argv) {
  must(argc >= 2, "usage");
  const std::string way = argv[1];
  if (way == "dlclose") {
    load_and_unload(argv[2]);
    return 7;
  }
  cu = start_cuda();
  allocate_bytes(&cu, 100 * kMiB);
  say("refused " + std::to_string(ask_too_much(&cu)) + "\n");
  if (way == "pthread_exit") {
    std::thread([] {
      work_on(std::chrono::milliseconds(200));
      leave();
    }).detach();
    pthread_exit(nullptr);
  }
  leave();
  end_by(way);
  return 7;
}
