// What is in the memory: enough of it to see that copies and memsets do what they say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/sim_driver/abi.h"

namespace vgsim {

// All linear memory together keeps this much data; what is written beyond is dropped and reads as zeros.
inline constexpr std::uint64_t kKeptDataBytes = 64ULL << 20;

enum class Access { Read, Write };

// `bytes` of memory as the host sees it. Data that is not kept has a null pointer.
struct DataRange {
  std::byte* data;
};

// A range inside one allocation of the device; INVALID_VALUE for anything else. Managed memory becomes resident.
CUresult device_range(std::uint64_t address, std::uint64_t bytes, Access access, DataRange& range);

// A device address if it is one, otherwise the host's memory at that address.
CUresult any_range(std::uint64_t address, std::uint64_t bytes, Access access, DataRange& range);

// Host memory; INVALID_VALUE where it is NULL.
CUresult host_range(const void* pointer, DataRange& range);

void copy_data(DataRange to, DataRange from, std::uint64_t bytes);

}  // namespace vgsim
