#include "cli/log/line.h"

#include <charconv>
#include <system_error>

namespace vramguard {
namespace {

struct Field {
  std::string_view key;
  std::string_view value;  // without its quotes
};

// Takes a text in quotes off `rest`, which starts with one; nullopt where it has no end.
std::optional<std::string_view> take_quoted(std::string_view& rest) {
  for (std::size_t at = 1; at < rest.size(); ++at) {
    if (rest[at] == '\\') {
      ++at;
    } else if (rest[at] == '"') {
      const std::string_view text = rest.substr(1, at - 1);
      rest.remove_prefix(at + 1);
      return text;
    }
  }
  return std::nullopt;
}

std::string_view take_until(std::string_view& rest, std::string_view ends) {
  const std::string_view text = rest.substr(0, rest.find_first_of(ends));
  rest.remove_prefix(text.size());
  return text;
}

bool take(std::string_view& rest, char expected) {
  if (!rest.starts_with(expected)) return false;
  rest.remove_prefix(1);
  return true;
}

// key=value or key="value", with a space between.
std::optional<Field> take_logfmt(std::string_view& rest) {
  take(rest, ' ');
  const std::string_view key = take_until(rest, "= ");
  if (key.empty() || !take(rest, '=')) return std::nullopt;
  if (!rest.starts_with('"')) return Field{key, take_until(rest, " ")};
  const auto value = take_quoted(rest);
  return value ? std::optional(Field{key, *value}) : std::nullopt;
}

// "key":value or "key":"value", after a brace or a comma. Records have no objects in them.
std::optional<Field> take_json(std::string_view& rest) {
  if (!take(rest, '{') && !take(rest, ',')) return std::nullopt;
  if (!rest.starts_with('"')) return std::nullopt;
  const auto key = take_quoted(rest);
  if (!key || !take(rest, ':')) return std::nullopt;
  if (!rest.starts_with('"')) return Field{*key, take_until(rest, ",}")};
  const auto value = take_quoted(rest);
  return value ? std::optional(Field{*key, *value}) : std::nullopt;
}

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<LogHead> read_log_head(std::string_view line) {
  const bool json = line.starts_with('{');
  LogHead head;
  for (;;) {
    const std::optional<Field> field = json ? take_json(line) : take_logfmt(line);
    if (!field) return std::nullopt;
    const auto& [key, value] = *field;
    if (key == "ts") head.ts = value;
    if (key == "lvl") head.level = value;
    if (key == "ev") head.event = value;
    if (key == "comm") head.comm = value;
    if (key == "pid" && !parse(value, head.pid)) return std::nullopt;
    if (key != "seq") continue;
    // The last of those that every record has.
    if (!parse(value, head.seq) || head.ts.empty() || head.event.empty()) return std::nullopt;
    return head;
  }
}

}  // namespace vramguard
