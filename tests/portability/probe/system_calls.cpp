#include "tests/portability/probe/probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

void files() {
  char folder[] = "/tmp/floor_probe.XXXXXX";
  PROBE_EXPECT(mkdtemp(folder) != nullptr);
  const std::string file = std::string(folder) + "/file";
  const std::string link = std::string(folder) + "/link";
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
  PROBE_EXPECT(descriptor >= 0);
  PROBE_EXPECT(write(descriptor, "twelve bytes", 12) == 12);
  PROBE_EXPECT(fcntl(descriptor, F_GETFD) == FD_CLOEXEC);
  PROBE_EXPECT(symlink("file", link.c_str()) == 0);

  struct stat by_path = {}, by_descriptor = {}, by_link = {}, itself = {}, relative = {};
  PROBE_EXPECT(stat(file.c_str(), &by_path) == 0);
  PROBE_EXPECT(fstat(descriptor, &by_descriptor) == 0);
  PROBE_EXPECT(stat(link.c_str(), &by_link) == 0);
  PROBE_EXPECT(lstat(link.c_str(), &itself) == 0);
  PROBE_EXPECT(by_path.st_size == 12 && S_ISREG(by_path.st_mode) && (by_path.st_mode & 0777) == 0640);
  PROBE_EXPECT(by_path.st_ino == by_descriptor.st_ino && by_path.st_dev == by_descriptor.st_dev);
  PROBE_EXPECT(by_path.st_uid == getuid() && by_path.st_nlink == 1 && by_path.st_mtime > 1000000000);
  PROBE_EXPECT(by_link.st_ino == by_path.st_ino);
  PROBE_EXPECT(S_ISLNK(itself.st_mode) && itself.st_ino != by_path.st_ino);
  const int parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  PROBE_EXPECT(fstatat(parent, "file", &relative, 0) == 0 && relative.st_ino == by_path.st_ino);
  PROBE_EXPECT(fstatat(parent, "link", &relative, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(relative.st_mode));
  errno = 0;
  PROBE_EXPECT(fstatat(parent, "none", &relative, 0) == -1 && errno == ENOENT);
  errno = 0;
  PROBE_EXPECT(stat("/tmp/floor_probe.none/none", &by_path) == -1 && errno == ENOENT);
  errno = 0;
  PROBE_EXPECT(fstat(-1, &by_path) == -1 && errno == EBADF);

  close(descriptor);
  close(parent);
  unlink(file.c_str());
  unlink(link.c_str());
  rmdir(folder);
}

void randomness() {
  unsigned char some[64] = {}, other[64] = {};
  PROBE_EXPECT(getentropy(some, sizeof some) == 0 && getentropy(other, sizeof other) == 0);
  PROBE_EXPECT(std::memcmp(some, other, sizeof some) != 0);
  PROBE_EXPECT(getrandom(some, sizeof some, 0) == static_cast<ssize_t>(sizeof some));
  char large[257];
  errno = 0;
  PROBE_EXPECT(getentropy(large, sizeof large) == -1 && errno == EIO);
}

void clocks() {
  timespec real = {}, steady = {}, cpu = {};
  PROBE_EXPECT(clock_gettime(CLOCK_REALTIME, &real) == 0 && real.tv_sec == time(nullptr));
  PROBE_EXPECT(clock_gettime(CLOCK_MONOTONIC, &steady) == 0 && steady.tv_sec >= 0);
  PROBE_EXPECT(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0);
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < 100; ++round) PROBE_EXPECT(std::chrono::steady_clock::now() >= start);
  const std::time_t leap = 1709210096;
  std::tm fields = {};
  char text[32];
  PROBE_EXPECT(gmtime_r(&leap, &fields) == &fields && fields.tm_mday == 29 && fields.tm_mon == 1);
  PROBE_EXPECT(std::strftime(text, sizeof text, "%F %T", &fields) == 19 && std::string(text) == "2024-02-29 12:34:56");
  PROBE_EXPECT(timegm(&fields) == leap);
}

}  // namespace

namespace probe {

void system_calls() {
  files();
  randomness();
  clocks();

  PROBE_EXPECT(gettid() == getpid() || gettid() > 0);
  const int memory = memfd_create("floor_probe", MFD_CLOEXEC);
  PROBE_EXPECT(memory >= 0 && ftruncate(memory, 4096) == 0);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  PROBE_EXPECT(page != MAP_FAILED);
  munmap(page, 4096);
  close(memory);

  Dl_info info = {};
  PROBE_EXPECT(dladdr(reinterpret_cast<void*>(&system_calls), &info) != 0);
  PROBE_EXPECT(std::strstr(info.dli_fname, "floor_probe") != nullptr);
  void* handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  PROBE_EXPECT(handle != nullptr && dlsym(handle, "malloc") != nullptr && dlsym(handle, "no_such_name") == nullptr);

  char buffer[64];
  PROBE_EXPECT(std::snprintf(buffer, sizeof buffer, "%.2f %zu %s", 2.5, sizeof buffer, "text") == 12);
  PROBE_EXPECT(std::string(buffer) == "2.50 64 text");
  char* end = nullptr;
  PROBE_EXPECT(std::strtoull("0x1fffffffff", &end, 0) == 0x1fffffffffull && *end == '\0');
  PROBE_EXPECT(std::strtol("-12x", &end, 10) == -12 && *end == 'x');
  unsigned long a = 0, b = 0;
  PROBE_EXPECT(std::sscanf("7f00-7fff r-xp", "%lx-%lx", &a, &b) == 2 && a == 0x7f00 && b == 0x7fff);
  PROBE_EXPECT(setenv("FLOOR_PROBE", "1", 1) == 0 && std::strcmp(secure_getenv("FLOOR_PROBE"), "1") == 0);
  PROBE_EXPECT(pthread_setname_np(pthread_self(), "floor_probe") == 0);
  PROBE_EXPECT(pthread_getname_np(pthread_self(), buffer, sizeof buffer) == 0 && std::string(buffer) == "floor_probe");
}

}  // namespace probe
