// The simulated driver's own state in this process: devices, contexts, allocations, handles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/sim_driver/abi.h"
#include "tests/sim_driver/identity.h"
#include "tests/sim_driver/linear_heap.h"
#include "tests/sim_driver/page_space.h"
#include "tests/sim_driver/shared_state.h"
#include "tests/sim_driver/sizes.h"

namespace vgsim {

inline constexpr std::uint64_t kContextBytes = 520 * kMiB;
inline constexpr std::uint64_t kDefaultStackBytes = 1024;
inline constexpr std::uint64_t kLastLowAddress = 0xffff'ffff;

struct Device;

// A context. Never deleted, so that a handle kept after its end is told apart from a new one.
struct Context {
  Device* device = nullptr;
  bool alive = false;
  bool primary = false;
  unsigned int flags = 0;
  unsigned int api_version = 3020;
  std::uint64_t id = 0;
  std::uint64_t stack_bytes = kDefaultStackBytes;
  std::uint64_t stack_charge = 0;   // physical bytes
  std::uint64_t module_charge = 0;  // the same
  std::map<int, std::uint64_t> limits;
  std::set<Context*> peers;
  std::unique_ptr<LinearHeap> heap;
  std::unique_ptr<LinearHeap> low_heap;  // for the 32-bit functions

  LinearHeap& heap_of(std::uint64_t address) { return address <= kLastLowAddress ? *low_heap : *heap; }
};

enum class MemoryKind { Linear, Managed, Host, RegisteredHost, Pool, Mapped, IpcOpened, External };

struct Mapping;

class MemoryOwner;

// One live allocation. `data` is made at the first write that needs it.
struct Allocation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::Linear;
  Context* context = nullptr;  // nullptr of mapped memory
  Device* device = nullptr;    // nullptr of mapped memory that lies on the host
  std::uint64_t id = 0;
  unsigned int flags = 0;
  std::unique_ptr<std::byte[]> data;
  // Managed memory: pages that lie on the device, and whether the host is their preferred place.
  std::set<std::uint64_t> resident_pages;
  bool prefers_host = false;
  std::shared_ptr<MemoryOwner> owner;  // of stream-ordered memory, which has no context
  std::shared_ptr<Mapping> mapping;    // of mapped memory
};

// One device that this process sees.
struct Device {
  Device(int ordinal_in_process, int physical_index);

  int ordinal;
  int physical;  // index in the shared state, the order of NVML
  DeviceIdentity identity;
  PageSpace space;
  PageSpace low_space;  // below 4 GiB, small
  Context primary;
  int primary_retains = 0;
  unsigned int primary_flags = 0;
};

// Everything below is guarded by DriverLock.
struct Driver {
  SharedState* shared = nullptr;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Context>> contexts;  // ended ones too
  std::unordered_set<const void*> context_handles;
  std::map<std::uint64_t, Allocation> allocations;
  std::uint64_t data_bytes = 0;  // held by Allocation::data
  std::uint64_t next_id = 1;

  bool take(const Device& device, std::uint64_t bytes) { return shared->take(device.physical, bytes); }
  void give(const Device& device, std::uint64_t bytes) { shared->give(device.physical, bytes); }
};

// Valid after a successful cuInit; never destroyed.
Driver& driver();

enum class InitState { Never, Done, ForkedChild };
InitState init_state();

// Makes the driver for the devices that this process may see.
CUresult initialise_driver();

// Holds the one lock of the simulated driver, if asked to.
class DriverLock {
 public:
  explicit DriverLock(bool lock);
  ~DriverLock();
  DriverLock(const DriverLock&) = delete;
  DriverLock& operator=(const DriverLock&) = delete;

 private:
  bool locked_;
};

// nullptr where there is no such device.
Device* find_device(CUdevice ordinal);
Device* find_physical_device(int physical);

// The calling thread's current context; the result says why there is none that can be used.
CUresult current_context(Context*& context);

// The context behind a handle, alive or ended; nullptr for what never was one.
Context* find_context(CUcontext handle);
inline CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

// The allocation that `address` lies in; nullptr where there is none.
Allocation* find_allocation(std::uint64_t address);

// Removes an allocation and gives its physical bytes back.
void end_allocation(std::map<std::uint64_t, Allocation>::iterator allocation);

}  // namespace vgsim
