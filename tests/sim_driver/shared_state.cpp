#include "tests/sim_driver/shared_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/sim_driver/process_life.h"
#include "tests/sim_driver/shared_state_layout.h"

namespace vgsim {
namespace {

// A file that is locked while it is looked at and set up.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~LockedFile() {
    if (fd_ < 0) return;
    flock(fd_, LOCK_UN);  // a mapping keeps the open file, and so its lock, alive
    close(fd_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  int fd() const { return fd_; }

  // Whether the name still leads to this file; another process may have replaced it before the lock was ours.
  bool is_at(const std::string& path) const {
    struct stat mine {
    }, there{};
    return fstat(fd_, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
  }

  off_t size() const {
    struct stat mine {};
    return fstat(fd_, &mine) == 0 ? mine.st_size : -1;
  }

 private:
  int fd_;
};

void* map_file(int fd, std::size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void make_mutex(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace

SharedState* SharedState::open(const std::string& path) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    LockedFile file(path);
    if (file.fd() < 0) return nullptr;
    if (!file.is_at(path)) continue;
    const off_t size = file.size();
    if (size != 0 && size != static_cast<off_t>(sizeof(Layout))) {
      unlink(path.c_str());
      continue;
    }
    if (size == 0 && ftruncate(file.fd(), sizeof(Layout)) != 0) return nullptr;
    auto* layout = static_cast<Layout*>(map_file(file.fd(), sizeof(Layout)));
    if (!layout) return nullptr;
    if (layout->magic == 0) {
      make_mutex(&layout->mutex);
      layout->magic = Layout::kMagic;
    } else if (layout->magic != Layout::kMagic) {
      munmap(layout, sizeof(Layout));
      unlink(path.c_str());
      continue;
    }
    auto* state = new SharedState(layout);
    if (layout->device_count == 0) state->configure(environment().devices);
    return state;
  }
  return nullptr;
}

void SharedState::configure(const std::vector<DeviceSize>& devices) {
  const Lock lock(layout_);
  drop_dead();
  if (layout_->slots_in_use != 0) return;
  layout_->device_count = static_cast<std::int32_t>(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    SharedDevice& device = layout_->devices[i];
    device.total = devices[i].total;
    if (devices[i].neighbour) device.neighbour = *devices[i].neighbour;
    device.neighbour = std::min(device.neighbour, device.total);
  }
}

bool SharedState::join() {
  const Lock lock(layout_);
  drop_dead();
  const std::int32_t pid = getpid();
  const auto slot_of = [&](std::int32_t wanted) {
    int slot = 0;
    while (slot < layout_->slots_in_use && layout_->processes[slot].pid != wanted) ++slot;
    return slot;
  };
  // A slot of our own pid is what this process had before an exec.
  int slot = slot_of(pid);
  if (slot == layout_->slots_in_use) slot = slot_of(0);
  if (slot == kMaxProcesses) return false;
  forget_shared_memory_of(slot);
  layout_->processes[slot] = ProcessSlot{pid, process_start_time(pid), {}};
  layout_->slots_in_use = std::max(layout_->slots_in_use, slot + 1);
  slot_ = slot;
  return true;
}

void SharedState::drop_dead() {
  const std::int32_t self = getpid();
  for (int i = 0; i < layout_->slots_in_use; ++i) {
    ProcessSlot& process = layout_->processes[i];
    if (process.pid == 0 || process.pid == self) continue;
    if (process_is_alive(process.pid, process.start_time)) continue;
    process = ProcessSlot{};
    forget_shared_memory_of(i);
  }
  while (layout_->slots_in_use > 0 && layout_->processes[layout_->slots_in_use - 1].pid == 0) --layout_->slots_in_use;
}

std::uint64_t SharedState::used_locked(int device) const {
  std::uint64_t sum = layout_->devices[device].neighbour;
  for (int i = 0; i < layout_->slots_in_use; ++i) sum += layout_->processes[i].used[device];
  return sum;
}

int SharedState::device_count() {
  const Lock lock(layout_);
  return layout_->device_count;
}

DeviceUse SharedState::use(int device) {
  const Lock lock(layout_);
  drop_dead();
  return {layout_->devices[device].total, used_locked(device)};
}

std::uint64_t SharedState::total(int device) {
  const Lock lock(layout_);
  return layout_->devices[device].total;
}

std::vector<ProcessUse> SharedState::processes(int device) {
  const Lock lock(layout_);
  drop_dead();
  std::vector<ProcessUse> list;
  for (int i = 0; i < layout_->slots_in_use; ++i) {
    const ProcessSlot& process = layout_->processes[i];
    if (process.pid != 0 && process.used[device] != 0) list.push_back({process.pid, process.used[device]});
  }
  return list;
}

bool SharedState::take(int device, std::uint64_t bytes) {
  const Lock lock(layout_);
  const std::uint64_t total = layout_->devices[device].total;
  const auto fits = [&] {
    const std::uint64_t used = used_locked(device);
    return used <= total && bytes <= total - used;
  };
  if (!fits()) {
    drop_dead();
    if (!fits()) return false;
  }
  layout_->processes[slot_].used[device] += bytes;
  return true;
}

void SharedState::give(int device, std::uint64_t bytes) {
  const Lock lock(layout_);
  std::uint64_t& used = layout_->processes[slot_].used[device];
  used -= std::min(used, bytes);
}

std::uint64_t SharedState::set_neighbour(int device, std::uint64_t bytes) {
  const Lock lock(layout_);
  drop_dead();
  SharedDevice& shared = layout_->devices[device];
  shared.neighbour = 0;
  const std::uint64_t used = used_locked(device);
  shared.neighbour = std::min(bytes, shared.total - std::min(used, shared.total));
  return shared.neighbour;
}

void SharedState::count_call(int function) {
  layout_->functions[function].calls.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t SharedState::calls(int function) const {
  return layout_->functions[function].calls.load(std::memory_order_relaxed);
}

void SharedState::fail_nth(int function, int nth, int code) {
  layout_->functions[function].fail_code = code;
  layout_->functions[function].fail_in = nth;
}

int SharedState::fault_due(int function) {
  FunctionRecord& record = layout_->functions[function];
  std::int32_t left = record.fail_in.load(std::memory_order_relaxed);
  while (left > 0) {
    if (record.fail_in.compare_exchange_weak(left, left - 1)) return left == 1 ? record.fail_code.load() : 0;
  }
  return 0;
}

void SharedState::set_delay_ms(int function, int ms) { layout_->functions[function].delay_ms = ms; }

int SharedState::delay_ms(int function) const {
  return layout_->functions[function].delay_ms.load(std::memory_order_relaxed);
}

void SharedState::reset() {
  const Lock lock(layout_);
  drop_dead();
  for (SharedDevice& device : layout_->devices) device.neighbour = 0;
  for (FunctionRecord& record : layout_->functions) {
    record.calls = 0;
    record.fail_in = 0;
    record.delay_ms = 0;
  }
}

SharedState* shared_state() {
  static SharedState* const state = SharedState::open(environment().state_path);
  return state;
}

}  // namespace vgsim
