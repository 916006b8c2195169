#include "tests/sim_driver/call.h"

namespace vgsim {
namespace {

const char* name_of(CUresult error) {
  switch (error) {
#define VGSIM_ERROR(name, value, text) \
  case name:                           \
    return #name;
#include "tests/sim_driver/error_codes.inc"
#undef VGSIM_ERROR
  }
  return nullptr;
}

const char* text_of(CUresult error) {
  switch (error) {
#define VGSIM_ERROR(name, value, text) \
  case name:                           \
    return text;
#include "tests/sim_driver/error_codes.inc"
#undef VGSIM_ERROR
  }
  return nullptr;
}

CUresult answer(const char* text, const char** out) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = text;
  return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API_ALWAYS(cuGetErrorName, (CUresult error, const char** out), answer(name_of(error), out))
VGSIM_API_ALWAYS(cuGetErrorString, (CUresult error, const char** out), answer(text_of(error), out))
