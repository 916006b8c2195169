#include <algorithm>
#include <cstring>
#include <iterator>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/driver_version.h"
#include "tests/sim_driver/environment.h"
#include "tests/sim_driver/proc_address.h"

// Only the addresses are wanted here, so the types do not matter.
#define VGSIM_FUNCTION(symbol, base, version, stream) extern "C" void vgsim_address_of_##symbol() __asm__(#symbol);
#define VGSIM_NOT_SIMULATED VGSIM_FUNCTION
#include "tests/sim_driver/functions.inc"
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION

namespace vgsim {
namespace {

enum class StreamKind { Legacy, PerThread };

struct Row {
  const char* symbol;
  const char* base;
  int version;
  StreamKind stream;
  void (*address)();
};

// Sorted by base, so that one name's rows lie together.
constexpr Row kRows[] = {
#define VGSIM_FUNCTION(symbol, base, version, stream) \
  {#symbol, #base, version, StreamKind::stream, &vgsim_address_of_##symbol},
#define VGSIM_NOT_SIMULATED VGSIM_FUNCTION
#include "tests/sim_driver/functions.inc"
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION
};

constexpr std::uint64_t kLegacyStream = 1;
constexpr std::uint64_t kPerThreadDefaultStream = 2;

struct ByBase {
  bool operator()(const Row& row, const char* name) const { return std::strcmp(row.base, name) < 0; }
  bool operator()(const char* name, const Row& row) const { return std::strcmp(name, row.base) < 0; }
};

bool is_there(const Row& row) { return row.version <= kDriverVersion && environment().missing.count(row.symbol) == 0; }

CUresult get_v1(const char* name, void** out, int version, cuuint64_t flags) {
  const ProcAddress found = find_proc_address(name, version, flags);
  if (found.problem == CUDA_ERROR_INVALID_VALUE || !out) return CUDA_ERROR_INVALID_VALUE;
  if (!found.address) return CUDA_ERROR_NOT_FOUND;
  *out = found.address;
  return CUDA_SUCCESS;
}

CUresult get_v2(const char* name, void** out, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  const ProcAddress found = find_proc_address(name, version, flags);
  if (found.problem == CUDA_ERROR_INVALID_VALUE || !out) return CUDA_ERROR_INVALID_VALUE;
  *out = found.address;
  if (status) *status = found.status;
  return CUDA_SUCCESS;
}

}  // namespace

// The newest function of the name that the version knows; among those of the same name, the one for the stream.
ProcAddress find_proc_address(const char* name, int version, std::uint64_t flags) {
  if (!name || flags > (kLegacyStream | kPerThreadDefaultStream))
    return {nullptr, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, CUDA_ERROR_INVALID_VALUE};
  const auto [first, last] = std::equal_range(std::begin(kRows), std::end(kRows), name, ByBase{});
  const Row *legacy = nullptr, *per_thread = nullptr;
  bool exists = false;
  for (const Row* row = first; row != last; ++row) {
    if (!is_there(*row)) continue;
    exists = true;
    const Row*& best = row->stream == StreamKind::PerThread ? per_thread : legacy;
    if (row->version <= version && (!best || best->version < row->version)) best = row;
  }
  const Row* found = (flags & kPerThreadDefaultStream) != 0 && per_thread ? per_thread : legacy;
  if (found) return {reinterpret_cast<void*>(found->address), CU_GET_PROC_ADDRESS_SUCCESS, CUDA_SUCCESS};
  return {nullptr, exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
          CUDA_SUCCESS};
}

}  // namespace vgsim

using namespace vgsim;

VGSIM_API_ALWAYS(cuGetProcAddress, (const char* name, void** out, int version, cuuint64_t flags),
                 get_v1(name, out, version, flags))
VGSIM_API_ALWAYS(cuGetProcAddress_v2,
                 (const char* name, void** out, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status),
                 get_v2(name, out, version, flags, status))
// The private tables through which NVIDIA's runtime authenticates the driver are not imitated.
VGSIM_API_ALWAYS(cuGetExportTable, (const void**, const CUuuid*), CUDA_ERROR_NOT_FOUND)
