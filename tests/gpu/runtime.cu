// A program of the CUDA runtime, built with the static and with the shared one: sized to the budget, refused at it,
// goes on. runtime BUDGET_BYTES
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "report.h"

namespace {

constexpr std::size_t kChunk = std::size_t{64} << 20;

__global__ void scale(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = 2.0f * static_cast<float>(i);
}

bool computes_right() {
  constexpr int kCount = 1 << 20;
  float* device = nullptr;
  if (cudaMalloc(&device, kCount * sizeof(float)) != cudaSuccess) return false;
  scale<<<(kCount + 255) / 256, 256>>>(device, kCount);
  std::vector<float> host(kCount);
  const bool copied = cudaMemcpy(host.data(), device, kCount * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess;
  cudaFree(device);
  for (int i = 0; copied && i < kCount; ++i) {
    if (host[i] != 2.0f * static_cast<float>(i)) return false;
  }
  return copied;
}

void check_sizes(std::size_t budget) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  const cudaError_t code = cudaMemGetInfo(&free_bytes, &total_bytes);
  report(code == cudaSuccess && total_bytes == budget && free_bytes < budget, "cudaMemGetInfo", "the budget",
         "code %d, total %zu MiB, free %zu MiB", code, total_bytes >> 20, free_bytes >> 20);
  cudaDeviceProp properties{};
  const cudaError_t asked = cudaGetDeviceProperties(&properties, 0);
  report(asked == cudaSuccess && properties.totalGlobalMem == budget, "cudaGetDeviceProperties", "the budget",
         "code %d, %zu MiB", asked, properties.totalGlobalMem >> 20);
}

void check_refusal(std::size_t budget) {
  std::vector<void*> held;
  cudaError_t code = cudaSuccess;
  while (code == cudaSuccess && held.size() * kChunk < 2 * budget) {
    void* address = nullptr;
    code = cudaMalloc(&address, kChunk);
    if (code == cudaSuccess) held.push_back(address);
  }
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  report(code == cudaErrorMemoryAllocation && held.size() * kChunk < budget && free_bytes < kChunk + (4u << 20),
         "cudaMalloc at the limit", "code 2 when less than a request is left",
         "code %d with %zu MiB held, %zu MiB left", code, held.size() * kChunk >> 20, free_bytes >> 20);
  cudaGetLastError();
  for (std::size_t i = 0; i < held.size(); i += 2) {
    cudaFree(held[i]);
    held[i] = nullptr;
  }
  void* again = nullptr;
  const cudaError_t second = cudaMalloc(&again, kChunk);
  const bool right = computes_right();
  report(second == cudaSuccess && right, "goes on after the refusal", "code 0, kernel right", "code %d, kernel %s",
         second, right ? "right" : "wrong");
  cudaFree(again);
  for (void* address : held) cudaFree(address);
}

void check_resets(std::size_t budget) {
  int good = 0;
  cudaError_t last = cudaSuccess;
  for (int i = 0; i < 8; ++i) {
    void* address = nullptr;
    last = cudaMalloc(&address, budget / 2);
    good += last == cudaSuccess && cudaDeviceReset() == cudaSuccess;
  }
  report(good == 8, "half the budget, cudaDeviceReset", "8 of 8", "%d of 8, last code %d", good, last);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t budget = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{4} << 30;
  check_sizes(budget);
  check_refusal(budget);
  check_resets(budget);
  return report_failures != 0;
}
