// 4,000 calls recorded on a real driver, with the addresses it gave and the bytes it had taken after each.
#include "core/ledger.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace vramguard;

namespace {

struct Step {
  bool is_free;
  AddressRange range;
  Bytes taken_after;
};

std::vector<Step> recorded_steps() {
  std::ifstream file(VRAMGUARD_TEST_DATA "/linear.tsv");
  std::vector<Step> steps;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string op;
    std::uint64_t id = 0;
    Step step{};
    fields >> op >> id >> step.range.bytes >> std::hex >> step.range.address >> std::dec >> step.taken_after;
    REQUIRE(fields);
    step.is_free = op == "free";
    steps.push_back(step);
  }
  return steps;
}

Bytes peak_of(const std::vector<Step>& steps) {
  return std::max_element(steps.begin(), steps.end(),
                          [](const Step& a, const Step& b) { return a.taken_after < b.taken_after; })
      ->taken_after;
}

}  // namespace

TEST_CASE("the books equal a real driver's after each of 4,000 recorded calls", "[ledger][recording]") {
  const std::vector<Step> steps = recorded_steps();
  REQUIRE(steps.size() == 4'000);
  const Bytes peak = peak_of(steps);
  const Bytes budget = GENERATE_COPY(as<Bytes>{}, kUnlimitedBytes, peak);
  Ledger guard(budget, nullptr, nullptr);
  std::vector<AddressRange> live;
  int refusals = 0;
  int differences = 0;
  for (const Step& step : steps) {
    if (step.is_free) {
      guard.release(step.range);
    } else {
      auto reservation = guard.reserve_linear(step.range.bytes);
      refusals += reservation && guard.settle(*reservation, step.range) ? 0 : 1;
    }
    differences += guard.linear() == step.taken_after && guard.admitted() == step.taken_after ? 0 : 1;
  }
  REQUIRE(refusals == 0);
  REQUIRE(differences == 0);
  REQUIRE(guard.stats().peak == peak);
}

TEST_CASE("with one page less than a recording needs, something in it is refused", "[ledger][recording]") {
  const std::vector<Step> steps = recorded_steps();
  Ledger guard(peak_of(steps) - kPageBytes, nullptr, nullptr);
  std::vector<std::uint64_t> refused;
  for (const Step& step : steps) {
    if (step.is_free) {
      const auto known = std::find(refused.begin(), refused.end(), step.range.address);
      if (known == refused.end()) {
        guard.release(step.range);
      } else {
        refused.erase(known);
      }
      continue;
    }
    auto reservation = guard.reserve_linear(step.range.bytes);
    if (!reservation || !guard.settle(*reservation, step.range)) {
      refused.push_back(step.range.address);
      guard.count_refusal();
    }
    REQUIRE(guard.admitted() <= guard.budget());
  }
  REQUIRE(guard.stats().refusals > 0);
  REQUIRE(guard.stats().peak <= guard.budget());
}
