#include "config/toml_text.h"

namespace vramguard {

std::string toml_text(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 0xf];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() == 1 ? "" : ", ") + toml_text(text);
  return out + "]";
}

std::vector<std::string> texts_of(const TomlValue& array) {
  std::vector<std::string> texts;
  for (const TomlValue& item : array.items) {
    if (item.kind == TomlKind::Text) texts.push_back(item.text);
  }
  return texts;
}

}  // namespace vramguard
