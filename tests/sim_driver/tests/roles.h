// What this program does when it is started by itself as another process.
#pragma once

#include <string>
#include <vector>

// The exit status.
int play_role(const std::vector<std::string>& words);
