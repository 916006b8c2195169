// The library asserts what a file can break ("[=" does), which would end the host in one build and be undefined in
// another (clang is told to assume it). Without both, it returns an error.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
// Its shared build is not used: a preloaded library brings everything along.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16

#include "config/toml_document.h"

#include "config/toml_nesting.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace vramguard {
namespace {

TomlPosition position(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

TomlValue convert(const toml::node& node);

bool earlier(const TomlMember& a, const TomlMember& b) {
  return std::pair(a.key_at.line, a.key_at.column) < std::pair(b.key_at.line, b.key_at.column);
}

void convert_table(const toml::table& table, TomlValue& out) {
  out.kind = TomlKind::Table;
  for (const auto& [key, value] : table) {
    out.members.push_back({std::string(key.str()), position(key.source()), convert(value)});
  }
  std::sort(out.members.begin(), out.members.end(), earlier);
}

TomlValue convert(const toml::node& node) {
  TomlValue out;
  out.at = position(node.source());
  if (const auto* table = node.as_table()) {
    convert_table(*table, out);
  } else if (const auto* array = node.as_array()) {
    out.kind = TomlKind::Array;
    for (const toml::node& item : *array) out.items.push_back(convert(item));
  } else if (const auto* text = node.as_string()) {
    out.kind = TomlKind::Text;
    out.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = TomlKind::Integer;
    out.text = std::to_string(integer->get());
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = TomlKind::Boolean;
    out.text = boolean->get() ? "true" : "false";
  } else {
    out.kind = node.is_floating_point() ? TomlKind::Float : TomlKind::Date;
  }
  return out;
}

}  // namespace

std::variant<TomlValue, TomlError> parse_toml(std::string_view text) {
  if (auto error = find_unreasonable_text(text)) return std::move(*error);
  const toml::parse_result result = toml::parse(text);
  if (!result) return TomlError{std::string(result.error().description()), position(result.error().source())};
  return convert(result.table());
}

std::string_view describe(TomlKind kind) {
  switch (kind) {
    case TomlKind::Text:
      return "a text";
    case TomlKind::Integer:
      return "a whole number";
    case TomlKind::Float:
      return "a decimal number";
    case TomlKind::Boolean:
      return "true or false";
    case TomlKind::Date:
      return "a date or time";
    case TomlKind::Array:
      return "a list";
    case TomlKind::Table:
      return "a table";
  }
  return "";
}

}  // namespace vramguard
