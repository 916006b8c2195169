#include "shim/driver.h"

#include <atomic>
#include <new>

namespace vramguard {

namespace {

constinit std::atomic<const vg_preload_api*> attached_preload{nullptr};
constinit std::atomic<const Driver*> attached_driver{nullptr};

template <typename Function>
void find(Function& slot, void* (*symbol)(const char*), const char* name) {
  slot = reinterpret_cast<Function>(symbol(name));
}

}  // namespace

const Driver& driver() noexcept { return *attached_driver.load(std::memory_order_acquire); }
const vg_preload_api& preload() noexcept { return *attached_preload.load(std::memory_order_acquire); }

// Each thread that gets here looks everything up for itself, as a look-up may wait for the loader; the first publishes.
bool attach_driver(const vg_preload_api& api) noexcept {
  if (attached_driver.load(std::memory_order_acquire) != nullptr) return true;
  Driver* found = new (std::nothrow) Driver;
  if (found == nullptr) return false;
#define VG_DRIVER_FUNCTION(symbol, since, parameters)   \
  find(found->chain.symbol, api.chain_symbol, #symbol); \
  find(found->own.symbol, api.driver_symbol, #symbol);
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
#define VG_DRIVER_QUERY(symbol, parameters) find(found->query.symbol, api.driver_symbol, #symbol);
#include "shim/driver_queries.inc"
#undef VG_DRIVER_QUERY
  attached_preload.store(&api, std::memory_order_release);
  const Driver* expected = nullptr;
  if (!attached_driver.compare_exchange_strong(expected, found, std::memory_order_acq_rel)) delete found;
  return true;
}

}  // namespace vramguard
