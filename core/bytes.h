// Amounts of memory: literals, rounding, parsing what people write, and printing what people read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace vramguard {

using Bytes = std::uint64_t;

inline namespace literals {
constexpr Bytes operator""_KiB(unsigned long long n) { return n << 10; }
constexpr Bytes operator""_MiB(unsigned long long n) { return n << 20; }
constexpr Bytes operator""_GiB(unsigned long long n) { return n << 30; }
}  // namespace literals

// `value` rounded up to a multiple of `step`, saturating at the largest multiple that fits in 64 bits. `step` > 0.
constexpr Bytes round_up(Bytes value, Bytes step) {
  const Bytes rest = value % step;
  if (rest == 0) return value;
  const Bytes largest = UINT64_MAX - UINT64_MAX % step;
  return value > largest ? largest : value - rest + step;
}

constexpr Bytes saturating_product(Bytes a, Bytes b) {
  Bytes product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// What a size in the configuration can be: bytes, a share of something known later, or no limit at all.
struct Percent {
  double value;  // 0 < value <= 100
  friend bool operator==(const Percent&, const Percent&) = default;
};
struct Unlimited {
  friend bool operator==(const Unlimited&, const Unlimited&) = default;
};
using Size = std::variant<Unlimited, Bytes, Percent>;

// Why a text is not a size, in words for the person who wrote it ("'20' is 20 bytes; did you mean 20GiB?").
struct SizeError {
  std::string message;
};
template <typename T>
using SizeResult = std::variant<T, SizeError>;

// The grammar of sizes, documented in docs/configuration.md. The whole text must match; nothing is ever guessed.
SizeResult<Bytes> parse_bytes(std::string_view text);  // "8GiB", "1.5G", "8GB": units only
SizeResult<Size> parse_size(std::string_view text);    // the same, "80%" and "unlimited"

// "8GiB", "1.5GiB", "20MiB": binary units, at most two decimals, read back by parse_bytes to the same value where
// exact.
std::string format_bytes(Bytes bytes);
std::string format_size(const Size& size);

}  // namespace vramguard
