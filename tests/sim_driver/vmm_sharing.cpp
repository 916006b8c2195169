#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/physical_memory.h"

namespace vgsim {
namespace {

// What lies in the file that an exported descriptor leads to.
struct Ticket {
  std::uint64_t magic;
  SharedMemoryKey key;
  std::uint64_t bytes;
  std::int32_t physical_device;  // -1: memory of the host
  CUmemAllocationProp prop;

  static constexpr std::uint64_t kMagic = 0x7667'7369'6d73'6872ULL;
};

int write_ticket(const Ticket& ticket) {
  const int fd = memfd_create("vgsim-memory", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (pwrite(fd, &ticket, sizeof ticket, 0) == static_cast<ssize_t>(sizeof ticket)) return fd;
  close(fd);
  return -1;
}

CUresult export_handle(void* out, CUmemGenericAllocationHandle value, CUmemAllocationHandleType type,
                       unsigned long long flags) {
  const auto handle = find_handle(value);
  if (!handle || !out || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  PhysicalMemory& memory = *handle->memory;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || (memory.properties().requestedHandleTypes & type) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const auto key = PhysicalMemory::share(handle->memory);
  if (!key) return CUDA_ERROR_OUT_OF_MEMORY;
  const int physical = memory.device() ? memory.device()->physical : -1;
  const int fd = write_ticket(Ticket{Ticket::kMagic, *key, memory.bytes(), physical, memory.properties()});
  if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(out) = fd;
  return CUDA_SUCCESS;
}

CUresult import_handle(CUmemGenericAllocationHandle* out, void* os_handle, CUmemAllocationHandleType type) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_MEM_HANDLE_TYPE_FABRIC) return CUDA_ERROR_NOT_PERMITTED;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  Ticket ticket{};
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
  if (pread(fd, &ticket, sizeof ticket, 0) != static_cast<ssize_t>(sizeof ticket) || ticket.magic != Ticket::kMagic)
    return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (ticket.physical_device >= 0) {
    device = find_physical_device(ticket.physical_device);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    ticket.prop.location.id = device->ordinal;
  }
  auto memory = PhysicalMemory::import(ticket.key, device, ticket.bytes, ticket.prop);
  if (!memory) return CUDA_ERROR_INVALID_VALUE;
  *out = add_handle(std::move(memory));
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemExportToShareableHandle,
          (void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags),
          export_handle(out, handle, type, flags))
VGSIM_API(cuMemImportFromShareableHandle,
          (CUmemGenericAllocationHandle * out, void* os_handle, CUmemAllocationHandleType type),
          import_handle(out, os_handle, type))
// There is no dma_buf that a simulated address could be given out as.
VGSIM_API(cuMemGetHandleForAddressRange,
          (void* out, CUdeviceptr, std::size_t, CUmemRangeHandleType, unsigned long long),
          out ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE)
