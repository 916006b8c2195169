// What the shim must know of a stream: the device of its work, and whether it is being captured.
#pragma once

#include "shim/driver.h"
#include "shim/process.h"

namespace vramguard {

// The functions with and without per-thread default stream differ in what the default stream is.
struct StreamForm {
  abi::CUresult (*DriverQueries::*is_capturing)(abi::CUstream, abi::CUstreamCaptureStatus*);
  abi::CUresult (*DriverQueries::*context_of)(abi::CUstream, abi::CUcontext*);
};
inline constexpr StreamForm kLegacyStreams{&DriverQueries::cuStreamIsCapturing, &DriverQueries::cuStreamGetCtx};
inline constexpr StreamForm kPerThreadStreams{&DriverQueries::cuStreamIsCapturing_ptsz,
                                              &DriverQueries::cuStreamGetCtx_ptsz};

bool is_capturing(const StreamForm& form, abi::CUstream stream) noexcept;

// The device that work on `stream` runs on; null where nobody can tell, as without a current context for the default
// stream. No driver call where the program sees one device only, or for the stream that the thread used last; otherwise
// 20 to 60 ns.
GuardedDevice* device_of_stream(Guard& guard, const StreamForm& form, abi::CUstream stream) noexcept;

// Streams are about to end, one by itself or all of a context: their handles may come to mean others.
void streams_end() noexcept;

}  // namespace vramguard
