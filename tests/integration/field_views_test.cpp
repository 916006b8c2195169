// What breaks elsewhere: the surfaces that show a card's memory, and whether they agree.
#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

using namespace vramguard::integration;

namespace {

constexpr std::uint64_t kContextBytes = 520_MiB;

// What CUDA and NVML say of one device.
struct View {
  std::string uuid;
  std::uint64_t total, free;
};

struct Views {
  std::vector<View> cuda;  // by ordinal
  std::vector<View> nvml;  // by index

  const View& nvml_of(const std::string& uuid) const {
    const auto found = std::find_if(nvml.begin(), nvml.end(), [&](const View& view) { return view.uuid == uuid; });
    REQUIRE(found != nvml.end());
    return *found;
  }
};

View cuda_view(std::istringstream& words) {
  View view;
  std::uint64_t info_total = 0, low_total = 0, low_free = 0, low_info = 0;
  words >> view.uuid >> view.total >> view.free >> info_total >> low_total >> low_free >> low_info;
  CHECK(info_total == view.total);
  const bool fits = view.total <= UINT32_MAX;  // else programs of 32 bits are told what the driver tells them
  if (fits)
    CHECK(std::vector<std::uint64_t>{low_total, low_free, low_info} ==
          std::vector<std::uint64_t>{view.total, view.free, view.total});
  return view;
}

View nvml_view(std::istringstream& words) {
  View view;
  int code = -1, code_v2 = -1;
  std::uint64_t used = 0, total_v2 = 0, free_v2 = 0, used_v2 = 0;
  words >> view.uuid >> code >> view.total >> view.free >> used >> code_v2 >> total_v2 >> free_v2 >> used_v2;
  CHECK(code == 0);
  CHECK(code_v2 == 0);
  CHECK(used + view.free == view.total);
  CHECK(std::vector<std::uint64_t>{total_v2, free_v2, used_v2} ==
        std::vector<std::uint64_t>{view.total, view.free, used});
  return view;
}

// Asks the program for everything at once.
Views look(Process& process) {
  Views views;
  process.write("look\n");
  for (std::string line = process.read_line(); line != "end"; line = process.read_line()) {
    std::istringstream words(line);
    std::string surface;
    int number = -1;
    words >> surface >> number;
    std::vector<View>& list = surface == "cuda" ? views.cuda : views.nvml;
    CHECK(number == static_cast<int>(list.size()));
    list.push_back(surface == "cuda" ? cuda_view(words) : nvml_view(words));
  }
  return views;
}

}  // namespace

TEST_CASE("CUDA of both sizes and NVML of both versions tell the same of each of four devices") {
  Host host({"8GiB", "4GiB", "6GiB", "8GiB"});
  const auto process = host.start(program("views"), {}, {.budget = "3GiB,cuda:1=1GiB,cuda:3=50%"});
  process->write("use 0 104857600\nuse 2 314572800\n");
  const Views views = look(*process);
  REQUIRE(views.cuda.size() == 4);
  REQUIRE(views.nvml.size() == 4);
  const std::vector<std::uint64_t> totals{3_GiB, 1_GiB, 3_GiB, 4_GiB}, taken{100_MiB, 0, 300_MiB, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(views.cuda[i].total == totals[i]);
    CHECK(views.cuda[i].free == totals[i] - kContextBytes - taken[i]);
    CHECK(views.nvml_of(views.cuda[i].uuid).total == views.cuda[i].total);
    CHECK(views.nvml_of(views.cuda[i].uuid).free == views.cuda[i].free);
  }
  process->finish();
  CHECK(host.log().all("device").size() == 4);
}

TEST_CASE("no surface shows more than the card has, wraps or fails, whatever the budget and whatever others take") {
  for (const std::string budget : {"16GiB", "8GiB", "1MiB", "519MiB", "521MiB"}) {
    CAPTURE(budget);
    Host host;
    const auto process = host.start(program("views"), {}, {.budget = budget});
    for (const std::string neighbour : {"0", "2GiB", "all"}) {
      CAPTURE(neighbour);
      const Views before = look(*process);  // has a context from now on, if it had none
      host.simctl({"neighbour", "0", neighbour});
      const Views views = look(*process);
      const std::uint64_t card_free = 8_GiB - host.used_bytes(0);
      for (const View& view : {views.cuda.at(0), views.nvml.at(0)}) {
        CHECK(view.total <= 8_GiB);
        CHECK(view.total == before.cuda.at(0).total);
        CHECK(view.free <= view.total);
        CHECK(view.free <= card_free);
      }
    }
    CHECK(process->finish().exit_status == 0);
    CHECK(host.log().all("device").size() == 1);
  }
}

TEST_CASE("queries of CUDA and NVML without outputs give the driver's codes, with a budget and without") {
  const Run plain = Host().run(program("views"), {}, {.preload = false, .input = "nulls\n"});
  REQUIRE(plain.exit_status == 0);
  for (const std::string budget : {"2GiB", "1MiB", "unlimited"}) {
    CAPTURE(budget);
    const Run run = Host().run(program("views"), {}, {.budget = budget, .input = "nulls\n"});
    CHECK(run.log.all("start").size() == 1);
    CHECK(run.exit_status == 0);
    CHECK(run.lines() == plain.lines());
  }
}
