#include "core/errno_text.h"

#include <cerrno>

namespace vramguard {

std::string errno_text(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
      return "no such file";
    case ENOTDIR:
      return "a part of the path is not a folder";
    case EISDIR:
      return "it is a folder";
    case ELOOP:
      return "too many symbolic links";
    case ENAMETOOLONG:
      return "the path is too long";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    case ENOMEM:
      return "out of memory";
    case ENOSPC:
    case EDQUOT:
      return "no space left";
    case EROFS:
      return "it is on a read-only file system";
    case EIO:
      return "input/output error";
    case ENXIO:
      return "no such device";
    case ENOEXEC:
      return "not a program that this system can run";
    case ETXTBSY:
      return "it is being written to";
    case E2BIG:
      return "the arguments are too long";
    default:
      return "error " + std::to_string(error);
  }
}

}  // namespace vramguard
