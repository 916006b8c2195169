#include "core/state/fold_steps.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <string_view>

#include "core/state/counters.h"
#include "core/state/process_state_file.h"
#include "core/state/state_reader.h"
#include "core/state/totals_file.h"
#include "core/undisturbed.h"

namespace vramguard {
namespace {

constexpr char kLockFile[] = "totals.lock";
constexpr int kTries = 10;  // of each of two locks
constexpr timespec kBetweenTries{0, 5'000'000};

// The one who may change a folder's sums. Held by a process, not by a descriptor: what it forks meanwhile does not
// keep it, and it ends with the process. Among the threads of a process `holder_` decides.
class TotalsLock {
 public:
  explicit TotalsLock(const std::string& folder) noexcept try {
    if (!take_among_threads()) return;
    fd_ = open((folder + "/" + kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    for (int i = 0; fd_ >= 0 && !held_ && i < kTries; ++i) {
      if (i > 0) nanosleep(&kBetweenTries, nullptr);
      struct flock all {};
      all.l_type = F_WRLCK;
      all.l_whence = SEEK_SET;
      held_ = fcntl(fd_, F_SETLK, &all) == 0;
      if (!held_ && errno != EAGAIN && errno != EACCES && errno != EINTR) break;
    }
  } catch (...) {
  }
  ~TotalsLock() {
    if (fd_ >= 0) close(fd_);
    if (among_threads_) holder_ = 0;
  }
  TotalsLock(const TotalsLock&) = delete;
  bool held() const noexcept { return held_; }

 private:
  bool take_among_threads() noexcept {
    const pid_t self = getpid();
    for (int i = 0; i < kTries && !among_threads_; ++i) {
      if (i > 0) nanosleep(&kBetweenTries, nullptr);
      pid_t seen = holder_.load();  // of the process that forked this one, perhaps
      among_threads_ = seen != self && holder_.compare_exchange_strong(seen, self);
    }
    return among_threads_;
  }

  static inline std::atomic<pid_t> holder_{0};
  int fd_ = -1;
  bool held_ = false, among_threads_ = false;
};

// "" unless `path` is a public file right in `folder`.
std::string name_in(const std::string& folder, const std::string& path) {
  const std::string_view suffix = kStateSuffix;
  if (!path.starts_with(folder + "/") || !path.ends_with(suffix)) return {};
  std::string name = path.substr(folder.size() + 1);
  if (name.size() <= suffix.size() || name.front() == '.' || name.find('/') != std::string::npos) return {};
  name.resize(name.size() - suffix.size());
  return name;
}

bool is_own_folder(const std::string& folder) noexcept {
  struct stat info {};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// A process adds itself when it ends, while its mark still stands.
bool is_this_process(const SeenProcess& seen) noexcept { return seen.pid == getpid(); }

// False: something is left.
bool remove_files(const std::string& folder, const std::string& name, void (*after)(FoldStep)) {
  const auto gone = [](const std::string& path) { return unlink(path.c_str()) == 0 || errno == ENOENT; };
  const bool state = gone(folder + "/" + name + kStateSuffix);
  after(FoldStep::StateRemoved);
  const bool control = gone(folder + "/" + name + kControlSuffix);
  after(FoldStep::ControlRemoved);
  return state && control;
}

bool fold_locked(const std::string& folder, const std::string& name, void (*after)(FoldStep)) {
  Totals totals = read_totals_file(folder, geteuid());
  if (totals.of_another_version) return false;
  // What the one before was stopped at: nobody may lose sight of a process whose files are still there.
  if (!totals.folded.empty() && !remove_files(folder, totals.folded.back(), [](FoldStep) {})) return false;
  if (totals.has_folded(name)) return remove_files(folder, name, after);

  const auto read = read_process_state(folder + "/" + name + kStateSuffix, geteuid());
  const auto* seen = std::get_if<SeenProcess>(&read);
  if (seen == nullptr || (seen->alive && !is_this_process(*seen))) return false;
  Counters counts;
  add_counters(seen->state, counts);
  totals.add(name, counts);
  after(FoldStep::Read);
  if (!write_hidden_totals(folder, totals)) return false;
  after(FoldStep::Written);
  if (!publish_totals(folder)) return false;
  after(FoldStep::Published);
  return remove_files(folder, name, after);
}

}  // namespace

bool fold_by_steps(const std::string& folder, const std::string& state_path, void (*after)(FoldStep)) noexcept try {
  const Undisturbed undisturbed;
  const std::string name = name_in(folder, state_path);
  if (name.empty() || !is_own_folder(folder)) return false;
  const TotalsLock lock(folder);
  if (!lock.held()) return false;
  after(FoldStep::Locked);
  return fold_locked(folder, name, after);
} catch (...) {
  return false;
}

bool fold(const std::string& folder, const std::string& state_path) noexcept {
  return fold_by_steps(folder, state_path, [](FoldStep) {});
}

void fold_stale(const StateFolder& folder, std::size_t most) noexcept try {
  if (folder.owner != geteuid()) return;
  const auto paths = state_paths(folder.path);
  if (!std::holds_alternative<std::vector<std::string>>(paths)) return;
  for (const std::string& path : std::get<std::vector<std::string>>(paths)) {
    const auto read = read_process_state(path, folder.owner);
    const auto* seen = std::get_if<SeenProcess>(&read);
    if (seen == nullptr || seen->alive) continue;
    if (most-- == 0 || !fold(folder.path, path)) return;  // the next reader will
  }
} catch (...) {
}

}  // namespace vramguard
