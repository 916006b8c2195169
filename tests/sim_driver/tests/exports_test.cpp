#include <catch2/catch.hpp>

#include <set>
#include <sstream>
#include <string>

#include "tests/sim_driver/tests/child.h"

namespace {

struct Row {
  const char* symbol;
  const char* base;
  int version;
};

constexpr Row kRows[] = {
#define VGSIM_FUNCTION(symbol, base, version, stream) {#symbol, #base, version},
#define VGSIM_NOT_SIMULATED VGSIM_FUNCTION
#include "tests/sim_driver/functions.inc"
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION
};

std::set<std::string> symbols(const std::string& library, const std::string& which) {
  std::istringstream lines(output_of_program({"/usr/bin/nm", "-D", "-P", which, library}));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(' '));
    names.insert(name.substr(0, name.find('@')));
  }
  return names;
}

std::set<std::string> rows_up_to(int version) {
  std::set<std::string> names;
  for (const Row& row : kRows) {
    if (row.version <= version) names.insert(row.symbol);
  }
  return names;
}

void check_no_driver_symbol_is_missing(const std::string& library) {
  for (const std::string& name : symbols(library, "--undefined-only")) {
    INFO(library << " needs " << name);
    CHECK(name.rfind("cu", 0) != 0);
  }
}

}  // namespace

TEST_CASE("the libraries export the functions of their version and nothing else") {
  CHECK(symbols(SIM_CUDA, "--defined-only") == rows_up_to(13000));
  CHECK(symbols(SIM_CUDA_OLD, "--defined-only") == rows_up_to(11040));
  CHECK(rows_up_to(11040).size() < rows_up_to(13000).size());
  check_no_driver_symbol_is_missing(SIM_CUDA);
  check_no_driver_symbol_is_missing(SIM_CUDA_OLD);
}

TEST_CASE("the table is sorted by base name, and every name begins with its base") {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    INFO(kRows[i].symbol);
    if (i > 0) CHECK(std::string(kRows[i - 1].base) <= kRows[i].base);
    CHECK(std::string(kRows[i].symbol).rfind(kRows[i].base, 0) == 0);
  }
}
