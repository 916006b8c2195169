// The address that vramguard-exporter answers at.
#pragma once

#include <optional>
#include <string>

namespace vramguard {

inline constexpr char kDefaultListen[] = "127.0.0.1:19835";

// Why nobody can listen there, in words for a person; nullopt if one can. A numeric address and a port:
// 127.0.0.1:19835, [::1]:19835, 0.0.0.0:19835.
std::optional<std::string> why_not_listen(const std::string& address);

}  // namespace vramguard
