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

constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kTimeUnits{
    {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};

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

ValueError not_possible(KeyType type, std::string_view words, std::string_view text) {
  std::vector<std::string> forms{"a size such as 512MiB"};
  if (type == KeyType::Share) forms.emplace_back("a share such as 25%");
  for (const std::string_view word : split(words, '|')) forms.push_back("'" + std::string(word) + "'");
  std::string message = quoted(text) + " is not possible here; write ";
  for (std::size_t i = 0; i < forms.size(); ++i) {
    message += (i == 0 ? "" : i + 1 == forms.size() ? " or " : ", ") + forms[i];
  }
  return {std::move(message), ""};
}

ValueResult parse_limited_size(KeyType type, std::string_view words, std::string_view text) {
  auto size = parse_size(text);
  if (auto* error = std::get_if<SizeError>(&size)) {
    // The grammar of sizes advises 'unlimited' where there is none here.
    const bool bad_advice = error->message.find("'unlimited'") != std::string::npos;
    return bad_advice ? not_possible(type, words, text) : ValueError{std::move(error->message), ""};
  }
  const Size& parsed = std::get<Size>(size);
  if (std::holds_alternative<Unlimited>(parsed)) return not_possible(type, words, text);
  if (std::holds_alternative<Percent>(parsed) && type == KeyType::ByteCount)
    return ValueError{quoted(text) + " is a percentage; here a size such as 8GiB is needed", ""};
  return Value{parsed};
}

}  // namespace

Bytes bytes_or_none(const Value& value) {
  const auto* size = std::get_if<Size>(&value);
  return size == nullptr ? 0 : std::get<Bytes>(*size);
}

Sentinel sentinel_of(const Value& value) {
  const auto* word = std::get_if<std::string>(&value);
  return {bytes_or_none(value), word != nullptr && *word == "all"};
}

bool contains_word(std::string_view words, std::string_view word) {
  for (const std::string_view candidate : split(words, '|')) {
    if (candidate == word) return true;
  }
  return false;
}

ValueResult parse_duration(std::string_view text) {
  using std::chrono::milliseconds;
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
  for (const auto& [unit, length_ms] : kTimeUnits) {
    if (text.substr(digits) == unit) return Value{milliseconds(number * length_ms)};
  }
  return error;
}

std::string format_duration(std::chrono::milliseconds duration) {
  if (duration.count() == 0) return "0s";
  std::size_t unit = kTimeUnits.size() - 1;
  while (duration.count() % kTimeUnits[unit].second != 0) --unit;
  return std::to_string(duration.count() / kTimeUnits[unit].second) + std::string(kTimeUnits[unit].first);
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
    case KeyType::Share:
    case KeyType::ByteCount:
      break;
  }
  if (contains_word(words, text)) return Value{std::string(text)};
  if (type != KeyType::Amount) return parse_limited_size(type, words, text);
  auto size = parse_size(text);
  if (auto* error = std::get_if<SizeError>(&size)) return ValueError{std::move(error->message), ""};
  return Value{std::get<Size>(size)};
}

}  // namespace vramguard
