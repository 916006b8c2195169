#include <fcntl.h>
#include <unistd.h>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/foreign_memory.h"
#include "tests/sim_driver/handles.h"

// Memory of a graphics interface. It is that interface's, so it costs nothing here, whatever the descriptor is.
namespace vgsim {
namespace {

struct ExternalMemory {
  std::uint64_t bytes;
  int fd;
};

HandleTable<ExternalMemory>& imported() {
  static auto* const all = new HandleTable<ExternalMemory>;
  return *all;
}

// The descriptor is the driver's from then on.
CUresult import(CUexternalMemory* out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1* wanted) {
  if (!out || !wanted || wanted->size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (wanted->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) return CUDA_ERROR_NOT_SUPPORTED;
  if (fcntl(wanted->handle.fd, F_GETFD) < 0) return CUDA_ERROR_INVALID_VALUE;
  *out = imported().add<CUexternalMemory>(ExternalMemory{wanted->size, wanted->handle.fd});
  return CUDA_SUCCESS;
}

CUresult map_buffer(CUdeviceptr* out, CUexternalMemory handle, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1* wanted) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const ExternalMemory* memory = imported().find(handle);
  if (!memory) return CUDA_ERROR_INVALID_HANDLE;
  if (!out || !wanted || wanted->flags != 0 || wanted->size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (wanted->offset > memory->bytes || wanted->size > memory->bytes - wanted->offset) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = add_foreign(MemoryKind::External, *context, *context->device, wanted->size);
  if (!allocation) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = allocation->address;
  return CUDA_SUCCESS;
}

CUresult destroy(CUexternalMemory handle) {
  const ExternalMemory* memory = imported().find(handle);
  if (!memory) return CUDA_ERROR_INVALID_HANDLE;
  close(memory->fd);
  imported().remove(handle);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuImportExternalMemory, (CUexternalMemory * out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1* wanted),
          import(out, wanted))
VGSIM_API(cuExternalMemoryGetMappedBuffer,
          (CUdeviceptr * out, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1* wanted),
          map_buffer(out, memory, wanted))
VGSIM_API(cuDestroyExternalMemory, (CUexternalMemory memory), destroy(memory))
