// Reads the pressure log back.
#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

namespace vramguard::integration {

namespace {

// The text of a logfmt value in quotes, whose escapes are those of JSON.
std::string unquoted(const std::string& line, std::size_t& at) {
  std::string value;
  for (++at; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] != '\\') {
      value += line[at];
      continue;
    }
    switch (line[++at]) {
      case 'n':
        value += '\n';
        break;
      case 't':
        value += '\t';
        break;
      case 'u':
        value += "\\u" + line.substr(at + 1, 4);
        at += 4;
        break;
      default:
        value += line[at];
    }
  }
  ++at;
  return value;
}

std::map<std::string, std::string> parse_line(const std::string& line) {
  std::map<std::string, std::string> fields;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::size_t equals = line.find('=', at);
    INFO(line);
    REQUIRE(equals != std::string::npos);
    const std::string key = line.substr(at, equals - at);
    at = equals + 1;
    std::string value;
    if (at < line.size() && line[at] == '"') {
      value = unquoted(line, at);
    } else {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      value = line.substr(at, end - at);
      at = end;
    }
    fields.emplace(key, value);
  }
  return fields;
}

}  // namespace

std::string Record::operator[](const std::string& key) const {
  const auto found = fields_.find(key);
  return found != fields_.end() ? found->second : "";
}

std::uint64_t Record::number(const std::string& key) const {
  const std::string text = (*this)[key];
  CAPTURE(key, text);
  REQUIRE((!text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })));
  return std::stoull(text);
}

Log Log::parse(const std::string& text) {
  Log log;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) log.records_.emplace_back(parse_line(line));
  return log;
}

std::vector<Record> Log::all(const std::string& event) const {
  std::vector<Record> found;
  for (const Record& record : records_) {
    if (record["ev"] == event) found.push_back(record);
  }
  return found;
}

Record Log::one(const std::string& event) const {
  const std::vector<Record> found = all(event);
  CAPTURE(event);
  REQUIRE(found.size() == 1);
  return found.front();
}

}  // namespace vramguard::integration
