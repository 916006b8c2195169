// How long the guard's own work of one allocation and its free takes. Not a test; run it by hand on a quiet machine.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "core/ledger.h"

using namespace vramguard;

namespace {

constexpr int kPairs = 2'000'000;
constexpr Bytes kEach = 300'000;
constexpr Bytes kStride = 301'056;  // as a driver would pack them: 512-byte steps, several to a page

bool allocate(Ledger& guard, std::uint64_t address) {
  auto reservation = guard.reserve_linear(kEach);
  return reservation && guard.settle(*reservation, {address, kEach});
}

double ns_per_pair(std::uint64_t live, int thread_count) {
  Ledger guard(Bytes{1} << 46, nullptr, nullptr);
  constexpr std::uint64_t kBase = 0x7fc000000000;
  for (std::uint64_t i = 0; i < live; ++i) allocate(guard, kBase + i * kStride);

  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  std::vector<double> elapsed(static_cast<std::size_t>(thread_count));
  for (int thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back([&, thread] {
      // Each thread frees and takes its own part of the live ones, in steps that do not follow memory.
      const std::uint64_t own = live / static_cast<std::uint64_t>(thread_count);
      const std::uint64_t first = own * static_cast<std::uint64_t>(thread);
      ++ready;
      while (ready < thread_count) {
      }
      const auto start = std::chrono::steady_clock::now();
      for (std::uint64_t i = 0; i < kPairs; ++i) {
        const std::uint64_t address = kBase + (first + i * 7919 % own) * kStride;
        guard.release({address, kEach});
        allocate(guard, address);
      }
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      elapsed[static_cast<std::size_t>(thread)] = took.count() / kPairs;
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double each : elapsed) sum += each;
  return sum / thread_count;
}

}  // namespace

int main() {
  std::printf("%10s %8s %28s\n", "live", "threads", "ns per reserve+settle+release");
  for (const std::uint64_t live : {1'000, 100'000}) {
    for (const int threads : {1, 2}) {
      std::printf("%10llu %8d %28.0f\n", static_cast<unsigned long long>(live), threads, ns_per_pair(live, threads));
    }
  }
}
