#include <unistd.h>

#include <cstring>
#include <map>
#include <tuple>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/foreign_memory.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/process_life.h"

namespace vgsim {
namespace {

constexpr std::uint64_t kMemoryMagic = 0x7667'7369'6d6d'656dULL;
constexpr std::uint64_t kEventMagic = 0x7667'7369'6d65'7674ULL;

// What the 64 bytes of a handle hold: whose memory, or event, it is.
struct Ticket {
  std::uint64_t magic;
  std::int32_t pid;
  std::int32_t physical_device;
  std::uint64_t start_time;
  std::uint64_t id;  // of the allocation
  std::uint64_t bytes;
};
static_assert(sizeof(Ticket) <= sizeof(CUipcMemHandle) && sizeof(Ticket) <= sizeof(CUipcEventHandle));

template <class Handle>
Handle sealed(const Ticket& ticket) {
  Handle handle{};
  std::memcpy(handle.reserved, &ticket, sizeof ticket);
  return handle;
}

template <class Handle>
Ticket opened(const Handle& handle) {
  Ticket ticket{};
  std::memcpy(&ticket, handle.reserved, sizeof ticket);
  return ticket;
}

Ticket own_ticket(std::uint64_t magic, const Device& device) {
  return {magic, getpid(), device.physical, process_start_time(getpid()), 0, 0};
}

bool is_own(const Ticket& ticket) {
  return ticket.pid == getpid() && ticket.start_time == process_start_time(getpid());
}

// What the current contexts have opened, so that a second opening finds the first.
struct Opening {
  CUdeviceptr address;
  std::uint64_t count;
};
using OpenedKey = std::tuple<Context*, std::int32_t, std::uint64_t, std::uint64_t>;  // context, pid, start time, id

struct Openings {
  std::map<OpenedKey, Opening> by_key;
  std::map<CUdeviceptr, OpenedKey> by_address;
};

Openings& openings() {
  static auto* const all = new Openings;
  return *all;
}

// A pointer inside an allocation stands for all of it.
CUresult get_memory_handle(CUipcMemHandle* out, CUdeviceptr address) {
  const Allocation* allocation = find_allocation(address);
  if (!out || !allocation || allocation->kind != MemoryKind::Linear) return CUDA_ERROR_INVALID_VALUE;
  Ticket ticket = own_ticket(kMemoryMagic, *allocation->device);
  ticket.id = allocation->id;
  ticket.bytes = allocation->bytes;
  *out = sealed<CUipcMemHandle>(ticket);
  return CUDA_SUCCESS;
}

CUresult open_memory(CUdeviceptr* out, const CUipcMemHandle& handle, unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const Ticket ticket = opened(handle);
  if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || ticket.magic != kMemoryMagic)
    return CUDA_ERROR_INVALID_VALUE;
  if (is_own(ticket)) return CUDA_ERROR_INVALID_CONTEXT;
  Device* device = find_physical_device(ticket.physical_device);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  const OpenedKey key{context, ticket.pid, ticket.start_time, ticket.id};
  if (const auto known = openings().by_key.find(key); known != openings().by_key.end()) {
    ++known->second.count;
    *out = known->second.address;
    return CUDA_SUCCESS;
  }
  if (!process_is_alive(ticket.pid, ticket.start_time)) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = add_foreign(MemoryKind::IpcOpened, *context, *device, ticket.bytes);
  if (!allocation) return CUDA_ERROR_MAP_FAILED;
  openings().by_key[key] = {allocation->address, 1};
  openings().by_address[allocation->address] = key;
  *out = allocation->address;
  return CUDA_SUCCESS;
}

CUresult close_memory(CUdeviceptr address) {
  const auto known = openings().by_address.find(address);
  if (known == openings().by_address.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--openings().by_key[known->second].count == 0) end_allocation(driver().allocations.find(address));
  return CUDA_SUCCESS;
}

CUresult get_event_handle(CUipcEventHandle* out, CUevent handle) {
  const Event* event = handles().events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  constexpr unsigned int kNeeded = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  if ((event->flags & kNeeded) != kNeeded) return CUDA_ERROR_INVALID_HANDLE;
  *out = sealed<CUipcEventHandle>(own_ticket(kEventMagic, *event->context->device));
  return CUDA_SUCCESS;
}

// An event of this process that is as done as all work is: nothing is known of the other process's.
CUresult open_event(CUevent* out, const CUipcEventHandle& handle) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const Ticket ticket = opened(handle);
  if (!out || ticket.magic != kEventMagic) return CUDA_ERROR_INVALID_VALUE;
  if (is_own(ticket)) return CUDA_ERROR_INVALID_CONTEXT;
  *out = handles().events.add<CUevent>(Event{context, CU_EVENT_DISABLE_TIMING, false, 0, nullptr});
  return CUDA_SUCCESS;
}

}  // namespace

void forget_opened(const Allocation& allocation) {
  const auto known = openings().by_address.find(allocation.address);
  if (known == openings().by_address.end()) return;
  openings().by_key.erase(known->second);
  openings().by_address.erase(known);
}

}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuIpcGetMemHandle, (CUipcMemHandle * out, CUdeviceptr address), get_memory_handle(out, address))
VGSIM_API(cuIpcOpenMemHandle, (CUdeviceptr * out, CUipcMemHandle handle, unsigned int flags),
          open_memory(out, handle, flags))
VGSIM_API(cuIpcOpenMemHandle_v2, (CUdeviceptr * out, CUipcMemHandle handle, unsigned int flags),
          open_memory(out, handle, flags))
VGSIM_API(cuIpcCloseMemHandle, (CUdeviceptr address), close_memory(address))
VGSIM_API(cuIpcGetEventHandle, (CUipcEventHandle * out, CUevent event), get_event_handle(out, event))
VGSIM_API(cuIpcOpenEventHandle, (CUevent * out, CUipcEventHandle handle), open_event(out, handle))
