// A program with a cache of its own under a budget of 2 GiB: when a request does not fit, a hook empties the cache.
#include <vramguard/cuda_device.h>
#include <vramguard/memory_guard.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

using namespace vramguard;
using namespace vramguard::literals;

namespace {

void print(const char* what, const MemoryGuard& guard) {
  const MemoryStats stats = guard.stats();
  std::cout << what << ": " << format_bytes(stats.used) << " of " << format_bytes(stats.budget) << " used, pressure "
            << to_string(guard.pressure_level()) << "\n";
}

int run() {
  MemoryGuard guard = MemoryGuardBuilder(std::make_shared<CudaDevice>(0))
                          .budget_bytes(2_GiB)
                          .reserve_bytes(256_MiB)
                          .oom_policy(CheckpointAndFail{})
                          .build();
  std::cout << guard.device() << "\n";

  std::vector<DeviceBuffer<float>> cache;
  guard.register_hook({.name = "cache", .estimated_free_bytes = 1_GiB, .callback = [&](const MemoryShortage& shortage) {
                         std::cout << "hook: " << format_bytes(shortage.missing) << " are missing\n";
                         const Bytes before = guard.stats().used;
                         cache.clear();
                         return before - guard.stats().used;
                       }});
  guard.on_oom([](const MemoryShortage& shortage) {
    std::cout << "checkpoint before " << format_bytes(shortage.requested) << " are refused\n";
  });
  guard.add_pressure_listener([](PressureLevel from, PressureLevel to) {
    std::cout << "pressure: " << to_string(from) << " -> " << to_string(to) << "\n";
  });

  for (int i = 0; i < 6; ++i) cache.push_back(guard.safe_alloc<float>(256_MiB / sizeof(float)));
  print("cache", guard);

  const std::vector<float> weights(1'000'000, 0.5F);
  const DeviceBuffer<float> on_device = guard.safe_alloc_copy<float>(weights);
  DeviceBuffer<float> activations = guard.safe_alloc_with_hooks<float>(1_GiB / sizeof(float));
  print("activations", guard);

  try {
    const auto too_much = guard.safe_alloc_with_hooks<char>(3_GiB);
  } catch (const MemoryError& error) {
    std::cout << "refused: " << error.what() << "\n";
  }
  guard.free(std::move(activations));
  print("at the end", guard);
  std::cout << guard.stats().oom_recoveries << " request was saved\n";
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const MemoryError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
