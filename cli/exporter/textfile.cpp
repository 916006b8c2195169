#include "cli/exporter/textfile.h"

#include "core/errno_text.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

namespace vramguard {

std::optional<std::string> write_textfile(const std::string& folder, const std::string& text) {
  const std::string path = folder + "/" + kTextfile, hidden = folder + "/." + kTextfile;
  const auto problem = [&] {
    std::string why = path + " cannot be written: " + errno_text(errno);
    std::remove(hidden.c_str());
    return why;
  };
  std::FILE* file = std::fopen(hidden.c_str(), "we");
  if (file == nullptr) return problem();
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0 &&
                       fchmod(fileno(file), 0644) == 0;
  const int error = errno;
  std::fclose(file);
  errno = error;
  if (!written || std::rename(hidden.c_str(), path.c_str()) != 0) return problem();
  return std::nullopt;
}

}  // namespace vramguard
