// The version that this build of the driver tells, and up to which it has functions.
#pragma once

namespace vgsim {

extern const int kDriverVersion;

}  // namespace vgsim
