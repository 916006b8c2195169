// The counts of guarded processes as series of metrics, and the sums of those that have ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/state/process_state.h"
#include "core/state/state_folder.h"

namespace vramguard {

// By series, written as Prometheus writes them:
// vramguard_requests_refused_total{gpu="0",gpu_uuid="GPU-...",scope="budget"}.
using Counters = std::map<std::string, std::uint64_t>;

// What only ever grows, of one process, added to `sums`.
void add_counters(const ProcessState& state, Counters& sums);

// What `text` is as the value of a label.
std::string escaped_label(const std::string& text);

// The sums that a folder keeps of processes that have ended; what cannot be read is left out.
Counters read_totals(const std::string& folder);

// Adds what the process of the stale public file has counted to the folder's sums and removes its files: in one step,
// whoever dies or races meanwhile. Only in a folder of this user. False: somebody else is at it, or it cannot be done.
bool fold(const std::string& folder, const std::string& state_path) noexcept;
// All stale files of the folder.
void fold_stale(const StateFolder& folder) noexcept;

}  // namespace vramguard
