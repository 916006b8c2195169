#include "core/device_budget.h"

#include "core/device_name.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace vramguard {
namespace {

constexpr Bytes kNoBudget = std::numeric_limits<Bytes>::max();

}  // namespace

Bytes bytes_of(const Size& size, Bytes total) noexcept {
  if (const auto* bytes = std::get_if<Bytes>(&size)) return *bytes;
  if (const auto* percent = std::get_if<Percent>(&size)) {
    const long double share = static_cast<long double>(total) * static_cast<long double>(percent->value) / 100.0L;
    return std::min(static_cast<Bytes>(share), total);
  }
  return kNoBudget;
}

Bytes resolve_budget(const GuardConfig& config, std::string_view uuid, std::string_view pci_bus_id, int ordinal,
                     Bytes total) noexcept {
  const auto rank = [](unsigned strength, DeviceNameKind kind, std::size_t length) {
    return std::tuple(strength, static_cast<int>(kind), length);
  };
  const Size* best = &config.budget;
  auto best_rank = rank(0, DeviceNameKind::Ordinal, 0);
  for (const DeviceBudget& candidate : config.device_budgets) {
    const auto name = parse_device_name(candidate.device);
    if (!name || !names_device(*name, uuid, pci_bus_id, ordinal)) continue;
    const auto candidate_rank = rank(candidate.strength, name->kind, name->uuid.size());
    if (best != &config.budget && candidate_rank < best_rank) continue;
    best = &candidate.budget;
    best_rank = candidate_rank;
  }

  return capped(config, bytes_of(*best, total), total);
}

Bytes capped(const GuardConfig& config, Bytes budget, Bytes total) noexcept {
  if (config.max_budget) budget = std::min(budget, bytes_of(*config.max_budget, total));
  return budget == kNoBudget ? kNoBudget : std::min(budget, total);
}

Sentinel resolve_sentinel(const GuardConfig& config, std::string_view uuid, std::string_view pci_bus_id,
                          int ordinal) noexcept {
  Sentinel sentinel = config.sentinel;
  auto best = std::pair(-1, std::size_t{0});
  for (const DeviceSentinel& candidate : config.device_sentinels) {
    const auto name = parse_device_name(candidate.device);
    if (!name || !names_device(*name, uuid, pci_bus_id, ordinal)) continue;
    const auto rank = std::pair(static_cast<int>(name->kind), name->uuid.size());
    if (rank < best) continue;
    best = rank;
    sentinel = candidate.sentinel;
  }
  if (!config.max_sentinel) return sentinel;
  if (sentinel.all) return {*config.max_sentinel, false};
  return {std::min(sentinel.bytes, *config.max_sentinel), false};
}

DoubtfulNames doubtful_names(const GuardConfig& config, const std::vector<DeviceIdentity>& devices) {
  DoubtfulNames doubtful;
  for (const DeviceBudget& budget : config.device_budgets) {
    const auto name = parse_device_name(budget.device);
    const auto fits = std::count_if(devices.begin(), devices.end(), [&](const DeviceIdentity& device) {
      return name && names_device(*name, device.uuid, device.pci_bus_id, device.ordinal);
    });
    if (fits == 0) doubtful.unmatched.push_back(budget.device);
    if (fits > 1) doubtful.ambiguous.push_back(budget.device);
  }
  return doubtful;
}

}  // namespace vramguard
