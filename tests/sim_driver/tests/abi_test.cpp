#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// All forms of every function, the old ones and those of per-thread streams too.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#if CUDA_VERSION >= 13000

namespace ours {
#define VGSIM_DECLARE_WITHOUT_LINKAGE
#include "tests/sim_driver/api.h"
}  // namespace ours

namespace {

template <class A, class B>
constexpr bool same_kind() {
  return sizeof(A) == sizeof(B) && alignof(A) == alignof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
         std::is_class_v<A> == std::is_class_v<B>;
}

template <class... A, class... B>
constexpr bool same_signature(ours::CUresult (*)(A...), ::CUresult (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B))
    return (same_kind<A, B>() && ...);
  else
    return false;
}

#define VGSIM_NOT_SIMULATED(symbol, base, version, stream)
#define VGSIM_FUNCTION(symbol, base, version, stream) \
  static_assert(                                      \
      same_signature(static_cast<decltype(&ours::symbol)>(nullptr), static_cast<decltype(&::symbol)>(nullptr)));
#include "tests/sim_driver/functions.inc"
#undef VGSIM_FUNCTION
#undef VGSIM_NOT_SIMULATED

#define VGSIM_ERROR(name, value, text) static_assert(static_cast<int>(ours::name) == static_cast<int>(::name));
#include "tests/sim_driver/error_codes.inc"
#undef VGSIM_ERROR

#define VGSIM_ATTRIBUTE(name, number, value) static_assert(static_cast<int>(ours::name) == static_cast<int>(::name));
#include "tests/sim_driver/device_attributes.inc"
#undef VGSIM_ATTRIBUTE

#define SAME_LAYOUT(type, last) \
  static_assert(sizeof(ours::type) == sizeof(::type) && offsetof(ours::type, last) == offsetof(::type, last))
SAME_LAYOUT(CUuuid, bytes);
SAME_LAYOUT(CUDA_MEMCPY2D_v1, Height);
SAME_LAYOUT(CUDA_MEMCPY2D_v2, Height);
SAME_LAYOUT(CUdevprop_v1, textureAlign);
SAME_LAYOUT(CUlaunchConfig, numAttrs);
SAME_LAYOUT(CUmemLocation_v1, id);

#define SAME_VALUE(name) static_assert(static_cast<int>(ours::name) == static_cast<int>(::name))
SAME_VALUE(CU_MEMORYTYPE_HOST);
SAME_VALUE(CU_MEMORYTYPE_UNIFIED);
SAME_VALUE(CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
SAME_VALUE(CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
SAME_VALUE(CU_MEM_ADVISE_UNSET_ACCESSED_BY);
SAME_VALUE(CU_MEM_ATTACH_GLOBAL);
SAME_VALUE(CU_MEM_ATTACH_HOST);
SAME_VALUE(CU_LIMIT_STACK_SIZE);
SAME_VALUE(CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
SAME_VALUE(CU_MODULE_LAZY_LOADING);
SAME_VALUE(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME_VALUE(CU_FUNCTION_LOADING_STATE_LOADED);
SAME_VALUE(CU_POINTER_ATTRIBUTE_CONTEXT);
SAME_VALUE(CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_VALUE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_VALUE(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
SAME_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);

}  // namespace

TEST_CASE("types, values and signatures are those of cuda.h") { SUCCEED("compared by the compiler"); }

#else

TEST_CASE("types, values and signatures are those of cuda.h") { WARN("skipped: cuda.h is older than CUDA 13.0"); }

#endif
