#include "tests/sim_driver/sizes.h"

#include <cctype>
#include <cmath>
#include <cstdlib>

namespace vgsim {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::optional<double> unit_factor(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1.0;
  if (unit == "KiB" || unit == "K") return static_cast<double>(kKiB);
  if (unit == "MiB" || unit == "M") return static_cast<double>(kMiB);
  if (unit == "GiB" || unit == "G") return static_cast<double>(kGiB);
  if (unit == "TiB" || unit == "T") return 1024.0 * static_cast<double>(kGiB);
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::string copy(trimmed(text));
  if (copy.empty() || !std::isdigit(static_cast<unsigned char>(copy.front()))) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  const auto factor = unit_factor(trimmed(end));
  if (!factor || !std::isfinite(number) || number * *factor >= 9.0e18) return std::nullopt;
  return static_cast<std::uint64_t>(number * *factor);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

}  // namespace vgsim
