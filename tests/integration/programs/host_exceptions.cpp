// A C++ program with the shared libstdc++: exceptions and threads around the driver's calls.
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

extern "C" {
#include "tests/integration/programs/guest.h"
}

namespace {

driver cu;

struct Held {
  CUdeviceptr address = allocate_bytes(&cu, kMiB);
  ~Held() { cu.cuMemFree_v2(address); }
};

int caught_in_thread(int depth) {
  const Held held;
  if (depth == 0) throw std::runtime_error("deep");
  try {
    return caught_in_thread(depth - 1);
  } catch (const std::logic_error&) {
    return -1;
  }
}

}  // namespace

int main() {
  cu = start_cuda();
  std::vector<std::thread> threads;
  std::vector<int> caught(8, 0);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, &caught] {
      use_device(&cu, 0);
      for (int i = 0; i < 50; ++i) {
        try {
          caught_in_thread(i % 5);
        } catch (const std::exception& e) {
          caught[t] += e.what() == std::string("deep");
        }
        if (ask_too_much(&cu) != 2) caught[t] = -1000;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int sum = 0;
  for (const int count : caught) sum += count;
  try {
    sum += static_cast<int>(std::filesystem::file_size("/no/such/file"));
  } catch (const std::filesystem::filesystem_error&) {
    ++sum;
  }
  std::cout << "caught " << sum << std::endl;
}
