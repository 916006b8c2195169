#include "config/toml_value_text.h"

#include <algorithm>

namespace vramguard {
namespace {

bool is_taken(KeyType type, const TomlValue& value) {
  switch (type) {
    case KeyType::Schema:
    case KeyType::Integer:
      return value.kind == TomlKind::Integer;
    case KeyType::Boolean:
      return value.kind == TomlKind::Boolean;
    case KeyType::Amount:
    case KeyType::Share:
    case KeyType::ByteCount:
      return value.kind == TomlKind::Text || value.kind == TomlKind::Integer;
    case KeyType::Text:
    case KeyType::Choice:
    case KeyType::Threshold:
    case KeyType::Duration:
      return value.kind == TomlKind::Text;
    case KeyType::TextList:
      return value.kind == TomlKind::Array && !value.items.empty() &&
             std::all_of(value.items.begin(), value.items.end(),
                         [](const TomlValue& item) { return item.kind == TomlKind::Text; });
  }
  return false;
}

std::string what_is_taken(const Key& key) {
  switch (key.type) {
    case KeyType::Schema:
    case KeyType::Integer:
      return "a whole number";
    case KeyType::Boolean:
      return "true or false, without quotes";
    case KeyType::Amount:
    case KeyType::Share:
    case KeyType::ByteCount:
      return "a size in quotes, such as \"8GiB\"";
    case KeyType::Threshold:
      return "a threshold in quotes, such as \"10%\" or \"2GiB\"";
    case KeyType::Duration:
      return "a duration in quotes, such as \"10s\"";
    case KeyType::Text:
      return "a text in quotes";
    case KeyType::TextList:
      return "a list of texts, such as [\"/usr/bin/curl\", \"-s\"]";
    case KeyType::Choice:
      break;
  }
  std::string words = "one of";
  for (const char c : "|" + std::string(key.words)) {
    if (c == '|') {
      words += words.back() == 'f' && words.size() == 6 ? " " : "\", ";
      words += '"';
    } else {
      words += c;
    }
  }
  return words + "\"";
}

}  // namespace

std::optional<std::string> text_for(const Key& key, std::string_view label, const TomlValue& value,
                                    const std::string& path, Settings& settings) {
  if (is_taken(key.type, value)) return value.text;
  // A list of the wrong things is a list all the same.
  const bool wrong_items = key.type == KeyType::TextList && value.kind == TomlKind::Array;
  const std::string not_what_is_there = wrong_items ? "" : ", not " + std::string(describe(value.kind));
  settings.error({path, value.at.line, value.at.column, ""}, std::string(label),
                 std::string(label) + " takes " + what_is_taken(key) + not_what_is_there);
  return std::nullopt;
}

}  // namespace vramguard
