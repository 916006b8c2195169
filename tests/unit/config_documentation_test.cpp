// config/vramguard.toml and docs/configuration.md against the table of keys.

#include "config/keys.h"
#include "config/load_config.h"
#include "config/toml_document.h"
#include "tests/unit/config_fixture.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <regex>
#include <sstream>

using namespace vramguard;

namespace {

std::string read_source(const std::string& name) {
  std::ifstream file(std::string(VRAMGUARD_SOURCE_DIR) + "/" + name);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The keys of a document as full names; of [gpu] and [[hook]], those of the first table.
std::vector<std::string> names_in(const TomlValue& root) {
  std::vector<std::string> names;
  for (const TomlMember& member : root.members) {
    if (member.key == "gpu") {
      for (const TomlMember& key : member.value.members.at(0).value.members) names.push_back("gpu." + key.key);
    } else if (member.key == "hook") {
      for (const TomlMember& key : member.value.items.at(0).members) names.push_back("hook." + key.key);
    } else if (member.value.kind == TomlKind::Table) {
      for (const TomlMember& key : member.value.members) names.push_back(member.key + "." + key.key);
    } else {
      names.push_back(member.key);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> names_of_table(bool with_tables) {
  std::vector<std::string> names;
  for (const Key& key : all_keys()) names.push_back(full_name(key));
  if (with_tables) {
    for (const Key& key : gpu_keys()) names.push_back(full_name(key));
    for (const Key& key : hook_keys()) names.push_back(full_name(key));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("the file of all keys loads clean and holds exactly the defaults of the table") {
  ConfigFixture fixture;
  fixture.paths().only_file = std::string(VRAMGUARD_SOURCE_DIR) + "/config/vramguard.toml";
  CHECK(fixture.messages().empty());
  for (const EffectiveValue& value : fixture.load().values) {
    CAPTURE(value.key);
    CHECK(value.place.file == fixture.paths().only_file);
    const auto keys = all_keys();
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return full_name(k) == value.key; });
    REQUIRE(key != keys.end());
    CHECK(value.text == key->default_text);
  }
}

TEST_CASE("the file of all keys lists every key and only those") {
  const auto document = parse_toml(read_source("config/vramguard.toml"));
  CHECK(names_in(std::get<TomlValue>(document)) == names_of_table(false));

  // The tables that stand as comments, with the comments taken away.
  std::string text = read_source("config/vramguard.toml");
  text = std::regex_replace(text, std::regex("(^|\n)# (\\[\\[?(gpu|hook)[^\n]*|[a-z_]+ +=)"), "$1$2");
  const auto uncommented = parse_toml(text);
  REQUIRE(std::holds_alternative<TomlValue>(uncommented));
  CHECK(names_in(std::get<TomlValue>(uncommented)) == names_of_table(true));
}

TEST_CASE("the defaults of the table are the defaults of GuardConfig") {
  GuardConfig from_table;
  from_table.budget = Bytes{1};
  from_table.virtualize = Virtualize::None;
  from_table.sentinel = {1, true};
  from_table.sentinel_required = true;
  from_table.leave_free = Bytes{1};
  from_table.mode = Mode::Observe;
  from_table.hooks_enabled = false;
  from_table.pressure = {PressureScope::Worst, {1.0, {}}, {1.0, {}}, {1.0, {}}, false};
  using std::chrono::seconds;
  from_table.oom = {OomPolicy::Spill, Defer::Never, seconds(1), seconds(1), {"x"},
                    SignalAction{1},  seconds(1),   Bytes{1}};
  from_table.log = {LogTarget::None, "x", LogFormat::Json, LogLevel::Debug, std::chrono::seconds(1)};
  for (const Key& key : all_keys()) {
    CAPTURE(full_name(key));
    const auto value = parse_value(key.type, key.words, key.default_text);
    REQUIRE(std::holds_alternative<Value>(value));
    if (key.store != nullptr) key.store(from_table, std::get<Value>(value));
  }
  const GuardConfig standard;
  CHECK(from_table.budget == standard.budget);
  CHECK(from_table.virtualize == standard.virtualize);
  CHECK(from_table.sentinel == standard.sentinel);
  CHECK(from_table.sentinel_required == standard.sentinel_required);
  CHECK(from_table.leave_free == standard.leave_free);
  CHECK(from_table.mode == standard.mode);
  CHECK(from_table.hooks_enabled == standard.hooks_enabled);
  CHECK(from_table.pressure.watch_card == standard.pressure.watch_card);
  CHECK(from_table.oom.policy == standard.oom.policy);
  CHECK(from_table.oom.defer_first_refusal == standard.oom.defer_first_refusal);
  CHECK(from_table.oom.deadline == standard.oom.deadline);
  CHECK(from_table.oom.wait_timeout == standard.oom.wait_timeout);
  CHECK(from_table.oom.checkpoint == standard.oom.checkpoint);
  CHECK_FALSE(from_table.oom.checkpoint_signal.has_value());
  CHECK(from_table.oom.checkpoint_timeout == standard.oom.checkpoint_timeout);
  CHECK(from_table.oom.spill_limit == standard.oom.spill_limit);
  CHECK(from_table.pressure.scope == standard.pressure.scope);
  CHECK(from_table.pressure.low == standard.pressure.low);
  CHECK(from_table.pressure.medium == standard.pressure.medium);
  CHECK(from_table.pressure.high == standard.pressure.high);
  CHECK(from_table.log.target == standard.log.target);
  CHECK(from_table.log.path == standard.log.path);
  CHECK(from_table.log.format == standard.log.format);
  CHECK(from_table.log.level == standard.log.level);
  CHECK(from_table.log.report_every == standard.log.report_every);
}

TEST_CASE("the page on configuration names every key with its default and every variable") {
  const std::string page = read_source("docs/configuration.md");
  for (const auto table : {all_keys(), gpu_keys(), hook_keys(), limit_keys()}) {
    for (const Key& key : table) {
      CAPTURE(full_name(key));
      CHECK(page.find("| `" + std::string(key.name) + "` |") != std::string::npos);
      if (!key.variable.empty()) CHECK(page.find("`" + std::string(key.variable) + "`") != std::string::npos);
      for (std::size_t from = 0; from < key.words.size();) {
        const std::size_t end = std::min(key.words.find('|', from), key.words.size());
        CHECK(page.find("`" + std::string(key.words.substr(from, end - from)) + "`") != std::string::npos);
        from = end + 1;
      }
    }
  }
  for (const Key& key : all_keys()) {
    CAPTURE(full_name(key));
    const std::string_view text = key.default_text.empty() ? "\"\"" : key.default_text;
    CHECK(page.find("| `" + std::string(key.name) + "` | `" + std::string(text) + "` |") != std::string::npos);
  }
  for (const std::string_view variable : other_variables()) {
    CAPTURE(variable);
    CHECK(page.find("`" + std::string(variable)) != std::string::npos);
  }
}
