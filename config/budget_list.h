// The text of VRAMGUARD_BUDGET: "8GiB", "cuda:0=8GiB,GPU-8f6e=4GiB", or both in one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/bytes.h"

namespace vramguard {

struct NamedBudget {
  std::string device;  // a valid device name
  Size size;
  std::string text;  // the size as it was written
};

// A plain value.
struct BudgetList {
  std::optional<Size> general;  // of the item without a name: for every device that the list does not name
  std::string general_text;
  std::vector<NamedBudget> named;
};

// The list, or what is wrong with it.
std::variant<BudgetList, std::string> parse_budget_list(std::string_view text);
// "GPU=SIZE".
std::variant<NamedBudget, std::string> parse_named_budget(std::string_view text);

// Adds `budget` or puts it in the place of one with the same name.
void set_named(BudgetList& list, NamedBudget budget);

// The text that parse_budget_list reads back to `list`.
std::string format_budget_list(const BudgetList& list);

// What to write for a device, for messages.
std::string bad_device_name(std::string_view name);

}  // namespace vramguard
