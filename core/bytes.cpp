#include "core/bytes.h"

#include <array>
#include <charconv>
#include <system_error>

namespace vramguard {
namespace {

constexpr Bytes kSmallestBareNumber = 1_MiB;  // below it a number without a unit is taken for a slip
constexpr std::size_t kMostDecimals = 18;     // 10^18 * 2^40 still fits in 128 bits

__extension__ using Wide = unsigned __int128;

struct Unit {
  std::string_view name;  // in lower case
  Bytes bytes;
};

// Case never matters. The letter alone is binary as in systemd, docker and Slurm; only "kB" and its kin are decimal.
constexpr std::array<Unit, 17> kUnits{{
    {"b", 1},
    {"k", 1ULL << 10},
    {"ki", 1ULL << 10},
    {"kib", 1ULL << 10},
    {"kb", 1'000},
    {"m", 1ULL << 20},
    {"mi", 1ULL << 20},
    {"mib", 1ULL << 20},
    {"mb", 1'000'000},
    {"g", 1ULL << 30},
    {"gi", 1ULL << 30},
    {"gib", 1ULL << 30},
    {"gb", 1'000'000'000},
    {"t", 1ULL << 40},
    {"ti", 1ULL << 40},
    {"tib", 1ULL << 40},
    {"tb", 1'000'000'000'000},
}};

// Without <cctype>: the host may have set a locale.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool same_word(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (lower(text[i]) != word[i]) return false;
  }
  return true;
}

const Unit* find_unit(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (same_word(text, unit.name)) return &unit;
  }
  return nullptr;
}

// What the messages show of the text: cut short, control characters replaced.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (text.size() > kShown) out += "...";
  return out + "'";
}

SizeError error(std::string_view text, std::string_view reason) { return {quoted(text) + std::string(reason)}; }

constexpr std::string_view kNoLimit = "; write 'unlimited' for no limit";
constexpr std::string_view kForms = " is not a size; write a number and a unit, such as 512MiB, 8GiB or 1.5G";

// "12" or "12.5", without sign, exponent or leading zeros.
struct Number {
  Bytes whole = 0;
  Bytes decimals = 0;      // the digits after the point, read as a whole number
  std::size_t places = 0;  // how many there are
  std::size_t length = 0;  // characters used
  bool is_zero() const { return whole == 0 && decimals == 0; }
};

std::variant<Number, SizeError> parse_number(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  if (digits == 0) return error(text, kForms);
  if (digits > 1 && text[0] == '0') return error(text, " has a leading zero; write it without");
  if (digits == 1 && text[0] == '0' && text.size() > 1 && lower(text[1]) == 'x') {
    return error(text, " looks hexadecimal; write a decimal number");
  }

  Number number;
  number.length = digits;
  if (std::from_chars(text.data(), text.data() + digits, number.whole).ec != std::errc{}) {
    return error(text, " is more than 64 bits can hold");
  }
  if (digits == text.size() || text[digits] != '.') return number;

  const std::size_t first = digits + 1;
  std::size_t end = first;
  while (end < text.size() && is_digit(text[end])) ++end;
  number.places = end - first;
  number.length = end;
  if (number.places == 0) return error(text, " has no digit after the point");
  if (number.places > kMostDecimals) return error(text, " has too many decimals");
  std::from_chars(text.data() + first, text.data() + end, number.decimals);
  return number;
}

