#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "tests/sim_driver/tests/context_fixture.h"

namespace {

// The page rule once more, in the simplest way there is: a count for each page of each live allocation.
class PageModel {
 public:
  void add(std::uint64_t address, std::uint64_t bytes) {
    for (std::uint64_t page = address / kPage; page <= (address + bytes - 1) / kPage; ++page) ++users_[page];
  }
  void remove(std::uint64_t address, std::uint64_t bytes) {
    for (std::uint64_t page = address / kPage; page <= (address + bytes - 1) / kPage; ++page) {
      if (--users_[page] == 0) users_.erase(page);
    }
  }
  std::uint64_t bytes() const { return users_.size() * kPage; }

 private:
  std::map<std::uint64_t, int> users_;
};

struct Live {
  CUdeviceptr address;
  std::size_t bytes;
};

class Sizes {
 public:
  explicit Sizes(unsigned int seed) : random_(seed) {}
  std::size_t next() {
    constexpr std::size_t kEdges[] = {1, 512, 513, 1 << 20, (1 << 20) + 1, (2 << 20) - 1, 2 << 20, (2 << 20) + 1};
    switch (random_() % 4) {
      case 0:
        return kEdges[random_() % std::size(kEdges)];
      case 1:
        return 1 + random_() % (64 << 10);
      case 2:
        return 1 + random_() % (1 << 20);
      default:
        return 1 + random_() % (16 << 20);
    }
  }
  std::size_t below(std::size_t end) { return random_() % end; }

 private:
  std::mt19937 random_;
};

bool overlaps_nothing(const std::map<CUdeviceptr, std::size_t>& live, CUdeviceptr address, std::size_t bytes) {
  const auto next = live.lower_bound(address);
  if (next != live.end() && next->first < address + bytes) return false;
  return next == live.begin() || std::prev(next)->first + std::prev(next)->second <= address;
}

}  // namespace

TEST_CASE("bytes taken are the distinct pages of the live addresses after each of 20,000 random operations") {
  const InContext here;
  PageModel model;
  Sizes sizes(20240607);
  std::vector<Live> live;
  std::map<CUdeviceptr, std::size_t> by_address;
  int wrong_place = 0;
  for (int step = 0; step < 20000; ++step) {
    if (live.size() < 900 && (live.empty() || sizes.below(100) < 55)) {
      const std::size_t bytes = sizes.next();
      CUdeviceptr address = 0;
      if (cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS) {
        FAIL("refused at step " << step);
      }
      const bool small = bytes <= kMiB;
      const bool one_page = address / kPage == (address + bytes - 1) / kPage;
      if (address % 512 != 0 || (small ? !one_page : address % kPage != 0)) ++wrong_place;
      if (!overlaps_nothing(by_address, address, bytes)) ++wrong_place;
      live.push_back({address, bytes});
      by_address[address] = bytes;
      model.add(address, bytes);
    } else {
      const std::size_t which = sizes.below(live.size());
      const Live gone = live[which];
      live[which] = live.back();
      live.pop_back();
      by_address.erase(gone.address);
      model.remove(gone.address, gone.bytes);
      REQUIRE(cuMemFree_v2(gone.address) == CUDA_SUCCESS);
    }
    if (here.taken() != model.bytes()) FAIL("step " << step << ": " << here.taken() << " is not " << model.bytes());
  }
  CHECK(wrong_place == 0);
  for (const Live& one : live) REQUIRE(cuMemFree_v2(one.address) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("a small request lands in the unused tail of a large one") {
  const InContext here;
  const CUdeviceptr large = here.alloc(kPage + 1);
  CHECK(here.taken() == 2 * kPage);
  const CUdeviceptr small = here.alloc(1000);
  CHECK(small / kPage == large / kPage + 1);
  CHECK(here.taken() == 2 * kPage);
  // The page goes back with its last user, not with the first.
  CHECK(cuMemFree_v2(large) == CUDA_SUCCESS);
  CHECK(here.taken() == kPage);
  CHECK(cuMemFree_v2(small) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("devices have addresses of their own") {
  const InContext first(0);
  const CUdeviceptr on_first = first.alloc(1);
  const InContext second(1);
  const CUdeviceptr on_second = second.alloc(1);
  CHECK(on_first >> 40 != on_second >> 40);
  // Freed with the other device's context current.
  CHECK(cuMemFree_v2(on_first) == CUDA_SUCCESS);
  CHECK(second.taken() == kPage);
}

TEST_CASE("the 32-bit functions give 32-bit addresses that count like others") {
  const InContext here;
  CUdeviceptr_v1 address = 0;
  unsigned int pitch = 0;
  REQUIRE(cuMemAlloc(&address, 3 << 20) == CUDA_SUCCESS);
  CHECK(here.taken() == 2 * kPage);
  CHECK(cuMemFree(address) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocPitch(&address, &pitch, 600, 10, 4) == CUDA_SUCCESS);
  CHECK(pitch == 1024);
  CUdeviceptr_v1 base = 0;
  unsigned int size = 0;
  CHECK(cuMemGetAddressRange(&base, &size, address + 5) == CUDA_SUCCESS);
  CHECK(base == address);
  CHECK(size == 10240);
  CHECK(cuMemFree(address) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("threads allocate and free at once, and nothing is lost") {
  const InContext here;
  std::vector<std::thread> threads;
  for (unsigned int t = 0; t < 8; ++t) {
    threads.emplace_back([&here, t] {
      if (cuCtxSetCurrent(here.context) != CUDA_SUCCESS) return;
      Sizes sizes(t);
      std::vector<CUdeviceptr> live;
      for (int i = 0; i < 500; ++i) {
        CUdeviceptr address = 0;
        if (cuMemAlloc_v2(&address, sizes.next()) == CUDA_SUCCESS) live.push_back(address);
        std::size_t free = 0;
        cuMemGetInfo_v2(&free, nullptr);
        if (live.size() > 20) {
          cuMemFree_v2(live.front());
          live.erase(live.begin());
        }
      }
      for (const CUdeviceptr address : live) cuMemFree_v2(address);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(here.taken() == 0);
}
