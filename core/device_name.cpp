#include "core/device_name.h"

#include <charconv>
#include <system_error>

namespace vramguard {
namespace {

constexpr std::size_t kShortestUuid = 4;  // hexadecimal digits

// Without <cctype>: the host may have set a locale.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_hex(char c) { return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'f'); }

bool starts_with(std::string_view text, std::string_view prefix) {
  if (text.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (lower(text[i]) != lower(prefix[i])) return false;
  }
  return true;
}

// True for a UUID with its "GPU-" or "MIG-": nothing but hexadecimal digits and dashes, and enough of them. The old
// form "MIG-GPU-<uuid>/<gi>/<ci>" is accepted as it is.
bool is_uuid(std::string_view text) {
  if (!starts_with(text, "GPU-") && !starts_with(text, "MIG-")) return false;
  const bool old_mig = starts_with(text, "MIG-GPU-");
  std::string_view digits = text.substr(old_mig ? 8 : 4);
  std::size_t count = 0;
  for (const char c : digits) {
    if (is_hex(c)) {
      ++count;
    } else if (c != '-' && !(old_mig && c == '/')) {
      return false;
    }
  }
  return count >= kShortestUuid;
}

// A whole part of an address: 1 to `most` digits of `base`.
template <typename Number>
std::optional<Number> parse_part(std::string_view text, std::size_t least, std::size_t most, int base) {
  if (text.size() < least || text.size() > most) return std::nullopt;
  Number value{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (ec != std::errc{} || end != text.data() + text.size() || text[0] == '-') return std::nullopt;
  return value;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) noexcept {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto function = parse_part<std::uint8_t>(text.substr(dot + 1), 1, 1, 8);
  text = text.substr(0, dot);

  const std::size_t last = text.rfind(':');
  if (last == std::string_view::npos) return std::nullopt;
  const auto device = parse_part<std::uint8_t>(text.substr(last + 1), 2, 2, 16);
  text = text.substr(0, last);

  std::optional<std::uint32_t> domain = 0;
  if (const std::size_t first = text.find(':'); first != std::string_view::npos) {
    domain = parse_part<std::uint32_t>(text.substr(0, first), 4, 8, 16);
    text = text.substr(first + 1);
  }
  const auto bus = parse_part<std::uint8_t>(text, 2, 2, 16);
  if (!domain || !bus || !device || !function) return std::nullopt;
  return PciAddress{*domain} << 24 | PciAddress{*bus} << 16 | PciAddress{*device} << 8 | *function;
}

std::optional<DeviceName> parse_device_name(std::string_view text) noexcept {
  DeviceName name;
  if (starts_with(text, "cuda:")) {
    const auto ordinal = parse_part<int>(text.substr(5), 1, 4, 10);
    if (!ordinal) return std::nullopt;
    name.ordinal = *ordinal;
    return name;
  }
  if (starts_with(text, "pci:")) {
    const auto address = parse_pci_address(text.substr(4));
    if (!address) return std::nullopt;
    name.kind = DeviceNameKind::PciAddress;
    name.pci = *address;
    return name;
  }
  if (is_uuid(text)) {
    name.kind = DeviceNameKind::Uuid;
    name.uuid = text;
    return name;
  }
  return std::nullopt;
}

bool names_device(const DeviceName& name, std::string_view uuid, std::string_view pci_bus_id, int ordinal) noexcept {
  switch (name.kind) {
    case DeviceNameKind::Ordinal:
      return name.ordinal == ordinal;
    case DeviceNameKind::PciAddress:
      return parse_pci_address(pci_bus_id) == name.pci;
    case DeviceNameKind::Uuid:
      return starts_with(uuid, name.uuid);
  }
  return false;
}

bool same_name(const DeviceName& a, const DeviceName& b) noexcept {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case DeviceNameKind::Ordinal:
      return a.ordinal == b.ordinal;
    case DeviceNameKind::PciAddress:
      return a.pci == b.pci;
    case DeviceNameKind::Uuid:
      return a.uuid.size() == b.uuid.size() && starts_with(a.uuid, b.uuid);
  }
  return false;
}

}  // namespace vramguard
