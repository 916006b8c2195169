#include "tests/sim_driver/driver_version.h"

namespace vgsim {

const int kDriverVersion = VGSIM_DRIVER_VERSION;

}  // namespace vgsim
