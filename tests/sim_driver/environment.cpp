#include "tests/sim_driver/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tests/sim_driver/sizes.h"

namespace vgsim {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<int> parse_number(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 0 || value > 1000000000) return std::nullopt;
  return static_cast<int>(value);
}

// Item i of a list of sizes; the last item stands for all further devices.
std::optional<std::uint64_t> size_at(const std::vector<std::string>& list, std::size_t i) {
  if (list.empty()) return std::nullopt;
  return parse_size(list[std::min(i, list.size() - 1)]);
}

int number_or(Environment& env, const char* name, int otherwise) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  const auto number = parse_number(text);
  if (number && *number <= kMaxDevices) return *number;
  env.problems.push_back(std::string(name) + "=" + text);
  return otherwise;
}

void read_module_size(Environment& env) {
  const std::string text = variable("VGSIM_MODULE");
  if (text.empty()) return;
  const auto size = parse_size(text);
  if (size)
    env.module_bytes = *size / kPageBytes * kPageBytes;
  else
    env.problems.push_back("VGSIM_MODULE=" + text);
}

void read_devices(Environment& env) {
  const int count = number_or(env, "VGSIM_DEVICES", 1);
  const auto sizes = split_list(variable("VGSIM_MEMORY"));
  const auto neighbours = split_list(variable("VGSIM_NEIGHBOUR"));
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const auto size = size_at(sizes, index);
    if (!sizes.empty() && !size) env.problems.push_back("VGSIM_MEMORY=" + variable("VGSIM_MEMORY"));
    const auto neighbour = size_at(neighbours, index);
    if (!neighbours.empty() && !neighbour) env.problems.push_back("VGSIM_NEIGHBOUR=" + variable("VGSIM_NEIGHBOUR"));
    env.devices.push_back({size.value_or(16 * kGiB) / kPageBytes * kPageBytes, neighbour});
  }
}

// "cuMemAlloc_v2:3=2": the third call fails with 2; ":3" is the first and "=2" OUT_OF_MEMORY when left out.
void read_faults(Environment& env) {
  for (const std::string& item : split_list(variable("VGSIM_FAIL"))) {
    const std::string name = item.substr(0, item.find_first_of(":="));
    const std::size_t colon = item.find(':');
    const std::size_t equals = item.find('=');
    const auto nth =
        colon == std::string::npos
            ? 1
            : parse_number(item.substr(colon + 1, equals == std::string::npos ? equals : equals - colon - 1));
    const auto code = equals == std::string::npos ? 2 : parse_number(item.substr(equals + 1));
    if (name.empty() || !nth || *nth < 1 || !code)
      env.problems.push_back("VGSIM_FAIL: " + item);
    else
      env.faults.push_back({name, *nth, *code});
  }
}

void read_delays(Environment& env) {
  for (const std::string& item : split_list(variable("VGSIM_DELAY"))) {
    const std::size_t equals = item.find('=');
    const auto ms = equals == std::string::npos ? std::nullopt : parse_number(item.substr(equals + 1));
    if (!ms)
      env.problems.push_back("VGSIM_DELAY: " + item);
    else
      env.delays_ms[item.substr(0, equals)] = *ms;
  }
}

}  // namespace

Environment read_environment() {
  Environment env;
  env.state_path = variable("VGSIM_STATE");
  if (env.state_path.empty()) env.state_path = "/dev/shm/vgsim-" + std::to_string(getuid());
  env.trace_path = variable("VGSIM_TRACE");
  env.nvml_mode = variable("VGSIM_NVML");
  env.integrated = variable("VGSIM_INTEGRATED") == "1";
  env.fastest = number_or(env, "VGSIM_FASTEST", 0);
  read_module_size(env);
  read_devices(env);
  read_faults(env);
  read_delays(env);
  for (std::string& name : split_list(variable("VGSIM_MISSING"))) env.missing.insert(std::move(name));
  return env;
}

std::string model_of(int physical_index) {
  const int fastest = environment().fastest;
  return fastest > 0 && physical_index == fastest ? "Simulated GPU, the fast one" : "Simulated GPU";
}

const Environment& environment() {
  static const Environment* const env = new Environment(read_environment());
  return *env;
}

}  // namespace vgsim
