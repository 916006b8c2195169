// What cuGetProcAddress finds.
#pragma once

#include <cstdint>

#include "tests/sim_driver/abi.h"

namespace vgsim {

struct ProcAddress {
  void* address;
  CUdriverProcAddressQueryResult status;
  CUresult problem;
};

ProcAddress find_proc_address(const char* name, int version, std::uint64_t flags);

}  // namespace vgsim
