// What a guarded process tells of itself: the content of its public file, as every user may read it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace vramguard {

// Changes with every change of what lies below: a reader of another version leaves the file alone.
inline constexpr std::uint32_t kStateVersion = 1;
inline constexpr char kStateMagic[8] = {'V', 'G', 'S', 'T', 'A', 'T', 'E', '\n'};

inline constexpr std::uint32_t kStateDevices = 16, kStateHooks = 32, kStateRecords = 64;
inline constexpr std::uint64_t kStateUnknown = UINT64_MAX;  // bytes that nobody tells; of a budget: there is none

// Of RefusalScope, in its order.
inline constexpr std::uint32_t kStateScopes = 3;
// Of PressureLevel, in its order.
inline constexpr std::uint32_t kStateLevels = 5;
// Of HookOutcome and of HookSkip, in their order.
inline constexpr std::uint32_t kStateOutcomes = 8, kStateSkips = 7;

// Texts end with a zero byte unless a reader finds otherwise: state_text() is safe with any content.
struct DeviceState {
  char uuid[64];
  char pci_bus_id[24];
  char name[64];
  std::int32_t ordinal;  // the program's own
  std::int32_t level;    // PressureLevel, by the configured scope
  std::uint64_t total_bytes;
  std::uint64_t budget_bytes;  // kStateUnknown: none
  std::uint64_t used_bytes;    // of this process
  std::uint64_t peak_bytes;
  std::uint64_t sentinel_bytes;
  std::uint64_t device_free_bytes;  // of the card, as last seen
  std::uint64_t group_used_bytes;   // of the whole group, this process included; used_bytes without one
  std::uint64_t allocations, frees;
  std::uint64_t refused[kStateScopes];   // requests that did not fit
  std::uint64_t returned[kStateScopes];  // of those: the program was told so
  std::uint64_t recovered;               // of those: served after all
  std::uint64_t waited_ms;               // by requests that did not fit, together
  std::uint64_t transitions[kStateLevels];
};

struct HookState {
  char name[64];
  std::uint64_t runs;
  std::uint64_t outcomes[kStateOutcomes];
  std::uint64_t skips[kStateSkips];
};

// One record of the log as it was written. Whoever reads while it is being replaced sees two different numbers.
struct RecordState {
  std::uint64_t number;  // from 1 on; 0: none yet
  char text[496];
  std::uint64_t number_again;
};

struct ProcessState {
  char magic[8];
  std::uint32_t version;
  std::uint32_t bytes;  // of this struct
  // Held by a thread of the process's own for as long as it lives; the kernel marks it when that dies, however it dies.
  pthread_mutex_t alive;

  // --- does not change
  std::int32_t pid;  // in the process's own pid namespace
  std::uint32_t uid;
  std::uint64_t pid_namespace;  // inode; 0: unknown
  std::uint64_t start_ticks;    // since boot, as in /proc/PID/stat
  std::uint64_t boot;           // which boot that was
  std::int64_t started_at_ms;   // since 1970
  char vramguard_version[16];
  char comm[16];
  char command[256];  // its arguments with a space between
  char log_path[256];
  char control_file[128];  // beside this file
  char group[128];         // "" without one
  char namespace_[64];     // of Kubernetes
  char pod[128];
  char container[72];
  char slurm_job[32];
  char mode[16];  // as the configuration spells it, here and below
  char scope[16];

  // --- changes, each number for itself
  char policy[24];
  std::uint32_t device_count, hook_count;
  std::uint64_t log_dropped;     // records that were lost: the queue was full, or the file could not be written
  std::uint64_t log_suppressed;  // records left out by the rate limit
  std::uint64_t updated_at_ms;   // since 1970: when these numbers were last written
  DeviceState devices[kStateDevices];
  HookState hooks[kStateHooks];
  std::uint64_t last_record;  // number; it lies at records[(number - 1) % kStateRecords]
  RecordState records[kStateRecords];
};
static_assert(std::is_trivially_copyable_v<ProcessState> && std::is_standard_layout_v<ProcessState>);
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

}  // namespace vramguard
