#include "config/file_keys.h"

#include "config/hook_tables.h"
#include "config/key_names.h"
#include "config/toml_document.h"
#include "config/toml_value_text.h"

#include "core/device_name.h"

#include <utility>

namespace vramguard {
namespace {

constexpr std::string_view kSchema = "1";

// Walks one file. Everything it finds goes to `settings`.
class FileReader {
 public:
  FileReader(const FileText& file, const std::string& path, FileRole role, Settings& settings)
      : distrust_(file.distrust), path_(path), role_(role), settings_(settings) {}

  void read(const TomlValue& root) {
    if (!schema_is_known(root)) return;
    for (const TomlMember& member : root.members) {
      if (role_ == FileRole::Config && member.key == "gpu") {
        read_gpus(member);
      } else if (role_ == FileRole::Config && member.key == "hook") {
        read_hook_tables(member, path_, distrust_, settings_);
      } else if (role_ == FileRole::Config && is_section(member.key)) {
        read_section(member);
      } else {
        read_key("", member);
      }
    }
  }

 private:
  Place place(TomlPosition at) const { return {path_, at.line, at.column, ""}; }
  std::span<const Key> keys() const { return role_ == FileRole::Config ? all_keys() : limit_keys(); }

  bool schema_is_known(const TomlValue& root) {
    for (const TomlMember& member : root.members) {
      if (member.key != "schema") continue;
      if (member.value.kind == TomlKind::Integer && member.value.text == kSchema) return true;
      settings_.error(place(member.value.at), "schema",
                      "schema: version " + std::string(VRAMGUARD_VERSION) +
                          " reads 'schema = 1' only, and nothing else of this file");
      return false;
    }
    settings_.error({path_, 1, 1, ""}, "schema", "'schema = 1' is missing; every file needs it");
    return true;
  }

  void read_section(const TomlMember& section) {
    if (section.value.kind != TomlKind::Table) {
      settings_.error(place(section.key_at), section.key,
                      "'" + section.key + "' is a table; write [" + section.key + "]");
      return;
    }
    for (const TomlMember& member : section.value.members) read_key(section.key, member);
  }

  void read_key(std::string_view section, const TomlMember& member) {
    const Key* key = find_key(keys(), section, member.key);
    if (key == nullptr) {
      const KeySuggestion suggestion = suggest_key(keys(), section, member.key);
      const std::string name = section.empty() ? member.key : std::string(section) + "." + member.key;
      settings_.error(place(member.key_at), name, unknown_key(section, member, suggestion.words), suggestion.name);
      return;
    }
    if (key->type == KeyType::Schema) return;
    const auto text = text_for(*key, full_name(*key), member.value, path_, settings_);
    if (!text) return;
    if (key->runs_commands && !distrust_.empty() && *text != key->default_text) {
      settings_.warning(place(member.value.at), full_name(*key), "'" + full_name(*key) + "' is ignored: " + distrust_);
      return;
    }
    settings_.set(*key, *text, place(member.value.at));
  }

  static std::string unknown_key(std::string_view section, const TomlMember& member, const std::string& suggestion) {
    std::string message = member.value.kind == TomlKind::Table && section.empty() ? "unknown table [" + member.key + "]"
                                                                                  : "unknown key '" + member.key + "'";
    if (!section.empty()) message += " in [" + std::string(section) + "]";
    if (!suggestion.empty()) message += "; did you mean " + suggestion + "?";
    return message;
  }

  void read_gpus(const TomlMember& gpus) {
    if (gpus.value.kind != TomlKind::Table) {
      settings_.error(place(gpus.key_at), "gpu", R"('gpu' holds tables; write [gpu."cuda:0"])");
      return;
    }
    for (const TomlMember& gpu : gpus.value.members) {
      if (gpu.value.kind != TomlKind::Table) {
        settings_.error(place(gpu.key_at), "gpu." + gpu.key, R"([gpu] holds tables only; write [gpu."cuda:0"])");
        continue;
      }
      if (!parse_device_name(gpu.key)) {
        settings_.error(place(gpu.key_at), "gpu." + gpu.key, bad_device_name(gpu.key));
      } else {
        read_gpu(gpu);
      }
    }
  }

  void read_gpu(const TomlMember& gpu) {
    const std::string table = "gpu.\"" + gpu.key + "\"";
    for (const TomlMember& member : gpu.value.members) {
      const Key* key = find_key(gpu_keys(), "gpu", member.key);
      if (key == nullptr) {
        const KeySuggestion suggestion = suggest_key(gpu_keys(), "gpu", member.key);
        settings_.error(place(member.key_at), table + "." + member.key, unknown_key(table, member, suggestion.words),
                        suggestion.name);
        continue;
      }
      const std::string label = table + "." + member.key;
      const auto text = text_for(*key, label, member.value, path_, settings_);
      if (!text) continue;
      const auto value = settings_.check(*key, label, *text, place(member.value.at));
      if (!value) continue;
      if (key->name == "budget") {
        settings_.set_device_budget({gpu.key, std::get<Size>(*value), *text}, 0, place(member.value.at));
      } else {
        settings_.set_device_sentinel({gpu.key, sentinel_of(*value)}, *text, place(member.value.at));
      }
    }
  }

  const std::string& distrust_;
  const std::string& path_;
  FileRole role_;
  Settings& settings_;
};

}  // namespace

void read_keys(const FileText& file, const std::string& path, FileRole role, Settings& settings) {
  const auto document = parse_toml(file.text);
  if (const auto* error = std::get_if<TomlError>(&document)) {
    settings.error({path, error->at.line, error->at.column, ""}, "", error->message);
    return;
  }
  FileReader(file, path, role, settings).read(std::get<TomlValue>(document));
}

}  // namespace vramguard
