// The table of processes for people.
#pragma once

#include <string>
#include <vector>

#include "cli/process_table.h"
#include "cli/table_rows.h"
#include "cli/text_columns.h"

namespace vramguard {

enum class TableBars { None, OfBudget };

// A line for the titles and one for each row, without line ends.
std::vector<std::string> table_lines(const ProcessTable& table, const TableView& view, const TextStyle& style,
                                     TableBars bars = TableBars::None);

// "[####----]": `part` of `whole`, never more than all of it; all dashes where one of them is unknown.
std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t width);

// "8GiB"; "-" for kStateUnknown.
std::string bytes_text(std::uint64_t bytes);
// "45s", "12m", "3h", "9d".
std::string age_text(std::int64_t ms);

}  // namespace vramguard
