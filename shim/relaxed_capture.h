// Lets this thread make driver calls of our own while somebody captures a stream.
#pragma once

#include "shim/driver.h"

namespace vramguard {

// Belongs to one thread. A call that is not allowed during capture would be refused, and ruin the capture (measured on
// H200, driver 580); in relaxed mode it is harmless. 26 ns for both exchanges.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept {
    active_ = ask(&DriverQueries::cuThreadExchangeStreamCaptureMode, &mode_) == abi::CUDA_SUCCESS;
  }
  ~RelaxedCapture() {
    if (active_) ask(&DriverQueries::cuThreadExchangeStreamCaptureMode, &mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;

 private:
  abi::CUstreamCaptureMode mode_ = abi::CU_STREAM_CAPTURE_MODE_RELAXED;
  bool active_;
};

}  // namespace vramguard
