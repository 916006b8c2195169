// What this program does when it is started by itself as another process.
#pragma once

#include <optional>
#include <string>
#include <vector>

// The exit status.
int play_role(const std::vector<std::string>& words);
// The roles of processes that share memory; nullopt for any other.
std::optional<int> play_sharing_role(const std::vector<std::string>& words);
