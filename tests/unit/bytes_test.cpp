#include "core/bytes.h"

#include <catch2/catch.hpp>

#include <clocale>
#include <vector>

using namespace vramguard;

namespace {

std::string message(const SizeResult<Size>& result) {
  const auto* error = std::get_if<SizeError>(&result);
  return error ? error->message : "";
}

}  // namespace

TEST_CASE("a size with a unit is read exactly, whatever the case of the unit") {
  struct Row {
    const char* text;
    Bytes bytes;
  };
  const std::vector<Row> rows{
      {"1B", 1},
      {"512b", 512},
      {"1K", 1024},
      {"1k", 1024},
      {"1Ki", 1024},
      {"1KiB", 1024},
      {"1kib", 1024},
      {"1kB", 1000},
      {"1KB", 1000},
      {"4M", 4_MiB},
      {"4m", 4_MiB},
      {"4Mi", 4_MiB},
      {"4MiB", 4_MiB},
      {"4MB", 4'000'000},
      {"4G", 4_GiB},
      {"4g", 4_GiB},
      {"4Gi", 4_GiB},
      {"4gi", 4_GiB},
      {"4GiB", 4_GiB},
      {"4GIB", 4_GiB},
      {"4GB", 4'000'000'000},
      {"4gb", 4'000'000'000},
      {"2T", 2048_GiB},
      {"2Ti", 2048_GiB},
      {"2TiB", 2048_GiB},
      {"2TB", 2'000'000'000'000},
      {"1.5G", 1_GiB + 512_MiB},
      {"1.5GiB", 1_GiB + 512_MiB},
      {"1.5GB", 1'500'000'000},
      {"0.5K", 512},
      {"0.25GiB", 256_MiB},
      {"0.1GiB", 107'374'182},
      {"1.000000000000000001TiB", (1ULL << 40) + 0},
      {"1048576", 1_MiB},
      {"8589934592", 8_GiB},
      {"9007199254740993", 9007199254740993ULL},
      {"18446744073709551615", UINT64_MAX},
      {"18446744073709551615B", UINT64_MAX},
      {"16777215.999999999999TiB", UINT64_MAX - 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto bytes = parse_bytes(row.text);
    REQUIRE(std::holds_alternative<Bytes>(bytes));
    CHECK(std::get<Bytes>(bytes) == row.bytes);
    const auto size = parse_size(row.text);
    REQUIRE(std::holds_alternative<Size>(size));
    CHECK(std::get<Size>(size) == Size{row.bytes});
  }
}

TEST_CASE("a text that is not exactly a size is refused and never taken for a small or an unlimited one") {
  const std::vector<std::string> rows{
      "",
      " ",
      "  4G",
      "4G ",
      "4G\n",
      "\t4G",
      "4 G",
      "4 GiB",
      "4\r",
      "-1",
      "-4G",
      "+1",
      "+4G",
      "0",
      "0B",
      "0m",
      "0G",
      "0.0GiB",
      "0%",
      "0.0%",
      "00",
      "08G",
      "010M",
      "0x10",
      "0X10G",
      "1e9",
      "1E9B",
      "1e9G",
      "nan",
      "inf",
      "none",
      "max",
      "off",
      "None",
      "auto",
      "GiB",
      "G",
      "B",
      ".5G",
      "5.G",
      "5.",
      "1..5G",
      "1.5.5G",
      "1,5G",
      "1_000M",
      "4Gib4",
      "4GG",
      "4GiBs",
      "4Gbit",
      "4P",
      "4EiB",
      "101%",
      "100.1%",
      "-5%",
      "%",
      "5%%",
      "50 %",
      "%50",
      "0.5",
      "1.5",
      "20",
      "1",
      "1048575",
      "0.1B",
      "1.5B",
      "0.0001K",
      "4G\0" + std::string(),
      "18446744073709551616",
      "18446744073709551616B",
      "16777216T",
      "16777216TiB",
      "99999999999G",
      "99999999999999999999999999999T",
      "1.0000000000000000001G",
      "1.1234567%",
      "\xef\xbc\x94G",
      "4G;",
      "unlimitedG",
      "UNLIMITED",
      "un limited",
      std::string("4G\0", 3),
      std::string("4\0G", 3),
  };
  for (const std::string& row : rows) {
    if (row == "4G") continue;
    CAPTURE(row);
    CHECK(std::holds_alternative<SizeError>(parse_bytes(row)));
    const auto size = parse_size(row);
    REQUIRE(std::holds_alternative<SizeError>(size));
    CHECK_FALSE(message(size).empty());
    CHECK(message(size).find('\n') == std::string::npos);
  }
}

TEST_CASE("a refused size says what to write instead") {
  CHECK(message(parse_size("20")) == "'20' is 20 bytes; did you mean 20GiB?");
  CHECK(message(parse_size("1")) == "'1' is 1 byte; did you mean 1GiB?");
  CHECK(message(parse_size("8192")) == "'8192' is 8192 bytes; did you mean 8192MiB?");
  CHECK(message(parse_size("0")) ==
        "'0' leaves nothing at all; write 'unlimited' for no limit, or a size such as 512MiB");
  CHECK(message(parse_size("-1")) == "'-1' is negative; write 'unlimited' for no limit");
  CHECK(message(parse_size("none")) == "'none' is not a size; write 'unlimited' for no limit");
  CHECK(message(parse_size("0.5")) == "'0.5' has no unit; did you mean 0.5GiB?");
  CHECK(message(parse_size("101%")) == "'101%' is more than 100%");
  CHECK(message(parse_size("18446744073709551616")) == "'18446744073709551616' is more than 64 bits can hold");
}

TEST_CASE("percentages and 'unlimited' are sizes, but not numbers of bytes") {
  CHECK(std::get<Size>(parse_size("unlimited")) == Size{Unlimited{}});
  CHECK(std::get<Size>(parse_size("50%")) == Size{Percent{50.0}});
  CHECK(std::get<Size>(parse_size("12.5%")) == Size{Percent{12.5}});
  CHECK(std::get<Size>(parse_size("0.1%")) == Size{Percent{0.1}});
  CHECK(std::get<Size>(parse_size("100%")) == Size{Percent{100.0}});
  CHECK(std::holds_alternative<SizeError>(parse_bytes("50%")));
  CHECK(std::holds_alternative<SizeError>(parse_bytes("unlimited")));
}

TEST_CASE("sizes do not depend on the host's locale") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) std::setlocale(LC_ALL, name);
  CHECK(std::get<Bytes>(parse_bytes("1.5GiB")) == 1_GiB + 512_MiB);
  CHECK(format_bytes(1_GiB + 512_MiB) == "1.5GiB");
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("bytes are printed in binary units, cut to two decimals, and read back where exact") {
  CHECK(format_bytes(0) == "0B");
  CHECK(format_bytes(1023) == "1023B");
  CHECK(format_bytes(1024) == "1KiB");
  CHECK(format_bytes(20_MiB) == "20MiB");
  CHECK(format_bytes(8_GiB) == "8GiB");
  CHECK(format_bytes(1_GiB + 512_MiB) == "1.5GiB");
  CHECK(format_bytes(1_GiB + 52_MiB) == "1.05GiB");
  CHECK(format_bytes(1_GiB - 1) == "1023.99MiB");
  CHECK(format_bytes(UINT64_MAX) == "16777215.99TiB");
  for (const Bytes exact : {1_KiB, 20_MiB, 8_GiB, 1_GiB + 256_MiB, 2048_GiB, Bytes{7}}) {
    CHECK(std::get<Bytes>(parse_bytes(format_bytes(exact))) == exact);
  }
  CHECK(format_size(Unlimited{}) == "unlimited");
  CHECK(format_size(Percent{30}) == "30%");
  CHECK(format_size(Percent{12.5}) == "12.5%");
  CHECK(format_size(Percent{0.1}) == "0.1%");
  CHECK(format_size(Bytes{2_GiB}) == "2GiB");
}

TEST_CASE("rounding up saturates instead of wrapping") {
  CHECK(round_up(0, 2_MiB) == 0);
  CHECK(round_up(1, 2_MiB) == 2_MiB);
  CHECK(round_up(2_MiB, 2_MiB) == 2_MiB);
  CHECK(round_up(UINT64_MAX, 2_MiB) == UINT64_MAX - UINT64_MAX % 2_MiB);
}
