#include "cli/doctor_command.h"

#include "cli/doctor/checks.h"
#include "cli/terminal.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

namespace vramguard {
namespace {

using Json = nlohmann::ordered_json;

const char* word_of(Finding finding) {
  switch (finding) {
    case Finding::Ok:
      return "ok";
    case Finding::Hint:
      return "hint";
    case Finding::Problem:
      return "problem";
  }
  return "";
}

const char* colour_of(Finding finding) {
  switch (finding) {
    case Finding::Ok:
      return "\033[32m";
    case Finding::Hint:
      return "\033[33m";
    case Finding::Problem:
      return "\033[31m";
  }
  return "";
}

void print(const Diagnoses& all) {
  const char* no_colour = std::getenv("NO_COLOR");
  const bool colours = is_terminal(STDOUT_FILENO) && (no_colour == nullptr || *no_colour == '\0');
  for (const Diagnosis& one : all) {
    std::printf("%s%-8s%s%-14s %s\n", colours ? colour_of(one.finding) : "", word_of(one.finding),
                colours ? "\033[0m" : "", one.subject.c_str(), one.message.c_str());
    if (!one.remedy.empty()) std::printf("%23s-> %s\n", "", one.remedy.c_str());
  }
}

std::string json_of(const Diagnoses& all) {
  Json list = Json::array();
  for (const Diagnosis& one : all)
    list.push_back({{"finding", word_of(one.finding)},
                    {"subject", one.subject},
                    {"message", one.message},
                    {"remedy", one.remedy.empty() ? Json(nullptr) : Json(one.remedy)}});
  const Json json{{"schema", 1}, {"version", VRAMGUARD_VERSION}, {"diagnoses", list}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void append(Diagnoses& all, Diagnoses more) { std::move(more.begin(), more.end(), std::back_inserter(all)); }

}  // namespace

int examine(const DoctorOptions& options) {
  const LoadResult loaded = load_config({environ}, system_paths());
  Diagnoses all = examine_library();
  if (!options.command.empty()) append(all, examine_command(options.command.front()));
  append(all, examine_environment());
  append(all, examine_configuration(loaded));
  append(all, examine_state());
  append(all, examine_log(loaded.config.log));
  NvmlObserver nvml;
  append(all, examine_devices(look_around(nvml)));

  if (options.json) {
    std::fputs(json_of(all).c_str(), stdout);
  } else {
    print(all);
  }
  return std::any_of(all.begin(), all.end(), [](const Diagnosis& one) { return one.finding == Finding::Problem; }) ? 1
                                                                                                                   : 0;
}

void add_doctor(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* doctor =
      app.add_subcommand("doctor", "Say what keeps vramguard from working here, and what to do about it");
  doctor->add_flag("--json", options->json, "For programs: one object as docs/schema/doctor.json describes it");
  doctor->add_option("COMMAND", options->command, "After --: can this command be guarded? It is not started");
  doctor->footer("Exit status: 0 no problem (hints are none), 1 a problem.");
  doctor->callback([&chosen, options] { chosen = [options] { return examine(*options); }; });
}

}  // namespace vramguard
