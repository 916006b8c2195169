// Our own header of the driver's types and our tables of its functions, compared with cuda.h.
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "shim/entry.h"

// Expanded once with our names and once with those of cuda.h.
#define VG_COMPARED_VALUES                                                                                          \
  CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_INITIALIZED,                     \
      CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_PERMITTED,         \
      CU_STREAM_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_MODE_RELAXED, CU_MEM_LOCATION_TYPE_DEVICE,                   \
      CU_MEM_LOCATION_TYPE_HOST, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,            \
      CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, CU_LIMIT_STACK_SIZE, CU_GRAPH_NODE_TYPE_GRAPH,                        \
      CU_GRAPH_NODE_TYPE_MEM_ALLOC, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_CUBEMAP, \
      CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,                     \
      CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, CU_DEVICE_CPU

// Where the members lie that we read or fill in.
#define VG_COMPARED_OFFSETS                                                                                   \
  offsetof(CUmemPoolProps, location.type), offsetof(CUmemPoolProps, location.id),                             \
      offsetof(CUmemAllocationProp, location.type), offsetof(CUmemAllocationProp, location.id),               \
      offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, poolProps), offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize),        \
      sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), offsetof(CUgraphNodeParams, type),                                  \
      offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, flags), offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream), \
      offsetof(CUDA_ARRAY_DESCRIPTOR, Height), offsetof(CUDA_ARRAY_DESCRIPTOR, Format),                       \
      offsetof(CUDA_ARRAY_DESCRIPTOR, NumChannels), sizeof(CUDA_ARRAY_DESCRIPTOR),                            \
      offsetof(CUDA_ARRAY_DESCRIPTOR_v1, Format), sizeof(CUDA_ARRAY_DESCRIPTOR_v1),                           \
      offsetof(CUDA_ARRAY3D_DESCRIPTOR, Depth), offsetof(CUDA_ARRAY3D_DESCRIPTOR, Format),                    \
      offsetof(CUDA_ARRAY3D_DESCRIPTOR, Flags), sizeof(CUDA_ARRAY3D_DESCRIPTOR),                              \
      offsetof(CUDA_ARRAY3D_DESCRIPTOR_v1, Flags), sizeof(CUDA_ARRAY3D_DESCRIPTOR_v1),                        \
      offsetof(CUDA_ARRAY_MEMORY_REQUIREMENTS, size), sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS)

// Ours first, under names that cuda.h does not touch: it turns many of the driver's names into macros.
namespace ours {

using namespace vramguard::abi;

#define VG_DRIVER_FUNCTION(symbol, since, parameters) using type_of_##symbol = CUresult parameters;
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
#define VG_DRIVER_QUERY(symbol, parameters) using type_of_##symbol = CUresult parameters;
#include "shim/driver_queries.inc"
#undef VG_DRIVER_QUERY

constexpr long kValues[] = {VG_COMPARED_VALUES};
constexpr std::size_t kOffsets[] = {VG_COMPARED_OFFSETS};

}  // namespace ours

// With it cuda.h also declares the functions of older versions, and no macros.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <catch2/catch.hpp>

namespace {

constexpr long kValues[] = {VG_COMPARED_VALUES};
constexpr std::size_t kOffsets[] = {VG_COMPARED_OFFSETS};

// What a caller's registers and memory know of a type: its size, and where it points what lies there.
template <typename Type>
std::string shape() {
  if constexpr (std::is_pointer_v<Type>) {
    using Pointee = std::remove_cv_t<std::remove_pointer_t<Type>>;
    if constexpr (std::is_pointer_v<Pointee>) return "pointer to a pointer";
    if constexpr (std::is_void_v<Pointee>) return "pointer";
    if constexpr (std::is_class_v<Pointee> && !std::is_same_v<Pointee, CUuuid> &&
                  !std::is_same_v<Pointee, ours::CUuuid>) {
      return "pointer to a struct";  // that we pass through unread
    }
    if constexpr (requires { sizeof(Pointee); }) {
      return "pointer to " + std::to_string(sizeof(Pointee));
    }
    return "pointer to a struct";
  } else {
    return std::string(std::is_unsigned_v<Type> && !std::is_enum_v<Type> ? "unsigned " : "") +
           std::to_string(sizeof(Type));
  }
}

template <typename Function>
struct Signature;
template <typename Result, typename... Parameters>
struct Signature<Result(Parameters...)> {
  static std::vector<std::string> shapes() { return {shape<Result>(), shape<Parameters>()...}; }
};

struct Comparison {
  std::string symbol;
  std::vector<std::string> ours, theirs;
};

const std::vector<Comparison> kComparisons = {
// Made from cuda.h and our tables: VRAMGUARD_COMPARE(symbol) for each function that both have.
#define VRAMGUARD_COMPARE(symbol) \
  {#symbol, Signature<ours::type_of_##symbol>::shapes(), Signature<decltype(::symbol)>::shapes()},
#include "compared_functions.inc"
#undef VRAMGUARD_COMPARE
};

}  // namespace

TEST_CASE("the driver's values and sizes that we use are those of cuda.h") {
  for (std::size_t i = 0; i < std::size(kValues); ++i) CHECK(ours::kValues[i] == kValues[i]);
  for (std::size_t i = 0; i < std::size(kOffsets); ++i) CHECK(ours::kOffsets[i] == kOffsets[i]);
  CHECK(sizeof(ours::CUresult) == sizeof(CUresult));
  CHECK(sizeof(ours::CUdevice) == sizeof(CUdevice));
  CHECK(sizeof(ours::CUdeviceptr) == sizeof(CUdeviceptr));
  CHECK(sizeof(ours::CUdeviceptr_v1) == sizeof(CUdeviceptr_v1));
  CHECK(sizeof(ours::CUcontext) == sizeof(CUcontext));
  CHECK(sizeof(ours::CUstream) == sizeof(CUstream));
  CHECK(sizeof(ours::cuuint64_t) == sizeof(cuuint64_t));
  CHECK(sizeof(ours::CUuuid) == sizeof(CUuuid));
  CHECK(sizeof(ours::CUstreamCaptureStatus) == sizeof(CUstreamCaptureStatus));
  CHECK(sizeof(ours::CUstreamCaptureMode) == sizeof(CUstreamCaptureMode));
  CHECK(sizeof(ours::CUdriverProcAddressQueryResult) == sizeof(CUdriverProcAddressQueryResult));
}

TEST_CASE("the functions of our tables have the signatures of cuda.h") {
  CHECK(kComparisons.size() > 25);
  for (const Comparison& comparison : kComparisons) {
    CAPTURE(comparison.symbol);
    CHECK(comparison.ours == comparison.theirs);
  }
}
