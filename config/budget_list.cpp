#include "config/budget_list.h"

#include "core/device_name.h"

#include <algorithm>
#include <utility>

namespace vramguard {
namespace {

bool same_device(const std::string& a, const std::string& b) {
  const auto first = parse_device_name(a);
  const auto second = parse_device_name(b);
  return first && second && same_name(*first, *second);
}

bool is_named(const BudgetList& list, const std::string& device) {
  return std::any_of(list.named.begin(), list.named.end(),
                     [&](const NamedBudget& item) { return same_device(item.device, device); });
}

}  // namespace

std::string bad_device_name(std::string_view name) {
  return "'" + std::string(name) +
         R"(' names no GPU; write "cuda:0", "pci:0000:3b:00.0" or a UUID such as "GPU-8f6e1c1a")";
}

std::variant<NamedBudget, std::string> parse_named_budget(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return "'" + std::string(text) + "' is not GPU=SIZE, such as cuda:0=8GiB";
  const std::string_view device = text.substr(0, equals);
  if (!parse_device_name(device)) return bad_device_name(device);
  auto size = parse_size(text.substr(equals + 1));
  if (auto* error = std::get_if<SizeError>(&size)) return std::string(device) + ": " + error->message;
  return NamedBudget{std::string(device), std::get<Size>(size), std::string(text.substr(equals + 1))};
}

std::variant<BudgetList, std::string> parse_budget_list(std::string_view text) {
  BudgetList list;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);

    if (item.find('=') != std::string_view::npos) {
      auto named = parse_named_budget(item);
      if (auto* error = std::get_if<std::string>(&named)) return std::move(*error);
      auto& budget = std::get<NamedBudget>(named);
      if (is_named(list, budget.device)) return "'" + budget.device + "' is there twice";
      list.named.push_back(std::move(budget));
      continue;
    }
    auto size = parse_size(item);
    if (auto* error = std::get_if<SizeError>(&size)) return std::move(error->message);
    if (list.general) {
      return "there are two budgets without a GPU, '" + list.general_text + "' and '" + std::string(item) + "'";
    }
    list.general = std::get<Size>(size);
    list.general_text = item;
  }
  return list;
}

void set_named(BudgetList& list, NamedBudget budget) {
  for (NamedBudget& item : list.named) {
    if (same_device(item.device, budget.device)) {
      item = std::move(budget);
      return;
    }
  }
  list.named.push_back(std::move(budget));
}

std::string format_budget_list(const BudgetList& list) {
  std::string out = list.general_text;
  for (const NamedBudget& item : list.named) {
    if (!out.empty()) out += ',';
    out += item.device + "=" + item.text;
  }
  return out;
}

}  // namespace vramguard
