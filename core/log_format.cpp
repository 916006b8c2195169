#include "core/log_format.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/utf8.h"

namespace vramguard {

namespace {

// C0 and DEL, and by their UTF-8 form C1 (which terminals obey) and the two line separators (which viewers break at).
bool must_escape(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character[0]) < 0x20 || character[0] == 0x7F;
  if (character.size() == 2) return character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
  return character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9";
}

unsigned code_of_escaped(std::string_view character) {
  const auto last = static_cast<unsigned char>(character.back());
  return character.size() == 3 ? 0x2000U + (last & 0x3FU) : last;
}

bool needs_quotes(std::string_view text) {
  if (text.empty()) return true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || must_escape(text.substr(at, length))) return true;
    if (std::strchr(" \"=\\", text[at]) != nullptr) return true;
    at += length;
  }
  return false;
}

// Appends to a line of fixed size. `ends` bytes are kept for what must come last; what does not fit sets full().
class LineWriter {
 public:
  LineWriter(LogLine& line, LogFormat format) : line_(line), json_(format == LogFormat::Json) {
    line_.size = 0;
    if (json_) put('{');
  }

  void field(std::string_view key, const LogRecord::Value& value) {
    const std::size_t start = line_.size;
    full_ = false;
    name(key);
    std::visit([this](const auto& v) { print(v); }, value);
    if (!full_) return;
    line_.size = start;
    cut_ = true;
  }

  void end(bool cut) {
    kept_ = json_ ? 2 : 1;
    if (cut || cut_) field(kCutLogKey, std::uint64_t{1});
    kept_ = 0;
    if (json_) put('}');
    put('\n');
  }

 private:
  void name(std::string_view key) {
    if (line_.size > (json_ ? 1U : 0U)) put(json_ ? ',' : ' ');
    if (json_) put('"');
    put(key);
    put(json_ ? std::string_view("\":") : std::string_view("="));
  }

  void print(std::uint64_t value) { put(std::string_view(fmt::format_int(value).c_str())); }
  void print(std::int64_t value) { put(std::string_view(fmt::format_int(value).c_str())); }
  void print(double value) {
    // Neither format has a word for what is not a number; no quantity here comes near the limits.
    const double printable = std::isfinite(value) ? std::clamp(value, -1e15, 1e15) : 0.0;
    char text[32];
    const auto end = fmt::format_to_n(text, sizeof text, "{:.1f}", printable);
    put(std::string_view(text, std::min(end.size, sizeof text)));
  }
  void print(std::string_view text) {
    if (json_ || needs_quotes(text)) {
      print_quoted(text);
    } else {
      put(text);
    }
  }

  void print_quoted(std::string_view text) {
    put('"');
    for (std::size_t at = 0; at < text.size() && !full_;) {
      const std::size_t length = utf8_length(text, at);
      const std::string_view character = text.substr(at, length);
      if (length == 0) {
        put("\\ufffd");
      } else if (character == "\"" || character == "\\") {
        put('\\');
        put(character);
      } else if (must_escape(character)) {
        print_escape(code_of_escaped(character));
      } else {
        put(character);
      }
      at += std::max<std::size_t>(length, 1);
    }
    put('"');
  }

  void print_escape(unsigned code) {
    switch (code) {
      case '\n':
        return put("\\n");
      case '\t':
        return put("\\t");
      case '\r':
        return put("\\r");
    }
    constexpr char kDigits[] = "0123456789abcdef";
    const char escape[] = {
        '\\', 'u', kDigits[code >> 12 & 15], kDigits[code >> 8 & 15], kDigits[code >> 4 & 15], kDigits[code & 15]};
    put(std::string_view(escape, sizeof escape));
  }

  void put(char character) { put(std::string_view(&character, 1)); }
  void put(std::string_view text) {
    if (full_ || line_.size + text.size() + kept_ > LogLine::kMaxBytes) {
      full_ = true;
      return;
    }
    std::memcpy(line_.bytes + line_.size, text.data(), text.size());
    line_.size += text.size();
  }

  LogLine& line_;
  const bool json_;
  std::size_t kept_ = sizeof ",\"cut\":1}\n" - 1;
  bool full_ = false;
  bool cut_ = false;
};

// Without gmtime_r, whose lock a forked child may find held.
std::string_view print_time(WallTime wall, char (&text)[32]) {
  using namespace std::chrono;
  const auto time = floor<milliseconds>(wall);
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  const auto end =
      fmt::format_to_n(text, sizeof text, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
  return {text, std::min(end.size, sizeof text)};
}

}  // namespace

std::string_view LogIdentity::comm_text() const noexcept { return {comm.data(), strnlen(comm.data(), comm.size())}; }

LogIdentity LogIdentity::of_this_process() noexcept {
  LogIdentity identity;
  identity.pid = getpid();
  const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return identity;
  const ssize_t size = read(fd, identity.comm.data(), identity.comm.size());
  close(fd);
  if (size > 0 && identity.comm[static_cast<std::size_t>(size) - 1] == '\n') {
    identity.comm[static_cast<std::size_t>(size) - 1] = '\0';
  }
  return identity;
}

void LogFormatter::format(const LogRecord& record, WallTime wall, std::uint64_t seq, LogLine& line) const noexcept {
  LineWriter writer(line, format_);
  char time[32];
  const LogRecord::Value common[] = {print_time(wall, time),       name_of(record.level()),
                                     info_of(record.event()).name, std::int64_t{identity_.pid},
                                     identity_.comm_text(),        seq,
                                     std::int64_t{record.device()}};
  static_assert(std::size(common) == kCommonLogKeys.size());
  const std::size_t shown = record.has_device() ? std::size(common) : std::size(common) - 1;
  for (std::size_t i = 0; i < shown; ++i) writer.field(kCommonLogKeys[i], common[i]);
  record.for_each_field([&](std::string_view key, const LogRecord::Value& value) { writer.field(key, value); });
  writer.end(record.cut());
}

std::string_view name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::Error:
      return "error";
    case LogLevel::Warn:
      return "warn";
    case LogLevel::Info:
      return "info";
    case LogLevel::Debug:
      return "debug";
  }
  return "";
}

}  // namespace vramguard
