// What the memory map of a process tells of its use of a GPU.
#pragma once

#include <sys/types.h>

#include <iosfwd>
#include <optional>

namespace vramguard {

struct GpuTraces {
  bool guard = false;   // libvramguard.so is loaded
  bool libc = false;    // the loader maps it after everything that is preloaded
  bool driver = false;  // libcuda.so is loaded
  bool device = false;  // that of unified memory is mapped: CUDA has been started
};

// nullopt: there is no such process, it is ending, or this user may not look.
std::optional<GpuTraces> gpu_traces_of(pid_t pid);

// Of text as in /proc/PID/maps; nullopt where it is not all there.
std::optional<GpuTraces> gpu_traces_in(std::istream& maps);

}  // namespace vramguard
