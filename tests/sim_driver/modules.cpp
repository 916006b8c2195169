#include <unistd.h>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/handles.h"

namespace vgsim {
namespace {

// No image is read: every module has a function of every name, and no variables.
CUresult load(CUmodule* out) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!driver().take(*context->device, environment().module_bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  context->module_charge += environment().module_bytes;
  *out = handles().modules.add<CUmodule>(Module{context, {}});
  return CUDA_SUCCESS;
}

CUresult load_image(CUmodule* out, const void* image) { return image ? load(out) : CUDA_ERROR_INVALID_VALUE; }

CUresult load_file(CUmodule* out, const char* path) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  return access(path, R_OK) == 0 ? load(out) : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult unload(const void* handle) {
  const Module* module = handles().modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  handles().kernels.remove_if([&](const Kernel& kernel) { return kernel.module == module; });
  if (module->context) {
    driver().give(*module->context->device, environment().module_bytes);
    module->context->module_charge -= environment().module_bytes;
  }
  handles().modules.remove(handle);
  return CUDA_SUCCESS;
}

template <class Handle>
CUresult get_function(Handle* out, const void* module_handle, const char* name) {
  if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
  Module* module = handles().modules.find(module_handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (*name == '\0') return CUDA_ERROR_NOT_FOUND;
  Kernel*& kernel = module->kernels[name];
  if (!kernel) kernel = handles().kernels.add<Kernel*>(Kernel{module, name});
  *out = reinterpret_cast<Handle>(kernel);
  return CUDA_SUCCESS;
}

CUresult get_variable(const void* module, const char* name) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  return handles().modules.find(module) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUresult load_library(CUlibrary* out, const void* code) {
  if (!out || !code) return CUDA_ERROR_INVALID_VALUE;
  *out = handles().modules.add<CUlibrary>(Module{nullptr, {}});
  return CUDA_SUCCESS;
}

CUresult load_library_file(CUlibrary* out, const char* path) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  return access(path, R_OK) == 0 ? load_library(out, path) : CUDA_ERROR_FILE_NOT_FOUND;
}

// A library is its own module, and a kernel its own function.
template <class To, class From>
CUresult same_object(To* out, From from, bool exists) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!exists) return CUDA_ERROR_INVALID_HANDLE;
  *out = reinterpret_cast<To>(from);
  return CUDA_SUCCESS;
}

CUresult library_module(CUmodule* out, CUlibrary library) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return same_object(out, library, handles().modules.find(library) != nullptr);
}

CUresult kernel_function(CUfunction* out, CUkernel kernel) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return same_object(out, kernel, handles().kernels.find(kernel) != nullptr);
}

CUresult loading_mode(CUmoduleLoadingMode* out) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuModuleLoad, (CUmodule * out, const char* path), load_file(out, path))
VGSIM_API(cuModuleLoadData, (CUmodule * out, const void* image), load_image(out, image))
VGSIM_API(cuModuleLoadDataEx, (CUmodule * out, const void* image, unsigned int, CUjit_option*, void**),
          load_image(out, image))
VGSIM_API(cuModuleLoadFatBinary, (CUmodule * out, const void* image), load_image(out, image))
VGSIM_API(cuModuleUnload, (CUmodule module), unload(module))
VGSIM_API(cuModuleGetFunction, (CUfunction * out, CUmodule module, const char* name), get_function(out, module, name))
VGSIM_API(cuModuleGetGlobal, (CUdeviceptr_v1*, unsigned int*, CUmodule module, const char* name),
          get_variable(module, name))
VGSIM_API(cuModuleGetGlobal_v2, (CUdeviceptr*, std::size_t*, CUmodule module, const char* name),
          get_variable(module, name))
VGSIM_API(cuModuleGetLoadingMode, (CUmoduleLoadingMode * out), loading_mode(out))

VGSIM_API(cuLibraryLoadData,
          (CUlibrary * out, const void* code, CUjit_option*, void**, unsigned int, CUlibraryOption*, void**,
           unsigned int),
          load_library(out, code))
VGSIM_API(cuLibraryLoadFromFile,
          (CUlibrary * out, const char* path, CUjit_option*, void**, unsigned int, CUlibraryOption*, void**,
           unsigned int),
          load_library_file(out, path))
VGSIM_API(cuLibraryUnload, (CUlibrary library), unload(library))
VGSIM_API(cuLibraryGetKernel, (CUkernel * out, CUlibrary library, const char* name), get_function(out, library, name))
VGSIM_API(cuLibraryGetModule, (CUmodule * out, CUlibrary library), library_module(out, library))
VGSIM_API(cuLibraryGetGlobal, (CUdeviceptr*, std::size_t*, CUlibrary library, const char* name),
          get_variable(library, name))
VGSIM_API(cuLibraryGetManaged, (CUdeviceptr*, std::size_t*, CUlibrary library, const char* name),
          get_variable(library, name))
VGSIM_API(cuKernelGetFunction, (CUfunction * out, CUkernel kernel), kernel_function(out, kernel))
