// One record of the pressure log while it is being built, on the caller's stack and without allocating.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/guard_config.h"
#include "core/log_events.h"

namespace vramguard {

// Belongs to one thread. A plain value: copying it copies bytes. What does not fit is left out and marks the record
// `cut`.
class LogRecord {
 public:
  static constexpr std::size_t kMaxTextBytes = 384;  // of one value; longer ones are cut between characters

  using Value = std::variant<std::uint64_t, std::int64_t, double, std::string_view>;

  explicit LogRecord(Event event) noexcept : LogRecord(event, info_of(event).level) {}
  LogRecord(Event event, LogLevel level) noexcept : event_(event), level_(level) {}

  // The program's ordinal of the device that the record is about.
  LogRecord& device(int ordinal) noexcept {
    device_ = ordinal;
    return *this;
  }

  // Fields keep the order in which they were added. Asserts that the event has such a field.
  template <std::unsigned_integral T>
  LogRecord& add(LogKey key, T value) noexcept {
    const auto wide = static_cast<std::uint64_t>(value);
    return append(key, Type::Unsigned, &wide, sizeof wide);
  }
  template <std::signed_integral T>
  LogRecord& add(LogKey key, T value) noexcept {
    const auto wide = static_cast<std::int64_t>(value);
    return append(key, Type::Signed, &wide, sizeof wide);
  }
  LogRecord& add(LogKey key, double value) noexcept { return append(key, Type::Double, &value, sizeof value); }
  LogRecord& add(LogKey key, std::string_view text) noexcept;
  LogRecord& add(LogKey key, const char* text) noexcept {
    return add(key, text != nullptr ? std::string_view(text) : std::string_view());
  }

  Event event() const noexcept { return event_; }
  LogLevel level() const noexcept { return level_; }
  bool has_device() const noexcept { return device_ >= 0; }
  int device() const noexcept { return device_; }
  bool cut() const noexcept { return cut_; }

  // Calls visit(std::string_view name, const Value&) for each field.
  template <typename Visitor>
  void for_each_field(Visitor&& visit) const {
    for (std::size_t at = 0; at < size_;) {
      FieldHeader header;
      std::memcpy(&header, data_ + at, sizeof header);
      visit(std::string_view(header.key, header.key_size), value_of(header, data_ + at + sizeof header));
      at += sizeof header + header.size;
    }
  }

 private:
  enum class Type : std::uint8_t { Unsigned, Signed, Double, Text };
  struct FieldHeader {
    const char* key;
    std::uint8_t key_size;
    Type type;
    std::uint16_t size;
  };

  LogRecord& append(LogKey key, Type type, const void* value, std::size_t size) noexcept;
  static Value value_of(const FieldHeader& header, const char* bytes) noexcept;

  Event event_;
  LogLevel level_;
  std::int32_t device_ = -1;
  bool cut_ = false;
  std::uint16_t size_ = 0;
  char data_[1004];  // the first size_ bytes hold headers and values, unaligned
};
static_assert(sizeof(LogRecord) <= 1024 && std::is_trivially_copyable_v<LogRecord>);

}  // namespace vramguard
