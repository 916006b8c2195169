#include "tests/sim_driver/contexts.h"

#include "tests/sim_driver/array_objects.h"
#include "tests/sim_driver/call.h"
#include "tests/sim_driver/context_stack.h"
#include "tests/sim_driver/foreign_memory.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/synchronisation.h"

namespace vgsim {

CUresult start_context(Context& context) {
  if (!driver().take(*context.device, kContextBytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  context.heap = std::make_unique<LinearHeap>(context.device->space);
  context.low_heap = std::make_unique<LinearHeap>(context.device->low_space);
  context.stack_bytes = kDefaultStackBytes;
  context.limits.clear();
  context.alive = true;
  return CUDA_SUCCESS;
}

void end_context(Context& context) {
  auto& allocations = driver().allocations;
  for (auto it = allocations.begin(); it != allocations.end();) {
    const auto next = std::next(it);
    const bool ends =
        it->second.kind == MemoryKind::Linear || it->second.kind == MemoryKind::Managed || is_foreign(it->second);
    if (ends && it->second.context == &context) end_allocation(it);
    it = next;
  }
  end_handles_of(context);
  end_arrays_of(context);
  driver().give(*context.device, kContextBytes + context.stack_charge + context.module_charge);
  context.heap.reset();
  context.low_heap.reset();
  context.stack_charge = 0;
  context.module_charge = 0;
  context.peers.clear();
  context.alive = false;
}

namespace {

CUresult create_context(CUcontext* out, unsigned int flags, CUdevice ordinal, unsigned int api_version) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  auto context = std::make_unique<Context>();
  context->device = device;
  context->flags = flags;
  context->api_version = api_version;
  context->id = driver().next_id++;
  if (context_stack().depth == ContextStack::kMaxDepth) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult result = start_context(*context); result != CUDA_SUCCESS) return result;
  context_stack().push(context.get());
  driver().context_handles.insert(context.get());
  *out = handle_of(context.get());
  driver().contexts.push_back(std::move(context));
  return CUDA_SUCCESS;
}

CUresult destroy_context(CUcontext handle) {
  Context* context = find_context(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  end_context(*context);
  if (context_stack().top() == context) context_stack().pop();
  return CUDA_SUCCESS;
}

CUresult set_current(CUcontext handle) {
  ContextStack& stack = context_stack();
  if (!handle) {
    if (stack.depth > 0) stack.pop();
    return CUDA_SUCCESS;
  }
  Context* context = find_context(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (stack.depth > 0) stack.pop();
  stack.push(context);
  return CUDA_SUCCESS;
}

CUresult push_current(CUcontext handle) {
  Context* context = find_context(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return context_stack().push(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult pop_current(CUcontext* out) {
  ContextStack& stack = context_stack();
  if (stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (out) *out = handle_of(stack.top());
  stack.pop();
  return CUDA_SUCCESS;
}

CUresult get_current(CUcontext* out) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = handle_of(context_stack().top());
  return CUDA_SUCCESS;
}

CUresult get_device(CUdevice* out) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = context->device->ordinal;
  return CUDA_SUCCESS;
}

// The context of a handle, or the current one where the handle is NULL.
CUresult context_or_current(CUcontext handle, Context*& context) {
  if (!handle) return current_context(context);
  context = find_context(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  return context->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

// Writes get(context) of the current context, or of `handle` where one is given.
template <class Value, class Get>
CUresult query(CUcontext handle, Value* out, Get get) {
  Context* context = nullptr;
  if (const CUresult result = context_or_current(handle, context); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = get(*context);
  return CUDA_SUCCESS;
}

CUresult need_context(CUcontext handle = nullptr) {
  Context* context = nullptr;
  return context_or_current(handle, context);
}

CUresult wait_for(CUcontext handle = nullptr) {
  const CUresult result = need_context(handle);
  if (result == CUDA_SUCCESS) synchronise();
  return result;
}

CUresult set_flags(unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult priority_range(int* least, int* greatest) {
  if (const CUresult result = need_context(); result != CUDA_SUCCESS) return result;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuCtxCreate, (CUcontext * out, unsigned int flags, CUdevice device), create_context(out, flags, device, 3010))
VGSIM_API(cuCtxCreate_v2, (CUcontext * out, unsigned int flags, CUdevice device),
          create_context(out, flags, device, 3020))
VGSIM_API(cuCtxCreate_v3, (CUcontext * out, CUexecAffinityParam*, int, unsigned int flags, CUdevice device),
          create_context(out, flags, device, 3020))
VGSIM_API(cuCtxCreate_v4, (CUcontext * out, CUctxCreateParams*, unsigned int flags, CUdevice device),
          create_context(out, flags, device, 3020))
VGSIM_API(cuCtxDestroy, (CUcontext context), destroy_context(context))
VGSIM_API(cuCtxDestroy_v2, (CUcontext context), destroy_context(context))
VGSIM_API(cuCtxSetCurrent, (CUcontext context), set_current(context))
VGSIM_API(cuCtxGetCurrent, (CUcontext * out), get_current(out))
VGSIM_API(cuCtxPushCurrent, (CUcontext context), push_current(context))
VGSIM_API(cuCtxPushCurrent_v2, (CUcontext context), push_current(context))
VGSIM_API(cuCtxPopCurrent, (CUcontext * out), pop_current(out))
VGSIM_API(cuCtxPopCurrent_v2, (CUcontext * out), pop_current(out))
VGSIM_API(cuCtxGetDevice, (CUdevice * out), get_device(out))
VGSIM_API(cuCtxGetDevice_v2, (CUdevice * out, CUcontext context),
          query(context, out, [](Context& c) { return c.device->ordinal; }))
VGSIM_API(cuCtxSynchronize, (), wait_for())
VGSIM_API(cuCtxSynchronize_v2, (CUcontext context), wait_for(context))
VGSIM_API(cuCtxGetApiVersion, (CUcontext context, unsigned int* out),
          query(context, out, [](Context& c) { return c.api_version; }))
VGSIM_API(cuCtxGetFlags, (unsigned int* out), query(nullptr, out, [](Context& c) { return c.flags; }))
VGSIM_API(cuCtxSetFlags, (unsigned int flags), set_flags(flags))
VGSIM_API(cuCtxGetId, (CUcontext context, unsigned long long* out),
          query(context, out, [](Context& c) { return c.id; }))
VGSIM_API(cuCtxGetStreamPriorityRange, (int* least, int* greatest), priority_range(least, greatest))
VGSIM_API(cuCtxGetCacheConfig, (CUfunc_cache * out),
          query(nullptr, out, [](Context&) { return CU_FUNC_CACHE_PREFER_NONE; }))
VGSIM_API(cuCtxSetCacheConfig, (CUfunc_cache), need_context())
VGSIM_API(cuCtxGetSharedMemConfig, (CUsharedconfig * out),
          query(nullptr, out, [](Context&) { return CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE; }))
VGSIM_API(cuCtxSetSharedMemConfig, (CUsharedconfig), need_context())
VGSIM_API(cuCtxResetPersistingL2Cache, (), need_context())
