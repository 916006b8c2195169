// The counts of guarded processes as series of metrics, and the sums of those that have ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/state/process_state.h"
#include "core/state/series.h"
#include "core/state/state_folder.h"

namespace vramguard {

// By series, written as Prometheus writes them: vramguard_requests_refused_total{gpu_uuid="GPU-...",scope="budget"}.
// Times are in milliseconds, and their names say so.
using Counters = std::map<std::string, std::uint64_t>;

// Stops at the most that there is.
constexpr std::uint64_t added(std::uint64_t a, std::uint64_t b) noexcept {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// Where the process runs: its pod and namespace, else its Slurm job, else its container, else nothing.
Labels workload_labels(const ProcessState& state);

// What only ever grows, of one process, added to `sums`.
void add_counters(const ProcessState& state, Counters& sums);

// The sums that a folder keeps of processes that have ended; what cannot be read is left out.
Counters read_totals(const std::string& folder);

// Adds what the process of the stale public file has counted to the folder's sums and removes its files: in one step,
// whoever dies or races meanwhile. A process that ends does it to its own file. Only in a folder of this user, and
// never for longer than about 0.1 s. False: somebody else is at it, or it cannot be done; the file is still there then.
bool fold(const std::string& folder, const std::string& state_path) noexcept;
// The stale files of the folder, at most so many, until one cannot be.
void fold_stale(const StateFolder& folder, std::size_t most = SIZE_MAX) noexcept;

}  // namespace vramguard
