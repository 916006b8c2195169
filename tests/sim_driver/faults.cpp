#include "tests/sim_driver/faults.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/sim_driver/environment.h"
#include "tests/sim_driver/shared_state.h"

namespace vgsim {
namespace {

struct LocalFault {
  Function function;
  int code;
  std::atomic<int> left;
};

// The faults of this process's environment; never destroyed.
struct LocalFaults {
  LocalFault faults[32];
  int fault_count = 0;
  int delay_ms[kFunctionCount] = {};

  LocalFaults() {
    for (const EnvironmentFault& fault : environment().faults) {
      const int function = find_function(fault.name);
      if (function < 0 || fault_count == 32) continue;
      faults[fault_count].function = static_cast<Function>(function);
      faults[fault_count].code = fault.code;
      faults[fault_count++].left = fault.nth;
    }
    for (const auto& [name, ms] : environment().delays_ms) {
      if (const int function = find_function(name); function >= 0) delay_ms[function] = ms;
    }
  }
};

LocalFaults& local_faults() {
  static auto* const faults = new LocalFaults;
  return *faults;
}

}  // namespace

int count_and_find_fault(Function function) {
  const int index = static_cast<int>(function);
  SharedState* shared = shared_state();
  LocalFaults& local = local_faults();
  int delay = local.delay_ms[index];
  int code = 0;
  if (shared) {
    shared->count_call(index);
    delay = std::max(delay, shared->delay_ms(index));
    code = shared->fault_due(index);
  }
  for (int i = 0; i < local.fault_count; ++i) {
    LocalFault& fault = local.faults[i];
    if (fault.function == function && fault.left.load(std::memory_order_relaxed) > 0 && fault.left.fetch_sub(1) == 1)
      code = fault.code;
  }
  if (delay > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay));
  return code;
}

}  // namespace vgsim
