#define CATCH_CONFIG_RUNNER
#include <stdlib.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <filesystem>

#include "tests/sim_driver/tests/roles.h"

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--role") == 0) return play_role({argv + 2, argv + argc});
  // Devices of this run's own, so that nothing else on the machine is in the way.
  char folder[] = "/tmp/vgsim-test-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  setenv("VGSIM_TEST_FOLDER", folder, 1);
  setenv("VGSIM_STATE", (std::string(folder) + "/state").c_str(), 1);
  setenv("VGSIM_DEVICES", "2", 1);
  setenv("VGSIM_MEMORY", "16GiB,8GiB", 1);
  for (const char* name : {"VGSIM_NEIGHBOUR", "VGSIM_FAIL", "VGSIM_DELAY", "VGSIM_MISSING", "VGSIM_TRACE", "VGSIM_NVML",
                           "CUDA_VISIBLE_DEVICES"})
    unsetenv(name);
  const int result = Catch::Session().run(argc, argv);
  std::filesystem::remove_all(folder);
  return result;
}
