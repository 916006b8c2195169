// Pools and pointers that go to other processes. The memory stays the exporter's and costs the importer nothing; what
// is written on one side is not seen on the other.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/memory_pools.h"

namespace vgsim {
namespace {

// What lies in the file that an exported descriptor leads to.
struct PoolTicket {
  std::uint64_t magic;
  std::uint64_t exporter_pid;
  std::uint64_t key;
  std::int32_t physical_device;  // -1: the host
  CUmemPoolProps props;

  static constexpr std::uint64_t kMagic = 0x7667'7369'6d70'6f6fULL;
};

// What lies in CUmemPoolPtrExportData.
struct PointerTicket {
  std::uint64_t magic;
  std::uint64_t exporter_pid;
  std::uint64_t key;
  std::uint64_t bytes;

  static constexpr std::uint64_t kMagic = 0x7667'7369'6d70'7472ULL;
};
static_assert(sizeof(PointerTicket) <= sizeof(CUmemPoolPtrExportData));

// Gives the addresses of an imported pointer back.
class ImportedMemory : public MemoryOwner {
 public:
  ImportedMemory(ChunkRanges& ranges, CUmemoryPool pool) : ranges_(&ranges), pool_(pool) {}
  void take_back(const Allocation& allocation) override {
    ranges_->give(allocation.address, chunks_of(allocation.bytes));
  }
  CUmemoryPool pool_handle() override { return pool_; }

 private:
  ChunkRanges* ranges_;
  CUmemoryPool pool_;
};

int write_ticket(const PoolTicket& ticket) {
  const int fd = memfd_create("vgsim-pool", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (pwrite(fd, &ticket, sizeof ticket, 0) == static_cast<ssize_t>(sizeof ticket)) return fd;
  close(fd);
  return -1;
}

CUresult export_pool(void* out, CUmemoryPool handle, CUmemAllocationHandleType type, unsigned long long flags) {
  const auto pool = find_pool(handle);
  if (!out || !pool || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || (pool->props.handleTypes & type) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const int physical = pool->device ? pool->device->physical : -1;
  const int fd = write_ticket(
      PoolTicket{PoolTicket::kMagic, static_cast<std::uint64_t>(getpid()), pool->key, physical, pool->props});
  if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(out) = fd;
  return CUDA_SUCCESS;
}

Device* device_with(int physical) {
  for (const auto& device : driver().devices) {
    if (device->physical == physical) return device.get();
  }
  return nullptr;
}

CUresult import_pool(CUmemoryPool* out, void* os_handle, CUmemAllocationHandleType type, unsigned long long flags) {
  if (!out || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  PoolTicket ticket{};
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
  if (pread(fd, &ticket, sizeof ticket, 0) != static_cast<ssize_t>(sizeof ticket) || ticket.magic != PoolTicket::kMagic)
    return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (ticket.physical_device >= 0) {
    device = device_with(ticket.physical_device);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    ticket.props.location.id = device->ordinal;
  }
  auto pool = std::make_unique<ImportedPool>(ImportedPool{ticket.exporter_pid, ticket.key, device, ticket.props});
  *out = reinterpret_cast<CUmemoryPool>(pool.get());
  pools().imported.emplace(pool.get(), std::move(pool));
  return CUDA_SUCCESS;
}

CUresult export_pointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  const auto found = driver().allocations.find(address);
  if (found == driver().allocations.end() || !found->second.owner) return CUDA_ERROR_INVALID_VALUE;
  const auto* pool = dynamic_cast<const MemoryPool*>(found->second.owner.get());
  if (!pool || (pool->props.handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const PointerTicket ticket{PointerTicket::kMagic, static_cast<std::uint64_t>(getpid()), pool->key,
                             found->second.bytes};
  *out = {};
  std::memcpy(out->reserved, &ticket, sizeof ticket);
  return CUDA_SUCCESS;
}

CUresult import_pointer(CUdeviceptr* out, CUmemoryPool handle, const CUmemPoolPtrExportData* data) {
  const ImportedPool* pool = find_imported_pool(handle);
  if (!out || !pool || !data) return CUDA_ERROR_INVALID_VALUE;
  PointerTicket ticket{};
  std::memcpy(&ticket, data->reserved, sizeof ticket);
  if (ticket.magic != PointerTicket::kMagic || ticket.exporter_pid != pool->exporter_pid || ticket.key != pool->key)
    return CUDA_ERROR_INVALID_VALUE;
  if (!pool->device) return CUDA_ERROR_NOT_SUPPORTED;
  ChunkRanges& ranges = pool_ranges(*pool->device);
  const auto address = ranges.take(chunks_of(ticket.bytes));
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  add_owned(*address, ticket.bytes, pool->device, std::make_shared<ImportedMemory>(ranges, handle));
  *out = *address;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemPoolExportToShareableHandle,
          (void* out, CUmemoryPool pool, CUmemAllocationHandleType type, unsigned long long flags),
          export_pool(out, pool, type, flags))
VGSIM_API(cuMemPoolImportFromShareableHandle,
          (CUmemoryPool * out, void* os_handle, CUmemAllocationHandleType type, unsigned long long flags),
          import_pool(out, os_handle, type, flags))
VGSIM_API(cuMemPoolExportPointer, (CUmemPoolPtrExportData * out, CUdeviceptr address), export_pointer(out, address))
VGSIM_API(cuMemPoolImportPointer, (CUdeviceptr * out, CUmemoryPool pool, CUmemPoolPtrExportData* data),
          import_pointer(out, pool, data))
