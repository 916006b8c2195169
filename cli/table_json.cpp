#include "cli/table_json.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace vramguard {
namespace {

using Json = nlohmann::ordered_json;

Json bytes(std::uint64_t value) { return value == kStateUnknown ? Json(nullptr) : Json(value); }

template <typename T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json known(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_of(const TableDevice& device) {
  return {{"uuid", device.uuid},
          {"index", known(device.index)},
          {"pci_bus_id", known(device.pci_bus_id)},
          {"name", known(device.name)},
          {"total_bytes", bytes(device.total_bytes)},
          {"free_bytes", bytes(device.free_bytes)},
          {"guarded_bytes", device.guarded_bytes},
          {"unguarded_bytes", device.unguarded_bytes}};
}

Json json_of(const TableUse& use, const TableDevice& device, bool guarded) {
  Json json{{"uuid", device.uuid}, {"index", known(device.index)}, {"used_bytes", bytes(use.used_bytes)}};
  if (!guarded) return json;
  json["ordinal"] = known(use.ordinal);
  json["level"] = to_string(use.level);
  json["budget_bytes"] = bytes(use.budget_bytes);
  json["peak_bytes"] = bytes(use.peak_bytes);
  json["sentinel_bytes"] = use.sentinel_bytes;
  json["refused"] = use.refused;
  json["returned"] = use.returned;
  json["recovered"] = use.recovered;
  return json;
}

Json json_of(const TableProcess& process, const ProcessTable& table) {
  const bool guarded = process.guarded == Guarded::Yes;
  Json json{{"guarded", to_string(process.guarded)},
            {"pid", known(process.pid)},
            {"own_pid", known(process.own_pid)},
            {"uid", known(process.uid)},
            {"user", known(process.user)},
            {"command", known(process.command)},
            {"started_at_ms", known(process.started_at_ms)}};
  if (guarded) {
    json["comm"] = process.comm;
    json["group"] = known(process.group);
    json["mode"] = process.mode;
    json["policy"] = process.policy;
    json["version"] = process.version;
    json["log"] = known(process.log_path);
    json["namespace"] = known(process.namespace_);
    json["pod"] = known(process.pod);
    json["container"] = known(process.container);
    json["slurm_job"] = known(process.slurm_job);
  }
  json["devices"] = Json::array();
  for (const TableUse& use : process.uses) json["devices"].push_back(json_of(use, table.devices[use.device], guarded));
  return json;
}

Json json_of(const TableGroup& group, const ProcessTable& table) {
  return {{"name", group.name},
          {"uid", group.uid},
          {"uuid", table.devices[group.device].uuid},
          {"index", known(table.devices[group.device].index)},
          {"processes", group.processes},
          {"level", to_string(group.level)},
          {"used_bytes", group.used_bytes},
          {"budget_bytes", bytes(group.budget_bytes)},
          {"refused", group.refused}};
}

}  // namespace

std::string table_json(const ProcessTable& table) {
  Json json{{"schema", 1},
            {"version", VRAMGUARD_VERSION},
            {"time_ms", table.now_ms},
            {"nvml", to_string(table.nvml)},
            {"driver_version", known(table.driver_version)}};
  for (const char* list : {"devices", "processes", "groups", "unreadable"}) json[list] = Json::array();
  for (const TableDevice& device : table.devices) json["devices"].push_back(json_of(device));
  for (const TableProcess& process : table.processes) json["processes"].push_back(json_of(process, table));
  for (const TableGroup& group : table.groups) json["groups"].push_back(json_of(group, table));
  for (const UnreadableState& file : table.unreadable)
    json["unreadable"].push_back(Json{{"path", file.path}, {"why", file.why}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramguard
