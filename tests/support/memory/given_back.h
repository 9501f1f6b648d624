// Looks at all memory that a program gives back, for secrets that should have been wiped.
//
// Only one source of a program may include this header: it replaces operator new and delete.
// Programs under a sanitizer cannot use it, because sanitizers replace these operators too.
#pragma once

#include <malloc.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string_view>

namespace scela::testing {

// The secrets to find in memory that is given back, and how often one was found.
inline constexpr std::size_t kPiece = 16;
inline std::array<std::array<char, kPiece>, 3> pieces;
inline std::atomic<std::size_t> watched{0};
inline std::atomic<int> found{0};

inline void look(const void* block) {
  const std::size_t count = watched.load();
  if (count == 0 || block == nullptr) return;
  const std::size_t bytes = ::malloc_usable_size(const_cast<void*>(block));
  for (std::size_t i = 0; i < count; ++i)
    if (::memmem(block, bytes, pieces[i].data(), kPiece) != nullptr) ++found;
}

// Watches for the secrets as long as it exists.
class Watch {
 public:
  explicit Watch(std::initializer_list<std::string_view> secrets) {
    found = 0;
    std::size_t count = 0;
    for (const std::string_view secret : secrets)
      std::memcpy(pieces[count++].data(), secret.data(), kPiece);
    watched = count;
  }
  ~Watch() { watched = 0; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  int count() const { return found; }
};

}  // namespace scela::testing

void* operator new(std::size_t bytes) {
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept {
  scela::testing::look(block);
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  scela::testing::look(block);
  std::free(block);
}
