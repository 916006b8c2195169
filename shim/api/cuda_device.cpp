#include "shim/api/cuda_device.h"

#include "core/memory_error.h"

#include "shim/api/preload_guard.h"
#include "shim/driver_abi.h"

#include <dlfcn.h>

#include <cstdio>
#include <memory>
#include <string>

namespace vramguard {

using namespace abi;

struct CudaDevice::Driver {
#define VG_CUDA_FUNCTION(symbol, parameters) CUresult(*symbol) parameters = nullptr;
#define VG_OPTIONAL_CUDA_FUNCTION(symbol, parameters) VG_CUDA_FUNCTION(symbol, parameters)
#include "shim/api/cuda_functions.inc"
#undef VG_OPTIONAL_CUDA_FUNCTION
#undef VG_CUDA_FUNCTION

  // Never unloaded: a driver cannot be.
  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      throw DeviceError(std::string("no CUDA driver: ") + (why != nullptr ? why : "libcuda.so.1 cannot be loaded") +
                        "; is NVIDIA's driver installed, and visible in this container?");
    }
#define VG_CUDA_FUNCTION(symbol, parameters)    \
  VG_OPTIONAL_CUDA_FUNCTION(symbol, parameters) \
  require(symbol != nullptr, #symbol);
#define VG_OPTIONAL_CUDA_FUNCTION(symbol, parameters) find(symbol, library, #symbol);
#include "shim/api/cuda_functions.inc"
#undef VG_OPTIONAL_CUDA_FUNCTION
#undef VG_CUDA_FUNCTION
  }

  // Throws DeviceError unless `result` is CUDA_SUCCESS.
  void check(CUresult result, const char* function, Bytes requested = 0) const {
    if (result == CUDA_SUCCESS) return;
    const char *name = nullptr, *words = nullptr;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
    if (cuGetErrorString(result, &words) != CUDA_SUCCESS || words == nullptr) words = "the driver has no words for it";
    throw DeviceError(
        std::string(function) + " failed: " + name + " (" + std::to_string(static_cast<int>(result)) + "), " + words,
        static_cast<int>(result), requested);
  }

 private:
  template <typename Function>
  static void find(Function& slot, void* library, const char* name) {
    slot = reinterpret_cast<Function>(dlsym(library, name));
  }
  static void require(bool there, const char* name) {
    if (!there) throw DeviceError(std::string("the CUDA driver is too old: it has no ") + name);
  }
};

const CudaDevice::Driver& CudaDevice::driver() {
  static const Driver* const loaded = [] {
    auto made = std::make_unique<Driver>();
    made->check(made->cuInit(0), "cuInit");
    return made.release();  // never destroyed: buffers may be freed by the last static destructor
  }();
  return *loaded;
}

// A context of the device is current on this thread while this lives.
class CudaDevice::InContext {
 public:
  explicit InContext(const CudaDevice& device) : driver_(device.driver_) {
    CUdevice current = -1;
    if (driver_.cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device.device_) return;
    driver_.check(driver_.cuCtxPushCurrent_v2(static_cast<CUcontext>(device.primary_context_)), "cuCtxPushCurrent");
    pushed_ = true;
  }
  ~InContext() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&popped);
  }
  InContext(const InContext&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

namespace {

std::string text_of(const CUuuid& uuid) {
  std::string text = "GPU";
  char byte[4];
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += byte;
  }
  return text;
}

}  // namespace

CudaDevice::CudaDevice(int ordinal) : driver_(driver()) {
  driver_.check(driver_.cuDeviceGet(&device_, ordinal), "cuDeviceGet");
  description_.ordinal = ordinal;
  char text[256] = "";
  if (driver_.cuDeviceGetName(text, sizeof text, device_) == CUDA_SUCCESS) description_.name = text;
  CUuuid uuid{};
  if (driver_.cuDeviceGetUuid(&uuid, device_) == CUDA_SUCCESS) description_.uuid = text_of(uuid);
  if (driver_.cuDeviceGetPCIBusId(text, sizeof text, device_) == CUDA_SUCCESS) description_.pci_bus_id = text;
  std::size_t total = 0;
  driver_.check(driver_.cuDeviceTotalMem_v2(&total, device_), "cuDeviceTotalMem");
  description_.total_bytes = total;
  CUcontext context = nullptr;
  driver_.check(driver_.cuDevicePrimaryCtxRetain(&context, device_), "cuDevicePrimaryCtxRetain");
  primary_context_ = context;
}

