#include "config/value.h"

#include "config/nearest_name.h"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

namespace vramguard {
namespace {

std::vector<std::string_view> split(std::string_view words, char separator) {
  std::vector<std::string_view> out;
  while (!words.empty()) {
    const std::size_t end = words.find(separator);
    out.push_back(words.substr(0, end));
    words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
  }
  return out;
}

std::string quoted(std::string_view text) { return "'" + std::string(text.substr(0, 60)) + "'"; }

ValueResult parse_choice(std::string_view words, std::string_view text) {
  if (contains_word(words, text)) return Value{std::string(text)};
  const auto choices = split(words, '|');
  ValueError error{quoted(text) + " is not one of", std::string(nearest_name(text, choices))};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    error.message += i == 0 ? " " : i + 1 == choices.size() ? " or " : ", ";
    error.message += choices[i];
  }
  if (!error.suggestion.empty()) error.message += "; did you mean '" + error.suggestion + "'?";
  return error;
}

ValueResult parse_integer(std::string_view text) {
  std::int64_t value{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size())
    return ValueError{quoted(text) + " is not a whole number", ""};
  return Value{value};
}

ValueResult parse_boolean(std::string_view text) {
  if (text == "true" || text == "1") return Value{true};
  if (text == "false" || text == "0") return Value{false};
  return ValueError{quoted(text) + " is neither true nor false", ""};
}

}  // namespace

bool contains_word(std::string_view words, std::string_view word) {
  for (const std::string_view candidate : split(words, '|')) {
    if (candidate == word) return true;
  }
  return false;
}

ValueResult parse_duration(std::string_view text) {
  using std::chrono::milliseconds;
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kUnits{
      {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
  constexpr std::size_t kMostDigits = 9;

  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const ValueError error{
      quoted(text) + " is not a duration; write a whole number and ms, s, m or h, such as 500ms or 10s", ""};
  if (digits == 0) return error;
  if (digits > kMostDigits) return ValueError{quoted(text) + " is too long a time", ""};
  if (digits == text.size())
    return ValueError{quoted(text) + " has no unit; did you mean " + std::string(text) + "s?", ""};
  std::int64_t number{};
  std::from_chars(text.data(), text.data() + digits, number);
  for (const auto& [unit, length_ms] : kUnits) {
    if (text.substr(digits) == unit) return Value{milliseconds(number * length_ms)};
  }
  return error;
}

ValueResult parse_threshold(std::string_view text) {
  Threshold threshold;
  const std::size_t comma = text.find(',');
  const bool two = comma != std::string_view::npos;
  for (const std::string_view part : {text.substr(0, comma), two ? text.substr(comma + 1) : std::string_view{}}) {
    if (!two && part.data() != text.data()) break;
    const auto size = parse_size(part);
    if (const auto* error = std::get_if<SizeError>(&size)) return ValueError{error->message, ""};
    const Size& parsed = std::get<Size>(size);
    if (const auto* percent = std::get_if<Percent>(&parsed)) {
      if (threshold.percent) return ValueError{quoted(text) + " has two percentages", ""};
      threshold.percent = percent->value;
    } else if (const auto* bytes = std::get_if<Bytes>(&parsed)) {
      if (threshold.bytes) return ValueError{quoted(text) + " has two sizes", ""};
      threshold.bytes = *bytes;
    } else {
      return ValueError{quoted(text) + " is not a threshold; write \"10%\", \"2GiB\" or \"10%,8GiB\"", ""};
    }
  }
  return Value{threshold};
}

ValueResult parse_value(KeyType type, std::string_view words, std::string_view text) {
  switch (type) {
    case KeyType::Schema:
    case KeyType::Integer:
      return parse_integer(text);
    case KeyType::Boolean:
      return parse_boolean(text);
    case KeyType::Choice:
      return parse_choice(words, text);
    case KeyType::Threshold:
      return parse_threshold(text);
    case KeyType::Duration:
      return parse_duration(text);
    case KeyType::Text:
    case KeyType::TextList:
      return Value{std::string(text)};
    case KeyType::Amount:
      break;
  }
  if (contains_word(words, text)) return Value{std::string(text)};
  auto size = parse_size(text);
  if (auto* error = std::get_if<SizeError>(&size)) return ValueError{std::move(error->message), ""};
  return Value{std::get<Size>(size)};
}

}  // namespace vramguard
