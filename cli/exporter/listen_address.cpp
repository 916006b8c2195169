#include "cli/exporter/listen_address.h"

#include "core/errno_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <variant>

namespace vramguard {
namespace {

struct Socket {
  sockaddr_storage address{};
  socklen_t bytes = 0;
};

std::optional<Socket> socket_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = text.substr(0, colon);
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || rest != end) return std::nullopt;

  Socket socket;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) != 1) return std::nullopt;
    std::memcpy(&socket.address, &six, socket.bytes = sizeof six);
    return socket;
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) != 1) return std::nullopt;
  std::memcpy(&socket.address, &four, socket.bytes = sizeof four);
  return socket;
}

}  // namespace

std::optional<std::string> why_not_listen(const std::string& address) {
  const std::optional<Socket> socket = socket_of(address);
  if (!socket) return "'" + address + "' is no address and port, such as 127.0.0.1:19835 or [::1]:19835";
  const int fd = ::socket(socket->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // as the server does
  const bool can = fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&socket->address), socket->bytes) == 0 &&
                   listen(fd, 1) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (can) return std::nullopt;
  if (error == EADDRINUSE) return address + " is in use already; --listen names another";
  if (error == EADDRNOTAVAIL) return address + " is no address of this machine";
  if (error == EACCES) return address + " is reserved for root";
  return address + " cannot be listened at: " + errno_text(error);
}

}  // namespace vramguard
