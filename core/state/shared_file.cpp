#include "core/state/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "core/errno_text.h"

namespace vramguard {
namespace {

// Closes what it was given.
class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  const int fd_;
};

void* map(int fd, std::size_t bytes) noexcept {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

// Allocates also where the file system itself cannot.
int allocate(int fd, std::size_t bytes) noexcept {
  int error;
  do {
    error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

}  // namespace

std::variant<FreshFile, StateProblem> make_shared_file(const std::string& folder, const std::string& name,
                                                       std::size_t bytes, mode_t mode) {
  // Of no other thread, in whatever pid namespace.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::string path =
      folder + "/" + kHiddenPrefix + name + "-" + std::to_string(gettid()) + "-" + std::to_string(now);
  const auto problem = [&](int error) {
    unlink(path.c_str());
    return StateProblem{"a file in " + folder + " cannot be made: " + errno_text(error) +
                        "; name another folder in VRAMGUARD_STATE_DIR"};
  };
  const Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return problem(errno);
  if (const int error = allocate(file.get(), bytes); error != 0) return problem(error);
  if (fchmod(file.get(), mode) != 0) return problem(errno);  // whatever the program's umask
  void* memory = map(file.get(), bytes);
  if (memory == MAP_FAILED) return problem(errno);
  return FreshFile{path, memory};
}

bool publish(const FreshFile& file, const std::string& path) noexcept {
  const bool published = link(file.hidden_path.c_str(), path.c_str()) == 0;
  unlink(file.hidden_path.c_str());
  return published;
}

std::variant<void*, StateProblem> map_shared_file(const std::string& path, std::size_t bytes) {
  const auto problem = [&](const std::string& what) { return StateProblem{path + ": " + what}; };
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return problem(errno_text(errno));
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return problem(errno_text(errno));
  if (!S_ISREG(info.st_mode)) return problem("is no file");
  if (info.st_uid != geteuid() && geteuid() != 0) return problem("belongs to another user");
  if (static_cast<std::size_t>(info.st_size) != bytes) return problem("was written by another version of vramguard");
  void* memory = map(file.get(), bytes);
  if (memory == MAP_FAILED) return problem(errno_text(errno));
  return memory;
}

void unmap(void* memory, std::size_t bytes) noexcept { munmap(memory, bytes); }

}  // namespace vramguard
