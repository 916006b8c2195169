#include "tests/sim_driver/synchronisation.h"

#include "tests/sim_driver/graph_memory.h"
#include "tests/sim_driver/memory_pools.h"

namespace vgsim {

void synchronise() {
  synchronise_pools();
  synchronise_graph_memory();
}

}  // namespace vgsim
