// A MemoryGuard whose budget is used up.
#pragma once

#include "core/memory_guard.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/manual_clock.h"
#include "tests/unit/fake_device.h"

namespace vramguard {

using Buffers = std::vector<DeviceBuffer<char>>;

// A budget of 1 GiB that is used to the last page, in buffers of 128 MiB.
struct FullGuard {
  explicit FullGuard(const MemoryPolicy& policy = Fail{})
      : guard(MemoryGuardBuilder(device).budget_bytes(1_GiB).oom_policy(policy).clock(clock).build()) {
    // A time that is over for the system, whenever it was started: whoever waits until then looks at once.
    clock.advance(std::chrono::seconds(1) - std::chrono::hours(1));
    for (int i = 0; i < 8; ++i) cache.push_back(guard.safe_alloc<char>(128_MiB));
  }
  // Frees one buffer and tells `claims` of it.
  MemoryHook hook(const std::string& name, std::int64_t priority = 0, Bytes estimate = 0) {
    return {
        .name = name, .estimated_free_bytes = estimate, .priority = priority, .callback = [this, name](const auto&) {
          ran.push_back(name);
          cache.pop_back();
          return Bytes{128_MiB};
        }};
  }

  ManualClock clock;
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  MemoryGuard guard;
  Buffers cache;
  std::vector<std::string> ran;
};

using Names = std::vector<std::string>;

}  // namespace vramguard
