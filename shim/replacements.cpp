#include "shim/replacements.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <utility>

namespace vramguard {

namespace {

constexpr const char* kNames[] = {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) #symbol,
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
};
constexpr std::size_t kCount = std::size(kNames);

using Replacement = std::pair<void*, void*>;  // the driver's address, our entry
using Map = std::array<Replacement, kCount>;  // sorted; a function that the driver lacks has the address null

constinit std::atomic<const Map*> attached{nullptr};

}  // namespace

bool attach_replacements(const vg_preload_api& preload) noexcept {
  if (attached.load(std::memory_order_acquire) != nullptr) return true;
  Map* map = new (std::nothrow) Map;
  if (map == nullptr) return false;
  for (unsigned i = 0; i < kCount; ++i) (*map)[i] = {preload.driver_symbol(kNames[i]), preload.entry(i)};
  std::sort(map->begin(), map->end());
  const Map* expected = nullptr;
  if (!attached.compare_exchange_strong(expected, map, std::memory_order_acq_rel)) delete map;
  return true;
}

void* replacement_of(void* address) noexcept {
  const Map& map = *attached.load(std::memory_order_acquire);
  const auto found = std::lower_bound(map.begin(), map.end(), Replacement{address, nullptr});
  return address != nullptr && found != map.end() && found->first == address ? found->second : address;
}

}  // namespace vramguard
