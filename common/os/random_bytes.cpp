#include "common/os/random_bytes.h"

#include <sys/random.h>

namespace scela {

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const ssize_t got = ::getrandom(bytes.data() + have, size - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace scela
