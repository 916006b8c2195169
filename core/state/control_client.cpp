#include "core/state/control_client.h"

#include "core/errno_text.h"
#include "core/futex.h"
#include "core/state/state_text.h"
#include "core/state/wake.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>

namespace vramguard {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The open private file of a process, mapped. Closing it gives the lock back, too.
class ControlFile {
 public:
  ControlFile() = default;
  ControlFile(const ControlFile&) = delete;
  ~ControlFile() {
    if (block_ != nullptr) munmap(block_, sizeof *block_);
    if (fd_ >= 0) close(fd_);
  }

  // What is wrong with it, in words for a person; nullopt if nothing is.
  std::optional<std::string> open(const std::string& path, uid_t owner) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd_ < 0) {
      if (errno == ENOENT) return "the process has ended";
      if (errno == EACCES) return "only the process's own user or root may change it";
      return path + " cannot be opened: " + errno_text(errno);
    }
    struct stat info {};
    if (fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return path + " is no file";
    if (info.st_uid != owner || (geteuid() != owner && geteuid() != 0)) return path + " belongs to another user";
    const std::string other_version = path + " was written by another version of vramguard";
    if (info.st_size != sizeof(ControlBlock)) return other_version;
    void* memory = mmap(nullptr, sizeof(ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory == MAP_FAILED) return path + " cannot be mapped: " + errno_text(errno);
    block_ = static_cast<ControlBlock*>(memory);
    if (std::memcmp(block_->magic, kControlMagic, sizeof kControlMagic) != 0)
      return path + " was not written by vramguard";
    if (block_->version != kStateVersion || block_->bytes != sizeof *block_) return other_version;
    return std::nullopt;
  }

  ControlBlock& block() const noexcept { return *block_; }

  // False: others ask the process all the time.
  bool lock(MonotonicTime until) const noexcept {
    std::uint32_t nobody_wakes = 0;
    while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const MonotonicTime now = steady_clock::now();
      if (now >= until) return false;
      futex_wait(nobody_wakes, 0, std::min(until, now + milliseconds(1)), FutexScope::Private);
    }
    return true;
  }

 private:
  int fd_ = -1;
  ControlBlock* block_ = nullptr;
};

std::atomic_ref<std::uint32_t> word(std::uint32_t& number) noexcept { return std::atomic_ref(number); }

// False: not until then.
bool wait_for_answer(ControlBlock& block, MonotonicTime until) noexcept {
  const std::uint32_t asked = word(block.asked).load();
  for (;;) {
    const std::uint32_t answered = word(block.answered).load();
    if (answered == asked) return true;
    if (steady_clock::now() >= until) return false;
    futex_wait(block.answered, answered, until, FutexScope::Shared);
  }
}

// Only while nothing is being asked: the process reads it all without a lock.
void fill_in(ControlBlock& block, const ControlRequest& request) noexcept {
  word(block.what).store(request.what);
  block.budget_bytes = request.budget_bytes;
  set_state_text(block.device, request.device);
  set_state_text(block.policy, request.policy);
  block.done = 0;
  block.answer[0] = '\0';
}

std::string not_answered(milliseconds patience) {
  return "did not answer within " + std::to_string(patience.count()) +
         " ms: it is stopped, or the machine is very busy; nothing was changed";
}

}  // namespace

std::variant<ControlAnswer, StateProblem> ask_process(const std::string& path, uid_t owner,
                                                      const ControlRequest& request, milliseconds patience) noexcept
    try {
  ControlFile file;
  if (auto why = file.open(path, owner)) return StateProblem{std::move(*why)};
  if (!file.lock(steady_clock::now() + patience)) return StateProblem{"others ask it all the time; try again"};

  ControlBlock& block = file.block();
  const MonotonicTime until = steady_clock::now() + patience;
  if (word(block.asked).load() != word(block.answered).load()) wake(block);  // of one who gave up, or died
  if (!wait_for_answer(block, until)) return StateProblem{not_answered(patience)};
  fill_in(block, request);
  word(block.asked).fetch_add(1);
  wake(block);
  if (!wait_for_answer(block, until)) {
    if (word(block.what).exchange(0) == 0)
      return StateProblem{"is still at it after " + std::to_string(patience.count()) +
                          " ms; 'vramguard ps' shows what came of it"};
    return StateProblem{not_answered(patience)};
  }
  return ControlAnswer{word(block.done).load() == 1, state_text(block.answer)};
} catch (const std::exception&) {
  return StateProblem{"there is no memory left"};
}

}  // namespace vramguard