CudaDevice::~CudaDevice() { driver_.cuDevicePrimaryCtxRelease_v2(device_); }

int CudaDevice::count() {
  int count = 0;
  driver().check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

std::optional<Bytes> CudaDevice::free_bytes() noexcept try {
  const InContext context(*this);
  std::size_t free = 0, total = 0;
  if (driver_.cuMemGetInfo_v2(&free, &total) != CUDA_SUCCESS) return std::nullopt;
  return free;
} catch (...) {
  return std::nullopt;
}

bool CudaDevice::trim() noexcept {
  const Bytes before = free_bytes().value_or(0);
  CUmemoryPool pool = nullptr;
  if (driver_.cuMemPoolTrimTo != nullptr) {
    for (const auto which : {driver_.cuDeviceGetDefaultMemPool, driver_.cuDeviceGetMemPool}) {
      if (which != nullptr && which(&pool, device_) == CUDA_SUCCESS) driver_.cuMemPoolTrimTo(pool, 0);
    }
  }
  if (driver_.cuDeviceGraphMemTrim != nullptr) driver_.cuDeviceGraphMemTrim(device_);
  return free_bytes().value_or(0) > before;
}

std::optional<Device::Chunk> CudaDevice::take_chunk(Bytes bytes) noexcept {
  if (driver_.cuMemCreate == nullptr || driver_.cuMemRelease == nullptr) return std::nullopt;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  CUmemGenericAllocationHandle handle = 0;
  if (driver_.cuMemCreate(&handle, bytes, &prop, 0) != CUDA_SUCCESS) return std::nullopt;
  return handle;
}

void CudaDevice::give_chunk(Chunk chunk) noexcept { driver_.cuMemRelease(chunk); }

std::optional<DeviceAddress> CudaDevice::allocate(Bytes bytes) {
  const InContext context(*this);
  CUdeviceptr address = 0;
  const CUresult result = driver_.cuMemAlloc_v2(&address, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return std::nullopt;
  driver_.check(result, "cuMemAlloc", bytes);
  return address;
}

std::optional<DeviceAddress> CudaDevice::allocate_on_host(Bytes bytes) {
  const InContext context(*this);
  CUdeviceptr address = 0;
  const CUresult result = driver_.cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return std::nullopt;
  driver_.check(result, "cuMemAllocManaged", bytes);
  // Where the host cannot be its place it would land on the device after all.
  if (driver_.cuMemAdvise(address, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU) == CUDA_SUCCESS) {
    return address;
  }
  driver_.cuMemFree_v2(address);
  return std::nullopt;
}

// The driver may return before the device has the data: staged copies and memsets end in the stream.
void CudaDevice::copy_from_host(DeviceAddress to, const void* from, Bytes bytes) {
  const InContext context(*this);
  driver_.check(driver_.cuMemcpyHtoD_v2(to, from, bytes), "cuMemcpyHtoD", bytes);
  driver_.check(driver_.cuStreamSynchronize(nullptr), "cuStreamSynchronize", bytes);
}

void CudaDevice::fill_with_zeros(DeviceAddress address, Bytes bytes) {
  const InContext context(*this);
  driver_.check(driver_.cuMemsetD8_v2(address, 0, bytes), "cuMemsetD8", bytes);
  driver_.check(driver_.cuStreamSynchronize(nullptr), "cuStreamSynchronize", bytes);
}

void CudaDevice::free(DeviceAddress address) {
  const InContext context(*this);
  driver_.check(driver_.cuMemFree_v2(address), "cuMemFree");
}

std::shared_ptr<ProcessGuard> CudaDevice::process_guard() { return find_preload_guard(description_.ordinal); }

bool CudaDevice::is_in_host_memory(DeviceAddress address) noexcept {
  if (driver_.cuPointerGetAttribute == nullptr) return false;
  unsigned int managed = 0;
  return driver_.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS &&
         managed != 0;
}

}  // namespace vramguard
