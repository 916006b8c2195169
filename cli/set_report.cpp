#include "cli/set_report.h"

#include <nlohmann/json.hpp>

namespace vramguard {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNearlyAll = 0.9;

std::string budget_text(Bytes bytes) { return bytes == kStateUnknown ? "unlimited" : format_bytes(bytes); }
Json budget_json(Bytes bytes) { return bytes == kStateUnknown ? Json(nullptr) : Json(bytes); }

bool is_over(const SetResult& result) {
  return result.new_bytes != kStateUnknown && result.used_bytes > result.new_bytes;
}

Json json_of(const SetResult& result) {
  Json json{{"pid", result.pid}, {"process", result.process}, {"what", result.what}, {"done", result.done}};
  json["message"] = result.message.empty() ? Json(nullptr) : Json(result.message);
  if (result.what == "budget") {
    json["uuid"] = result.uuid;
    json["ordinal"] = result.ordinal;
    json["old_budget_bytes"] = budget_json(result.old_bytes);
    json["budget_bytes"] = budget_json(result.new_bytes);
    json["used_bytes"] = result.used_bytes;
    json["preallocated"] = has_preallocated(result);
  }
  if (result.what == "policy") {
    json["old_policy"] = result.old_policy;
    json["policy"] = result.policy;
  }
  return json;
}

}  // namespace

bool has_preallocated(const SetResult& result) {
  return is_over(result) && result.old_bytes != kStateUnknown &&
         static_cast<double>(result.used_bytes) >= kNearlyAll * static_cast<double>(result.old_bytes);
}

std::string in_words(const SetResult& result) {
  if (result.what == "budget") {
    if (!result.done && result.old_bytes == result.new_bytes) return "";
    std::string text = result.process + " cuda:" + std::to_string(result.ordinal) + ": budget " +
                       budget_text(result.old_bytes) + " -> " + budget_text(result.new_bytes) + ", " +
                       format_bytes(result.used_bytes) + " in use";
    if (is_over(result)) text += ": refuses new requests until it is under it";
    if (has_preallocated(result))
      text +=
          "\n  It had taken nearly all of its old budget. What a program preallocates, as JAX does unless\n"
          "  XLA_PYTHON_CLIENT_PREALLOCATE=false, it gives back only when it ends.";
    return text;
  }
  if (!result.done) return "";
  if (result.what == "policy") return result.process + ": policy " + result.old_policy + " -> " + result.policy;
  return result.process + ": has read its configuration again";
}

std::string set_json(const std::vector<SetResult>& results) {
  Json all = Json::array();
  for (const SetResult& result : results) all.push_back(json_of(result));
  const Json json{{"schema", 1}, {"version", VRAMGUARD_VERSION}, {"results", all}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace vramguard