Wide power_of_ten(std::size_t exponent) {
  Wide power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

// Slips that deserve a better answer than "not a size".
std::optional<SizeError> known_slip(std::string_view text) {
  if (text.empty()) return SizeError{"the size is empty; write a size such as 8GiB"};
  for (const char c : text) {
    if (is_space(c)) return error(text, " has white space in it; write a size like 8GiB, without any");
    if (c == ',') return error(text, " has a comma in it; the decimal point is '.', as in 1.5GiB");
  }
  if (text[0] == '-') return error(text, std::string(" is negative") + std::string(kNoLimit));
  if (text[0] == '+') return error(text, " has a sign; write it without");
  for (const std::string_view word : {"none", "no", "off", "max", "inf", "infinity", "unlimited"}) {
    if (same_word(text, word)) return error(text, std::string(" is not a size") + std::string(kNoLimit));
  }
  return std::nullopt;
}

SizeError zero(std::string_view text) {
  return error(text, " leaves nothing at all; write 'unlimited' for no limit, or a size such as 512MiB");
}

SizeResult<Bytes> to_bytes(std::string_view text, const Number& number) {
  const std::string_view unit_text = text.substr(number.length);
  if (unit_text.empty()) {
    if (number.places > 0) return error(text, " has no unit; did you mean " + std::string(text) + "GiB?");
    if (number.is_zero()) return zero(text);
    if (number.whole < kSmallestBareNumber) {
      const std::string digits(text);
      const bool few = number.whole <= 1024;
      return error(text, " is " + digits + (number.whole == 1 ? " byte" : " bytes") + "; did you mean " + digits +
                             (few ? "GiB?" : "MiB?"));
    }
    return number.whole;
  }
  const Unit* unit = find_unit(unit_text);
  if (unit == nullptr) {
    const bool exponent = lower(unit_text[0]) == 'e' && unit_text.size() > 1;
    if (exponent) return error(text, " has an exponent; write the number out, with a unit");
    return error(text, " has an unknown unit; write B, KiB, MiB, GiB or TiB (or kB, MB, GB, TB for powers of ten)");
  }
  if (number.is_zero()) return zero(text);
  if (unit->bytes == 1 && number.places > 0) return error(text, " is a fraction of a byte");

  const Wide total =
      Wide{number.whole} * unit->bytes + Wide{number.decimals} * unit->bytes / power_of_ten(number.places);
  if (total > UINT64_MAX) return error(text, " is more than 64 bits can hold");
  if (total == 0) return error(text, " is a fraction of a byte");
  return static_cast<Bytes>(total);
}

SizeResult<Size> to_percent(std::string_view text, const Number& number) {
  constexpr std::size_t kPercentDecimals = 6;
  if (number.is_zero()) return zero(text);
  if (number.places > kPercentDecimals) return error(text, " has too many decimals");
  const auto scale = static_cast<Bytes>(power_of_ten(number.places));
  if (number.whole > 100 || (number.whole == 100 && number.decimals > 0)) return error(text, " is more than 100%");
  // Both are exact in a double, so the quotient is the double nearest to what was written.
  return Size{Percent{static_cast<double>(number.whole * scale + number.decimals) / static_cast<double>(scale)}};
}

void append_number(std::string& out, Bytes number) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  out.append(buffer.data(), end);
}

// "30" or "12.5": up to six decimals, none that say nothing.
std::string format_percent(double value) {
  constexpr Bytes kScale = 1'000'000;
  const auto millionths = static_cast<Bytes>(value * static_cast<double>(kScale) + 0.5);
  std::string out;
  append_number(out, millionths / kScale);
  if (millionths % kScale != 0) {
    std::string decimals;
    append_number(decimals, kScale + millionths % kScale);
    decimals[0] = '.';
    while (decimals.back() == '0') decimals.pop_back();
    out += decimals;
  }
  return out + "%";
}

}  // namespace

SizeResult<Bytes> parse_bytes(std::string_view text) {
  if (auto slip = known_slip(text)) return *slip;
  if (text.back() == '%') return error(text, " is a percentage; here a size such as 8GiB is needed");
  const auto number = parse_number(text);
  if (const auto* failed = std::get_if<SizeError>(&number)) return *failed;
  return to_bytes(text, std::get<Number>(number));
}

SizeResult<Size> parse_size(std::string_view text) {
  if (text == "unlimited") return Size{Unlimited{}};
  if (auto slip = known_slip(text)) return *slip;
  const auto number = parse_number(text);
  if (const auto* failed = std::get_if<SizeError>(&number)) return *failed;
  const auto& parsed = std::get<Number>(number);
  if (text.substr(parsed.length) == "%") return to_percent(text, parsed);

  auto bytes = to_bytes(text, parsed);
  if (auto* failed = std::get_if<SizeError>(&bytes)) return std::move(*failed);
  return Size{std::get<Bytes>(bytes)};
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<Unit, 4> kShown{
      {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}}};
  std::string out;
  for (const Unit& unit : kShown) {
    if (bytes < unit.bytes) continue;
    const Bytes rest = bytes % unit.bytes;
    // Cut, not rounded: what is shown as free or used is never more than there is.
    const auto hundredths = static_cast<Bytes>(Wide{rest} * 100 / unit.bytes);
    append_number(out, bytes / unit.bytes);
    if (hundredths != 0) {
      out += '.';
      out += static_cast<char>('0' + hundredths / 10);
      if (hundredths % 10 != 0) out += static_cast<char>('0' + hundredths % 10);
    }
    return out + std::string(unit.name);
  }
  append_number(out, bytes);
  return out + "B";
}

std::string format_size(const Size& size) {
  if (const auto* bytes = std::get_if<Bytes>(&size)) return format_bytes(*bytes);
  if (const auto* percent = std::get_if<Percent>(&size)) return format_percent(percent->value);
  return "unlimited";
}

}  // namespace vramguard
