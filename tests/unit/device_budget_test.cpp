#include "core/device_budget.h"

#include "core/device_name.h"

#include <catch2/catch.hpp>

using namespace vramguard;

namespace {

constexpr const char* kUuid = "GPU-8f6e1c1a-1111-2222-3333-444455556666";
constexpr const char* kOtherUuid = "GPU-8f6e9999-1111-2222-3333-444455556666";
constexpr const char* kPci = "0000:3b:00.0";
constexpr Bytes kCard = 24_GiB;

Bytes budget_of(const GuardConfig& config) { return resolve_budget(config, kUuid, kPci, 0, kCard); }

}  // namespace

TEST_CASE("the three forms of a device name are understood and nothing else is") {
  for (const char* good : {"cuda:0", "cuda:15", "CUDA:1", "GPU-8f6e", "gpu-8F6E1C1A", kUuid, "MIG-8f6e1c1a-0000",
                           "MIG-GPU-8f6e1c1a-0000/1/0", "pci:0000:3b:00.0", "pci:3b:00.0", "pci:00000000:3B:00.0"}) {
    CAPTURE(good);
    CHECK(parse_device_name(good).has_value());
  }
  for (const char* bad :
       {"",           "0",         "cuda",        "cuda:",           "cuda:x",        "cuda:-1",     "cuda:0 ",
        "cuda:99999", "GPU-",      "GPU-8f6",     "GPU-8f6z",        "GPU-----",      "8f6e1c1a",    "pci:",
        "pci:3b",     "pci:3b:00", "pci:3b:00.9", "pci:000:3b:00.0", "pci:1:2:3:4.0", "pci:-b:00.0", "0000:3b:00.0",
        "nvidia0"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_device_name(bad).has_value());
  }
}

TEST_CASE("the most precise name decides: UUID, then PCI address, then ordinal, then the general budget") {
  GuardConfig config;
  config.budget = Bytes{1_GiB};
  CHECK(budget_of(config) == 1_GiB);
  config.device_budgets = {{"GPU-8f6e", Bytes{4_GiB}}, {"pci:3b:00.0", Bytes{3_GiB}}, {"cuda:0", Bytes{2_GiB}}};
  CHECK(budget_of(config) == 4_GiB);
  config.device_budgets.erase(config.device_budgets.begin());
  CHECK(budget_of(config) == 3_GiB);
  config.device_budgets.erase(config.device_budgets.begin());
  CHECK(budget_of(config) == 2_GiB);
  config.device_budgets = {{"GPU-8f6e1c1a", Bytes{5_GiB}}, {"GPU-8f6e", Bytes{4_GiB}}};
  CHECK(budget_of(config) == 5_GiB);
}

TEST_CASE("the stronger source decides before the more precise name") {
  GuardConfig config;
  config.device_budgets = {{"GPU-8f6e1c1a", Bytes{10_GiB}, 0}, {"cuda:0", Bytes{4_GiB}, 1}};
  CHECK(budget_of(config) == 4_GiB);
}

TEST_CASE("names of other devices do not count, and unknown identities match nothing") {
  GuardConfig config;
  config.budget = Bytes{1_GiB};
  config.device_budgets = {{"cuda:1", Bytes{2_GiB}}, {"GPU-aaaa", Bytes{3_GiB}}, {"pci:3c:00.0", Bytes{4_GiB}}};
  CHECK(budget_of(config) == 1_GiB);
  config.device_budgets = {{"GPU-8f6e", Bytes{2_GiB}}, {"pci:3b:00.0", Bytes{4_GiB}}};
  CHECK(resolve_budget(config, "", "", 0, kCard) == 1_GiB);
}

TEST_CASE("UUIDs and PCI addresses match in either case, with or without the domain") {
  GuardConfig config;
  config.device_budgets = {{"gpu-8F6E1C1A", Bytes{2_GiB}}};
  CHECK(budget_of(config) == 2_GiB);
  for (const char* name : {"pci:3B:00.0", "pci:00000000:3b:00.0", "PCI:0000:3b:00.0"}) {
    CAPTURE(name);
    config.device_budgets = {{name, Bytes{2_GiB}}};
    CHECK(resolve_budget(config, kUuid, "00000000:3B:00.0", 5, kCard) == 2_GiB);
  }
  config.device_budgets = {{"pci:0001:3b:00.0", Bytes{2_GiB}}};
  CHECK(budget_of(config) == UINT64_MAX);
}

TEST_CASE("a budget is never above the device or the administrator's cap") {
  GuardConfig config;
  CHECK(budget_of(config) == UINT64_MAX);
  config.budget = Bytes{48_GiB};
  CHECK(budget_of(config) == kCard);
  config.max_budget = Size{Bytes{8_GiB}};
  CHECK(budget_of(config) == 8_GiB);
  config.budget = Unlimited{};
  CHECK(budget_of(config) == 8_GiB);
  config.max_budget = Size{Percent{50}};
  CHECK(budget_of(config) == 12_GiB);
  config.max_budget = Size{Unlimited{}};
  CHECK(budget_of(config) == UINT64_MAX);
  config.max_budget = Size{Bytes{64_GiB}};
  CHECK(budget_of(config) == kCard);
}

TEST_CASE("a percentage is of the device, exact at both ends") {
  GuardConfig config;
  config.budget = Percent{100};
  CHECK(resolve_budget(config, kUuid, kPci, 0, 150'109'880'320) == 150'109'880'320);
  CHECK(resolve_budget(config, kUuid, kPci, 0, 0) == 0);
  config.budget = Percent{80};
  CHECK(resolve_budget(config, kUuid, kPci, 0, 150'109'880'320) == 120'087'904'256);
  config.budget = Percent{12.5};
  CHECK(budget_of(config) == 3_GiB);
}

TEST_CASE("names that fit no device, or several, are reported as written") {
  GuardConfig config;
  config.device_budgets = {{"cuda:7", Bytes{1_GiB}}, {"GPU-8f6e", Bytes{1_GiB}}, {"GPU-8f6e1c1a", Bytes{1_GiB}}};
  const auto doubtful = doubtful_names(config, {{kUuid, kPci, 0}, {kOtherUuid, "0000:3c:00.0", 1}});
  CHECK(doubtful.unmatched == std::vector<std::string>{"cuda:7"});
  CHECK(doubtful.ambiguous == std::vector<std::string>{"GPU-8f6e"});
}
