// The devices as the guard reads them: the driver's own numbers of pools and graphs, NVML's of the process and the
// card.
#pragma once

#include <vector>

#include "shim/nvml.h"

namespace vramguard {

// Thread-safe. Makes no context and needs none.
class CudaDevices final : public DeviceReader {
 public:
  explicit CudaDevices(const std::vector<DeviceInfo>& devices) : nvml_(devices) {}

  void prepare() noexcept override { nvml_.prepare(); }
  std::optional<Bytes> bytes_of_this_process(int ordinal) noexcept override {
    return nvml_.bytes_of_this_process(ordinal);
  }
  std::optional<Bytes> free_bytes(int ordinal) noexcept override { return nvml_.free_bytes(ordinal); }
  std::optional<Bytes> free_bytes_here(int ordinal) noexcept override;

  std::optional<Bytes> pool_bytes(PoolHandle pool) noexcept override;
  std::optional<Bytes> graph_bytes(int ordinal) noexcept override;
  bool trim_pool(PoolHandle pool) noexcept override;
  bool trim_graphs(int ordinal) noexcept override;
  std::optional<Chunk> take_chunk(int ordinal, Bytes bytes) noexcept override;
  void give_chunk(Chunk chunk) noexcept override;

 private:
  Nvml nvml_;
};

// What of a pool is in use; the same rules.
std::optional<Bytes> pool_bytes_in_use(PoolHandle pool) noexcept;

}  // namespace vramguard
