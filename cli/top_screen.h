// What `vramguard top` shows, drawn for a terminal of any size.
#pragma once

#include <string>
#include <vector>

#include "cli/process_table.h"
#include "cli/table_rows.h"
#include "cli/terminal.h"

namespace vramguard {

struct TopView {
  TableView table{TableOrder::Used, true};
  bool records = true;
};

// At most `size.rows` lines of at most `size.columns` characters, without line ends. Processes have the first claim to
// the room, then the cards, then the records.
std::vector<std::string> draw_top(const ProcessTable& table, const TopView& view, TerminalSize size, bool colour);

// What a key changes; false: it ends the program.
bool obey_key(char key, TopView& view);

}  // namespace vramguard
