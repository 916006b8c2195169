// cuGetProcAddress: the driver is asked, and what it gives is replaced by address. The runtime takes everything from
// here.
#include "shim/driver.h"
#include "shim/process.h"
#include "shim/replacements.h"

namespace vramguard::entry {

namespace {

CUresult replaced(CUresult result, const char* symbol, void** pfn) {
  if (result != CUDA_SUCCESS || pfn == nullptr) return result;
  *pfn = replacement_of(symbol, *pfn);
  report_unguarded_symbols();
  return result;
}

}  // namespace

CUresult cuGetProcAddress(const char* symbol, void** pfn, int driver_version, cuuint64_t flags) {
  return replaced(forward(&DriverFunctions::cuGetProcAddress, symbol, pfn, driver_version, flags), symbol, pfn);
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int driver_version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  return replaced(forward(&DriverFunctions::cuGetProcAddress_v2, symbol, pfn, driver_version, flags, status), symbol,
                  pfn);
}

}  // namespace vramguard::entry
