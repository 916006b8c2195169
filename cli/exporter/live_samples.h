// Samples of the processes that live, and of the cards that they are on.
#pragma once

#include <vector>

#include "cli/exporter/card_names.h"
#include "cli/exporter/folder_reading.h"
#include "cli/exporter/samples.h"

namespace vramguard {

// `per_process`: the gauges of each process have labels of its own.
void add_live(const std::vector<LiveProcess>& live, const CardNames& cards, bool per_process, Samples& samples);

// What is free on the cards: by NVML, else as the process says that wrote last.
void add_free(const std::vector<LiveProcess>& live, const NvmlView& nvml, const CardNames& cards, Samples& samples);

// Processes that NVML shows and that are not guarded. Nothing where NVML tells nothing.
void add_unguarded(const std::vector<LiveProcess>& live, const NvmlView& nvml, const CardNames& cards,
                   Samples& samples);

// Sums of a folder.
void add_counts(const Counters& counters, const CardNames& cards, Samples& samples);

}  // namespace vramguard
