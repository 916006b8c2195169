#include "tests/portability/probe/probe.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

namespace {

class StringSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string text;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    text.append(line.data(), line.size());
  }
  void flush_() override {}
};

bool comes_back(double value) {
  char buffer[64];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, value);
  double read = 0;
  const auto parsed = std::from_chars(buffer, written.ptr, read);
  return written.ec == std::errc() && parsed.ec == std::errc() && parsed.ptr == written.ptr && read == value &&
         std::strtod(std::string(buffer, written.ptr).c_str(), nullptr) == value;
}

double parse(std::string_view text) {
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void numbers() {
  for (int exponent = -300; exponent <= 300; exponent += 10) {
    PROBE_EXPECT(comes_back(std::pow(10.0, exponent) / 3));
    PROBE_EXPECT(comes_back(-std::exp2(exponent) * 1.1));
  }
  PROBE_EXPECT(comes_back(std::numeric_limits<double>::denorm_min()));
  PROBE_EXPECT(comes_back(std::numeric_limits<double>::max()));
  PROBE_EXPECT(parse("1.5e3GiB") == 1500.0);
  PROBE_EXPECT(parse("0,5") == 0.0);
  PROBE_EXPECT(std::isinf(parse("inf")));
  PROBE_EXPECT(std::isnan(parse("nan")));

  for (std::uint64_t value = 1; value != 0; value <<= 1) {
    char buffer[32];
    const auto written = std::to_chars(buffer, buffer + sizeof buffer, value);
    std::uint64_t read = 0;
    std::from_chars(buffer, written.ptr, read);
    PROBE_EXPECT(read == value);
    PROBE_EXPECT(std::to_string(value) == std::string(buffer, written.ptr));
    PROBE_EXPECT(fmt::format("{}", value) == std::string(buffer, written.ptr));
  }
  std::uint64_t overflow = 0;
  const std::string_view too_large = "18446744073709551616";
  PROBE_EXPECT(std::from_chars(too_large.data(), too_large.data() + too_large.size(), overflow).ec ==
               std::errc::result_out_of_range);

  // Functions that glibc gave new versions (exp, log, pow: 2.29), with arguments that the compiler cannot fold.
  volatile double two = 2;
  PROBE_EXPECT(std::pow(two, 10) == 1024);
  PROBE_EXPECT(std::abs(std::exp(std::log(two)) - two) < 1e-12);
  PROBE_EXPECT(std::fmod(two * 4 + 1, 4) == 1);
  PROBE_EXPECT(std::ceil(std::log2(two * 1.5)) == 2);
}

void formatting() {
  PROBE_EXPECT(fmt::format("{:.3f}|{:>8}|{:#x}|{}", 3.14159, "right", 255, true) == "3.142|   right|0xff|true");
  PROBE_EXPECT(fmt::format("{}", 0.1) == "0.1");
  PROBE_EXPECT(fmt::format("{:e}", 150109880320.0) == "1.501099e+11");
  try {
    static_cast<void>(fmt::format(fmt::runtime("{:d}"), "text"));
    PROBE_EXPECT(!"a wrong format passed");
  } catch (const fmt::format_error&) {
    PROBE_EXPECT(true);
  }

  auto sink = std::make_shared<StringSink>();
  sink->set_formatter(
      std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%e %l %v", spdlog::pattern_time_type::utc, "\n"));
  spdlog::logger logger("probe", sink);
  logger.log(spdlog::log_clock::time_point(std::chrono::milliseconds(1700000000123)), {}, spdlog::level::warn,
             "used={} of={:.1f}");
  PROBE_EXPECT(sink->text.starts_with("2023-11-14T22:13:20.123 warning "));
  sink->text.clear();
  for (int line = 0; line < 50; ++line) logger.info("line {} of {:.2f}", line, 0.5);
  PROBE_EXPECT(sink->text.find("line 49 of 0.50\n") != std::string::npos);
}

}  // namespace

namespace probe {

void text() {
  numbers();
  formatting();
}

}  // namespace probe
