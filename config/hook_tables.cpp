#include "config/hook_tables.h"

#include "config/hook_reader.h"

#include <map>

namespace vramguard {

void read_hook_tables(const TomlMember& hooks, const std::string& path, const std::string& distrust,
                      Settings& settings) {
  const auto place = [&](TomlPosition at) { return Place{path, at.line, at.column, ""}; };
  if (hooks.value.kind != TomlKind::Array) {
    settings.error(place(hooks.key_at), "hook", "hooks are a list of tables; write [[hook]]");
    return;
  }
  std::map<std::string, int> lines;  // of the names seen
  for (const TomlValue& table : hooks.value.items) {
    if (table.kind != TomlKind::Table) {
      settings.error(place(table.at), "hook", "hooks are a list of tables; write [[hook]]");
      continue;
    }
    const ReadHook read = HookReader(table, path, settings).read();
    const std::string& name = read.setting.hook.name;
    const auto [seen, is_new] = lines.try_emplace(name, table.at.line);
    if (!name.empty() && !is_new) {
      settings.error(place(table.at), "hook.name",
                     "a second hook is called '" + name + "'; the first is in line " + std::to_string(seen->second));
    } else if (!distrust.empty()) {
      settings.warning(place(table.at), "hook", "hook '" + name + "' is ignored: " + distrust);
    } else if (read.good) {
      settings.set_hook(read.setting);
    }
  }
}

}  // namespace vramguard
