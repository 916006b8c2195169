// Pinned host memory under a budget of its own. It takes nothing of any device.
#include "shim/driver.h"
#include "shim/process.h"

namespace vramguard::entry {

namespace {

std::uint64_t number_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

// `call` makes the driver's call, which pins `bytes` at *memory. Without a limit nothing is noted.
template <typename Call>
CUresult pin(const char* api, void* const* memory, Bytes bytes, Call&& call) {
  Guard* guard = vramguard::guard();
  if (guard == nullptr || memory == nullptr || !guard->pinned().limited()) return call();
  if (!guard->pinned().reserve(bytes)) {
    guard->pinned_refused(api, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUresult result = call();
  if (result != CUDA_SUCCESS || !guard->pinned().add(number_of(*memory), bytes)) guard->pinned().give_back(bytes);
  return result;
}

// The record goes first: another thread may get the same address. It comes back where the driver refuses.
template <typename Call>
CUresult unpin(const void* memory, Call&& call) {
  Guard* guard = vramguard::guard();
  if (guard == nullptr || !guard->pinned().limited()) return call();
  const std::optional<Bytes> bytes = guard->pinned().take(number_of(memory));
  const CUresult result = call();
  if (!bytes) return result;
  if (result == CUDA_SUCCESS || !guard->pinned().add(number_of(memory), *bytes)) guard->pinned().give_back(*bytes);
  return result;
}

}  // namespace

CUresult cuMemAllocHost(void** memory, unsigned int bytes) {
  return pin("cuMemAllocHost", memory, bytes, [=] { return forward(&DriverFunctions::cuMemAllocHost, memory, bytes); });
}

CUresult cuMemAllocHost_v2(void** memory, size_t bytes) {
  return pin("cuMemAllocHost_v2", memory, bytes,
             [=] { return forward(&DriverFunctions::cuMemAllocHost_v2, memory, bytes); });
}

CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags) {
  return pin("cuMemHostAlloc", memory, bytes,
             [=] { return forward(&DriverFunctions::cuMemHostAlloc, memory, bytes, flags); });
}

CUresult cuMemFreeHost(void* memory) {
  return unpin(memory, [=] { return forward(&DriverFunctions::cuMemFreeHost, memory); });
}

CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned int flags) {
  return pin("cuMemHostRegister", &memory, bytes,
             [=] { return forward(&DriverFunctions::cuMemHostRegister, memory, bytes, flags); });
}

CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned int flags) {
  return pin("cuMemHostRegister_v2", &memory, bytes,
             [=] { return forward(&DriverFunctions::cuMemHostRegister_v2, memory, bytes, flags); });
}

CUresult cuMemHostUnregister(void* memory) {
  return unpin(memory, [=] { return forward(&DriverFunctions::cuMemHostUnregister, memory); });
}

}  // namespace vramguard::entry
