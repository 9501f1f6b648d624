#include "common/core/error.h"

#include <cstring>

namespace scela {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::protocol:
      return "protocol";
    case ErrorKind::launch:
      return "launch";
    case ErrorKind::unreachable:
      return "unreachable";
    case ErrorKind::io:
      return "io";
    case ErrorKind::internal:
      return "internal";
  }
  return "unknown";
}

std::string Error::text() const {
  std::string out;
  if (!where.empty()) out += where + ": ";
  out += what;
  if (!why.empty()) out += ": " + why;
  if (!hint.empty()) out += " (" + hint + ")";
  return out;
}

bool operator==(const Error& a, const Error& b) {
  return a.kind == b.kind && a.what == b.what && a.where == b.where && a.why == b.why &&
         a.hint == b.hint;
}

std::string errno_text(int number) {
  const char* description = strerrordesc_np(number);
  const char* name = strerrorname_np(number);
  if (description == nullptr) return "error " + std::to_string(number);
  std::string out = description;
  if (name != nullptr) out += std::string(" (") + name + ")";
  return out;
}

}  // namespace scela
