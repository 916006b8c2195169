#include "shim/replacements.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <string_view>
#include <utility>

#include "shim/driver.h"

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
// Each function is told of once, however often it is asked for.
enum class Unguarded : int { No, Noted, Told };
constinit std::array<std::atomic<Unguarded>, kCount> unguarded{};

bool advance(std::atomic<Unguarded>& state, Unguarded from, Unguarded to) {
  return state.compare_exchange_strong(from, to, std::memory_order_relaxed);
}

// "cuMemAlloc" of "cuMemAlloc_v2": what programs ask cuGetProcAddress for.
constexpr std::string_view base_name(std::string_view name) { return name.substr(0, name.find('_')); }

bool is_entry(const Map& map, const void* address) {
  return std::ranges::any_of(map, [=](const Replacement& row) { return row.second == address; });
}

// As driver(): empty of addresses while no driver is loaded, and only then not kept.
const Map* map() noexcept {
  if (const Map* known = attached.load(std::memory_order_acquire)) return known;
  if (driver().own.cuInit == nullptr) return nullptr;
  Map* fresh = new (std::nothrow) Map;
  if (fresh == nullptr) return nullptr;
  const vg_preload_api& api = preload();
  for (unsigned i = 0; i < kCount; ++i) (*fresh)[i] = {api.driver_symbol(kNames[i]), api.entry(i)};
  std::sort(fresh->begin(), fresh->end());
  const Map* expected = nullptr;
  if (attached.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;
  return expected;
}

void note_unguarded(std::string_view symbol) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (base_name(kNames[i]) != base_name(symbol)) continue;
    advance(unguarded[i], Unguarded::No, Unguarded::Noted);
    return;
  }
}

}  // namespace

void* replacement_of(const char* symbol, void* address) noexcept {
  const Map* known = map();
  if (known == nullptr) return address;
  const auto found = std::lower_bound(known->begin(), known->end(), Replacement{address, nullptr});
  if (address != nullptr && found != known->end() && found->first == address) return found->second;
  if (address != nullptr && symbol != nullptr && !is_entry(*known, address)) note_unguarded(symbol);
  return address;
}

void take_unguarded(void (*visit)(const char* name, void* context), void* context) noexcept {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (advance(unguarded[i], Unguarded::Noted, Unguarded::Told)) visit(kNames[i], context);
  }
}

}  // namespace vramguard
