// What lies in the file of the shared state. Only for the files that implement SharedState.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "tests/sim_driver/function_id.h"
#include "tests/sim_driver/shared_state.h"

namespace vgsim {

inline constexpr int kMaxProcesses = 512;
inline constexpr int kMaxSharedMemory = 4096;

struct ProcessSlot {
  std::int32_t pid;  // 0: free
  std::uint64_t start_time;
  std::uint64_t used[kMaxDevices];
};

struct SharedDevice {
  std::uint64_t total;
  std::uint64_t neighbour;
};

// Memory that one process has and others hold too. Its bytes are part of the owner's use.
struct SharedMemory {
  std::uint64_t id;  // 0: free
  std::uint64_t bytes;
  std::int32_t device;
  std::int32_t owner;                         // slot
  bool owner_left;                            // the owner no longer has it; its bytes go back with the last holder
  std::uint64_t holders[kMaxProcesses / 64];  // a bit for each slot
};

struct FunctionRecord {
  std::atomic<std::uint64_t> calls;
  std::atomic<std::int32_t> fail_in;  // 0: no fault; 1: the next call fails
  std::atomic<std::int32_t> fail_code;
  std::atomic<std::int32_t> delay_ms;
};

struct SharedState::Layout {
  std::uint64_t magic;
  pthread_mutex_t mutex;
  std::int32_t device_count;
  std::int32_t slots_in_use;  // no slot at or above is taken
  SharedDevice devices[kMaxDevices];
  ProcessSlot processes[kMaxProcesses];
  std::uint64_t last_shared_id;
  std::int32_t shared_count;
  SharedMemory shared[kMaxSharedMemory];
  FunctionRecord functions[kFunctionCount];

  // Another layout has another number, so a file left by an older build is not misread.
  static constexpr std::uint64_t kMagic =
      0x7667'7369'6d00'0001ULL ^ (std::uint64_t{sizeof(ProcessSlot)} << 40) ^ kFunctionCount;
};

class SharedState::Lock {
 public:
  explicit Lock(Layout* layout) : mutex_(&layout->mutex) {
    // Every number is a single word, so what a killed owner left is consistent as it is.
    if (pthread_mutex_lock(mutex_) == EOWNERDEAD) pthread_mutex_consistent(mutex_);
  }
  ~Lock() { pthread_mutex_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t* mutex_;
};

}  // namespace vgsim
