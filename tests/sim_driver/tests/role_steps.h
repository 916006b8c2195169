// What the roles of several files begin or end with.
#pragma once

#include <unistd.h>

#include <cstdlib>

#include "tests/sim_driver/api.h"

inline CUcontext make_context(int device = 0) {
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS) std::exit(3);
  return context;
}

inline void wait_for_end_of_input() {
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) > 0) {
  }
}
