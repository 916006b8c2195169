#include "shim/cuda_ordinal.h"

#include <catch2/catch.hpp>

using namespace vramguard;

namespace {

const std::vector<ListedDevice> kAlike = {{"GPU-0a", "H200"}, {"GPU-1b", "H200"}, {"GPU-2c", "H200"}};
const std::vector<ListedDevice> kMixed = {{"GPU-0a", "T4"}, {"GPU-1b", "H200"}, {"GPU-2c", "T4"}};

std::vector<int> ordinals(const std::vector<ListedDevice>& listed, const char* visible, const char* order = nullptr) {
  std::vector<int> list;
  for (const ListedDevice& device : listed) list.push_back(cuda_ordinal(device.uuid, listed, visible, order));
  return list;
}

using Ordinals = std::vector<int>;

}  // namespace

TEST_CASE("devices of one model are numbered as they are listed, or as the program's list says", "[cuda_ordinal]") {
  CHECK(ordinals(kAlike, nullptr) == Ordinals{0, 1, 2});
  CHECK(ordinals(kAlike, "2,0") == Ordinals{1, -1, 0});
  CHECK(ordinals(kAlike, "GPU-1, 2") == Ordinals{-1, 0, 1});
  CHECK(ordinals(kAlike, "") == Ordinals{-1, -1, -1});
  CHECK(ordinals(kAlike, "1,3,0") == Ordinals{-1, 0, -1});
  CHECK(ordinals(kAlike, "1,GPU-1b") == Ordinals{-1, -1, -1});
  CHECK(cuda_ordinal("", kAlike, nullptr, nullptr) == -1);
  CHECK(cuda_ordinal("GPU-77", kAlike, nullptr, nullptr) == -1);
  CHECK(cuda_ordinal("GPU-0a", {}, "0", nullptr) == -1);
}

TEST_CASE("of different models, or unknown ones, only names and PCI order are certain", "[cuda_ordinal]") {
  CHECK(ordinals(kMixed, nullptr) == Ordinals{-1, -1, -1});
  CHECK(ordinals(kMixed, nullptr, "FASTEST_FIRST") == Ordinals{-1, -1, -1});
  CHECK(ordinals(kMixed, nullptr, "PCI_BUS_ID") == Ordinals{0, 1, 2});
  CHECK(ordinals(kMixed, "2,1", "PCI_BUS_ID") == Ordinals{-1, 1, 0});
  CHECK(ordinals(kMixed, "GPU-2c,1,GPU-0a") == Ordinals{2, -1, 0});
  CHECK(ordinals({{"GPU-0a", ""}, {"GPU-1b", ""}}, nullptr) == Ordinals{-1, -1});
}

TEST_CASE("a partition that is named first is all that a program sees", "[cuda_ordinal]") {
  CHECK(cuda_ordinal("MIG-5f", kAlike, "MIG-5f,0", nullptr) == 0);
  CHECK(cuda_ordinal("MIG-5f", kAlike, "MIG-6a", nullptr) == -1);
  CHECK(cuda_ordinal("MIG-5f", kAlike, "0,MIG-5f", nullptr) == -1);
  CHECK(cuda_ordinal("MIG-5f", kAlike, nullptr, nullptr) == -1);
  CHECK(ordinals(kAlike, "MIG-5f,0") == Ordinals{-1, -1, -1});
  CHECK(ordinals(kAlike, "1,MIG-5f,0") == Ordinals{-1, 0, -1});
}
