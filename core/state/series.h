// A series of metrics as Prometheus writes it: a name and labels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramguard {

using Labels = std::vector<std::pair<std::string, std::string>>;  // in the order in which they are written

struct Series {
  std::string name;
  Labels labels;
};

// What `text` is as the value of a label.
std::string escaped_label(const std::string& text);

// name{label="value",...}; the name alone without labels.
std::string series_text(std::string_view name, const Labels& labels);

// What series_text() writes, with values that anybody may be shown; nullopt for anything else.
std::optional<Series> parse_series(std::string_view text);

}  // namespace vramguard
