#include "shim/driver.h"

#include <new>

namespace vramguard {

namespace {

template <typename Function>
void find(Function& slot, void* (*symbol)(const char*), const char* name) {
  slot = reinterpret_cast<Function>(symbol(name));
}

}  // namespace

// Each thread that gets here looks everything up for itself, as a look-up may wait for the loader; the first publishes.
const Driver& look_up_driver() noexcept {
  static constinit const Driver nothing;
  const vg_preload_api& api = preload();
  Driver* found = api.driver_symbol("cuInit") != nullptr ? new (std::nothrow) Driver : nullptr;
  if (found == nullptr) return nothing;
#define VG_DRIVER_FUNCTION(symbol, since, parameters)   \
  find(found->chain.symbol, api.chain_symbol, #symbol); \
  find(found->own.symbol, api.driver_symbol, #symbol);
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
#define VG_DRIVER_QUERY(symbol, parameters) find(found->query.symbol, api.driver_symbol, #symbol);
#include "shim/driver_queries.inc"
#undef VG_DRIVER_QUERY
  const Driver* expected = nullptr;
  if (attached_driver.compare_exchange_strong(expected, found, std::memory_order_acq_rel)) return *found;
  delete found;
  return *expected;
}

}  // namespace vramguard
