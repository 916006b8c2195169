#include "cli/log/since.h"

#include <charconv>
#include <cstdio>
#include <ctime>
#include <optional>
#include <system_error>

namespace vramguard {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "10m"; nullopt for what does not look like it.
std::optional<seconds> duration(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000'000;  // 30 years, in seconds
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0 || count > kMost) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit == "s") return seconds(count);
  if (unit == "m") return seconds(count * 60);
  if (unit == "h") return seconds(count * 3600);
  if (unit == "d") return seconds(count * 86400);
  return std::nullopt;
}

// All of `text` by one of strptime's formats.
std::optional<tm> read_by(const char* format, const std::string& text, tm start) {
  const char* end = strptime(text.c_str(), format, &start);
  if (end == nullptr || *end != '\0') return std::nullopt;
  start.tm_isdst = -1;
  return start;
}

// nullopt for a 30th of February.
std::optional<WallTime> to_time(tm broken, bool utc) {
  const int day = broken.tm_mday;
  const std::time_t time = utc ? timegm(&broken) : mktime(&broken);
  if (broken.tm_mday != day) return std::nullopt;
  return std::chrono::system_clock::from_time_t(time);
}

std::optional<WallTime> date(std::string text) {
  const bool utc = text.ends_with('Z');
  if (utc) text.pop_back();
  // The log's own times have a fraction.
  std::size_t digits = text.size();
  while (digits > 0 && is_digit(text[digits - 1])) --digits;
  const bool fraction = digits > 0 && text[digits - 1] == '.' && digits < text.size();
  if (fraction) text.resize(digits - 1);
  for (const char* format :
       {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    if (const auto broken = read_by(format, text, tm{})) return to_time(*broken, utc);
  }
  return std::nullopt;
}

std::optional<WallTime> time_of_day(const std::string& text, WallTime now) {
  const std::time_t clock = std::chrono::system_clock::to_time_t(now);
  tm today{};
  if (localtime_r(&clock, &today) == nullptr) return std::nullopt;
  today.tm_sec = 0;
  for (const char* format : {"%H:%M:%S", "%H:%M"}) {
    auto broken = read_by(format, text, today);
    if (!broken) continue;
    const auto time = to_time(*broken, false);
    if (!time || *time <= now) return time;
    broken->tm_mday -= 1;  // which mktime brings into the month before
    return std::chrono::system_clock::from_time_t(mktime(&*broken));
  }
  return std::nullopt;
}

}  // namespace

std::variant<WallTime, std::string> parse_since(std::string_view text, WallTime now) {
  const std::string owned(text);
  if (const auto ago = duration(text)) return now - *ago;
  if (const auto time = date(owned)) return *time;
  if (const auto time = time_of_day(owned, now)) return *time;
  return "'" + owned + "' is no time; write 10m, 2h, 3d, 12:30, 2026-11-30 or 2026-11-30T12:00:00Z";
}

std::string log_time(WallTime time) {
  const auto whole = std::chrono::floor<seconds>(time);
  const auto rest = std::chrono::floor<std::chrono::milliseconds>(time - whole);
  const std::time_t clock = std::chrono::system_clock::to_time_t(whole);
  tm broken{};
  if (gmtime_r(&clock, &broken) == nullptr) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", broken.tm_year + 1900, broken.tm_mon + 1,
                broken.tm_mday, broken.tm_hour, broken.tm_min, broken.tm_sec, static_cast<int>(rest.count()));
  return text;
}

}  // namespace vramguard
