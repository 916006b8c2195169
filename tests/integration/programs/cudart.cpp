// A program of the CUDA runtime. On the simulated driver it gets as far as its look-ups and "no device".
#include <cuda_runtime_api.h>

#include <cstdio>

int main() {
  int count = -1;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  void* memory = nullptr;
  const cudaError_t allocated = cudaMalloc(&memory, 1 << 20);
  int version = 0;
  cudaDriverGetVersion(&version);
  std::printf("count %d %d\nmalloc %d\ndriver %d\n", static_cast<int>(counted), count, static_cast<int>(allocated),
              version);
}
