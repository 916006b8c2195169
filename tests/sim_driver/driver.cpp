#include "tests/sim_driver/driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <mutex>

#include "tests/sim_driver/context_stack.h"
#include "tests/sim_driver/foreign_memory.h"
#include "tests/sim_driver/managed.h"
#include "tests/sim_driver/memory_owner.h"
#include "tests/sim_driver/trace.h"
#include "tests/sim_driver/visible_devices.h"

namespace vgsim {
namespace {

// Above everything the kernel gives a program by itself, so no host address is taken for one of these.
constexpr std::uint64_t kAddressBase = 0x2000'0000'0000ULL;
constexpr std::uint64_t kAddressesPerDevice = 1ULL << 40;
constexpr std::uint64_t kLowAddressBase = 0x1000'0000;
constexpr std::uint64_t kLowAddressesPerDevice = (kLastLowAddress + 1 - kLowAddressBase) / kMaxDevices;

std::mutex driver_mutex;
std::mutex init_mutex;
std::atomic<Driver*> the_driver{nullptr};
// A page that the kernel empties in a forked child.
std::atomic<int*> alive_page{nullptr};

PageSpace page_space(int physical, std::uint64_t base, std::uint64_t bytes) {
  return {(base + static_cast<std::uint64_t>(physical) * bytes) / kPageBytes, bytes / kPageBytes};
}

int* make_alive_page() {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  madvise(page, bytes, MADV_WIPEONFORK);
  return static_cast<int*>(page);
}

}  // namespace

Device::Device(int ordinal_in_process, int physical_index)
    : ordinal(ordinal_in_process),
      physical(physical_index),
      identity(device_identity(physical_index)),
      space(page_space(physical_index, kAddressBase, kAddressesPerDevice)),
      low_space(page_space(physical_index, kLowAddressBase, kLowAddressesPerDevice)) {}

Driver& driver() { return *the_driver.load(std::memory_order_acquire); }

InitState init_state() {
  const int* page = alive_page.load(std::memory_order_acquire);
  if (!page) return InitState::Never;
  return *page != 0 ? InitState::Done : InitState::ForkedChild;
}

CUresult initialise_driver() {
  if (init_state() == InitState::ForkedChild) return CUDA_ERROR_NOT_INITIALIZED;
  const std::lock_guard<std::mutex> lock(init_mutex);
  if (init_state() == InitState::Done) return CUDA_SUCCESS;
  for (const std::string& problem : environment().problems) report_problem(("not understood: " + problem).c_str());
  SharedState* shared = shared_state();
  if (!shared) {
    report_problem(("cannot use the state file " + environment().state_path).c_str());
    return CUDA_ERROR_UNKNOWN;
  }
  shared->configure(environment().devices);
  std::vector<std::string> uuids;
  const std::vector<int> order =
      device_order(std::getenv("CUDA_DEVICE_ORDER"), shared->device_count(), environment().fastest);
  for (const int physical : order) uuids.push_back(device_identity(physical).uuid_text);
  const std::vector<int> visible = visible_devices(std::getenv("CUDA_VISIBLE_DEVICES"), uuids);
  if (visible.empty()) return CUDA_ERROR_NO_DEVICE;
  if (!shared->join()) {
    report_problem("too many processes for the state file");
    return CUDA_ERROR_UNKNOWN;
  }
  auto made = std::make_unique<Driver>();
  made->shared = shared;
  for (const int number : visible) {
    auto device =
        std::make_unique<Device>(static_cast<int>(made->devices.size()), order[static_cast<std::size_t>(number)]);
    device->primary.device = device.get();
    device->primary.primary = true;
    device->primary.id = made->next_id++;
    made->context_handles.insert(&device->primary);
    made->devices.push_back(std::move(device));
  }
  int* page = make_alive_page();
  if (!page) return CUDA_ERROR_OUT_OF_MEMORY;
  *page = 1;
  the_driver.store(made.release(), std::memory_order_release);
  alive_page.store(page, std::memory_order_release);
  return CUDA_SUCCESS;
}

DriverLock::DriverLock(bool lock) : locked_(lock) {
  if (locked_) driver_mutex.lock();
}

DriverLock::~DriverLock() {
  if (locked_) driver_mutex.unlock();
}

Device* find_device(CUdevice ordinal) {
  auto& devices = driver().devices;
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()) return nullptr;
  return devices[static_cast<std::size_t>(ordinal)].get();
}

Device* find_physical_device(int physical) {
  for (const auto& device : driver().devices) {
    if (device->physical == physical) return device.get();
  }
  return nullptr;
}

CUresult current_context(Context*& context) {
  context = context_stack().top();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  return context->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

Context* find_context(CUcontext handle) {
  return driver().context_handles.count(handle) != 0 ? reinterpret_cast<Context*>(handle) : nullptr;
}

Allocation* find_allocation(std::uint64_t address) {
  auto& allocations = driver().allocations;
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return nullptr;
  Allocation& candidate = std::prev(next)->second;
  return address - candidate.address < candidate.bytes ? &candidate : nullptr;
}

void end_allocation(std::map<std::uint64_t, Allocation>::iterator it) {
  Allocation& allocation = it->second;
  Driver& state = driver();
  if (allocation.data) state.data_bytes -= allocation.bytes;
  switch (allocation.kind) {
    case MemoryKind::Linear:
      state.give(*allocation.device,
                 allocation.context->heap_of(allocation.address).release(allocation.address, allocation.bytes));
      break;
    case MemoryKind::Managed:
      end_managed(allocation);
      break;
    case MemoryKind::Pool:
      allocation.owner->take_back(allocation);
      break;
    case MemoryKind::IpcOpened:
    case MemoryKind::External:
      end_foreign(allocation);
      break;
    case MemoryKind::Host:
    case MemoryKind::RegisteredHost:
    case MemoryKind::Mapped:
      break;
  }
  state.allocations.erase(it);
}

}  // namespace vgsim
