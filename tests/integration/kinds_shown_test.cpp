// What tools see of a card with a budget: NVML tells the same as the driver.
#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

std::string numbers(std::uint64_t total, std::uint64_t free) {
  const std::string one = std::to_string(total) + " " + std::to_string(free) + " " + std::to_string(total - free);
  return "nvml " + one + " / " + one;
}

std::string line_of(const Run& run, const std::string& command) {
  for (const std::string& line : run.lines()) {
    if (line.rfind(command + " ", 0) == 0) return line;
  }
  return "";
}

const std::string kScript = "init\ndevice 0\nlinear 104857600\nasync 1000\nnvml\ninfo\n";

}  // namespace

TEST_CASE("NVML shows the budget and what is free of it, as the driver does") {
  Host host;
  const Run run = host.run(program("kinds"), {}, {.budget = "2GiB", .input = kScript});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.all("start").size() == 1);
  const std::uint64_t free = 2_GiB - 520_MiB - 100_MiB - 32_MiB;
  CHECK(line_of(run, "nvml") == numbers(2_GiB, free));
  CHECK(line_of(run, "info") == "info 0 " + std::to_string(free) + " " + std::to_string(2_GiB));
}

TEST_CASE("NVML shows an observed program the card") {
  Host host;
  const Run run =
      host.run(program("kinds"), {}, {.budget = "2GiB", .env = {{"VRAMGUARD_MODE", "observe"}}, .input = kScript});
  REQUIRE(run.exit_status == 0);
  CHECK(line_of(run, "nvml") == numbers(8_GiB, 8_GiB - 520_MiB - 100_MiB - 32_MiB));
}

TEST_CASE("NVML never shows more than the card has") {
  Host host;
  host.simctl({"neighbour", "0", "7GiB"});
  const Run run = host.run(program("kinds"), {}, {.budget = "6GiB", .input = "init\ndevice 0\nnvml\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(line_of(run, "nvml") == numbers(6_GiB, 1_GiB - 520_MiB));
}

TEST_CASE("a process that only asks NVML sees the budget, starts no guard and writes nothing") {
  Host host;
  const Run run = host.run(program("kinds"), {}, {.budget = "2GiB", .input = "nvml\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.empty());
  CHECK(run.err.empty());
  CHECK(line_of(run, "nvml") == numbers(2_GiB, 2_GiB));
}

TEST_CASE("a program that asks NVML first is guarded when it comes to CUDA") {
  Host host;
  const Run run = host.run(program("kinds"), {},
                           {.budget = "2GiB", .input = "nvml\ninit\ndevice 0\nlinear 1677721600\nlinear 1000\nused\n"});
  REQUIRE(run.exit_status == 0);
  CHECK(run.log.all("start").size() == 1);
  CHECK(line_of(run, "linear") == "linear 2");
}

TEST_CASE("NVML shows the card where only CUDA is virtualised, without a budget, and when switched off") {
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"VRAMGUARD_VIRTUALIZE", "cuda"}, {"VRAMGUARD_BUDGET", "unlimited"}, {"VRAMGUARD", "0"}}) {
    Host host;
    CAPTURE(name);
    const Run run = host.run(program("kinds"), {}, {.budget = "2GiB", .env = {{name, value}}, .input = "nvml\n"});
    CHECK(line_of(run, "nvml") == numbers(8_GiB, 8_GiB));
  }
}
