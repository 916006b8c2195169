// A value of the configuration by its type, and the texts that people write for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/guard_config.h"

namespace vramguard {

// Amount: bytes, a share or no limit. Share: bytes or a share. ByteCount: bytes alone.
enum class KeyType { Schema, Text, Choice, Boolean, Integer, Amount, Share, ByteCount, Threshold, Duration, TextList };

// A text, choice or word such as "none" is a string.
using Value = std::variant<std::string, bool, std::int64_t, Size, Threshold, std::chrono::milliseconds>;
// The value, or why the text is none, in words for the person who wrote it.
struct ValueError {
  std::string message;
  std::string suggestion;
  friend bool operator==(const ValueError&, const ValueError&) = default;
};
using ValueResult = std::variant<Value, ValueError>;

// `words`, separated by '|': every choice of a Choice; what an Amount, Share or ByteCount may be besides a size. A
// TextList is not one text.
ValueResult parse_value(KeyType type, std::string_view words, std::string_view text);

// "5s", "100ms", "2m", "1h": whole numbers with a unit. "10%", "2GiB" or "10%,8GiB".
ValueResult parse_duration(std::string_view text);
ValueResult parse_threshold(std::string_view text);
// In the largest unit that divides it, so that every duration that was parsed reads back.
std::string format_duration(std::chrono::milliseconds duration);

// Of a ByteCount that may be "none".
Bytes bytes_or_none(const Value& value);
// Of a ByteCount that may be "none" or "all".
Sentinel sentinel_of(const Value& value);

bool contains_word(std::string_view words, std::string_view word);

}  // namespace vramguard
