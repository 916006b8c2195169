#include "core/log_record.h"

#include <cassert>

#include "core/utf8.h"

namespace vramguard {

LogRecord& LogRecord::add(LogKey key, std::string_view text) noexcept {
  const std::string_view kept = utf8_prefix(text, kMaxTextBytes);
  if (kept.size() < text.size()) cut_ = true;
  return append(key, Type::Text, kept.data(), kept.size());
}

LogRecord& LogRecord::append(LogKey key, Type type, const void* value, std::size_t size) noexcept {
  assert(info_of(event_).has_field({key.data(), key.size()}));
  const FieldHeader header{key.data(), key.size(), type, static_cast<std::uint16_t>(size)};
  if (size_ + sizeof header + size > sizeof data_) {
    cut_ = true;
    return *this;
  }
  std::memcpy(data_ + size_, &header, sizeof header);
  if (size > 0) std::memcpy(data_ + size_ + sizeof header, value, size);
  size_ = static_cast<std::uint16_t>(size_ + sizeof header + size);
  return *this;
}

LogRecord::Value LogRecord::value_of(const FieldHeader& header, const char* bytes) noexcept {
  const auto read = [bytes]<typename T>(T value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (header.type) {
    case Type::Unsigned:
      return read(std::uint64_t{});
    case Type::Signed:
      return read(std::int64_t{});
    case Type::Double:
      return read(double{});
    case Type::Text:
      break;
  }
  return std::string_view(bytes, header.size);
}

}  // namespace vramguard
