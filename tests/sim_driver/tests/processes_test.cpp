#include <catch2/catch.hpp>

#include <cstdio>
#include <string>

#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/context_fixture.h"

TEST_CASE("processes share a device, and a killed one's use is gone at once, reaped or not") {
  const InContext here(1);
  Child other(role({"hold", "1", std::to_string(64 * kMiB)}), {});
  REQUIRE(other.read_line() == "ready 0");
  CHECK(here.taken() == (520 + 64) * kMiB);
  CHECK(simctl({"processes", "1"}).find(std::to_string(other.pid()) + " " + std::to_string((520 + 64) * kMiB)) !=
        std::string::npos);
  other.kill_now();
  other.wait_for_death();
  CHECK(here.taken() == 0);
  CHECK(other.wait() == 128 + 9);
  CHECK(here.taken() == 0);
}

TEST_CASE("processes that grab all they can never take more than the device has") {
  const Environment own{{"VGSIM_MEMORY", "4GiB"}, {"VGSIM_STATE", scratch_file("grab")}};
  Child first(role({"grab"}), own);
  Child second(role({"grab"}), own);
  Child third(role({"grab"}), own);
  int pages = 0;
  for (Child* child : {&first, &second, &third}) REQUIRE(child->read_line() == "ready");
  for (Child* child : {&first, &second, &third}) child->close_input();
  for (Child* child : {&first, &second, &third}) pages += std::stoi(child->read_line());
  CHECK(static_cast<std::uint64_t>(pages) * kPage == (4096 - 3 * 520) * kMiB);
  for (Child* child : {&first, &second, &third}) child->kill_now();
}

TEST_CASE("what a process held before it became another program does not count") {
  const InContext here(0);
  Child child(role({"exec"}), {});
  REQUIRE(child.read_line() == "ready 0");
  CHECK(here.taken() == (520 + 2) * kMiB);
}

TEST_CASE("a neighbour takes memory that nobody else can have") {
  const InContext here(1);
  simctl({"neighbour", "1", "1GiB"});
  CHECK(here.taken() == 1024 * kMiB);
  simctl({"neighbour", "1", "all"});
  CHECK(free_bytes() == 0);
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, 1) == CUDA_ERROR_OUT_OF_MEMORY);
  Child greedy({SIMCTL, "neighbour", "1", "100GiB"}, {});
  CHECK(greedy.wait() == 1);
  simctl({"neighbour", "1", "0"});
  CHECK(here.taken() == 0);
}

TEST_CASE("the environment gives devices and neighbours unless a living process has them") {
  const Environment own{{"VGSIM_MEMORY", "4GiB"}, {"VGSIM_NEIGHBOUR", "1GiB"}, {"VGSIM_STATE", scratch_file("sizes")}};
  Environment larger = own;
  larger["VGSIM_MEMORY"] = "12GiB";
  {
    Child holder(role({"hold", "0", std::to_string(2048 * kMiB)}), own);
    REQUIRE(holder.read_line() == "ready 0");
    Child refused(role({"hold", "0", std::to_string(2048 * kMiB)}), larger);
    CHECK(refused.read_line().empty());  // 1 + 2 + 0.5 GiB of 4 leave no room for its context
  }
  Child admitted(role({"hold", "0", std::to_string(8192 * kMiB)}), larger);
  CHECK(admitted.read_line() == "ready 0");
}

TEST_CASE("a state file of another layout is replaced") {
  const std::string file = scratch_file("other-layout");
  FILE* stream = std::fopen(file.c_str(), "w");
  std::fputs("not a state file", stream);
  std::fclose(stream);
  CHECK(output_of({"allocate", "1"}, {{"VGSIM_STATE", file}}) == "0");
}
