// A server that gets no memory ends, and its agent says why: libpmix would go on without it, and
// leave clients without an answer. libpmix calls the functions below instead of the C library's, as
// the program's own symbols come first.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

// The C library's own, which these stand in front of.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace {

constexpr int kNoMemory = 71;  // as of every fault of the server

[[noreturn]] void end_without(std::size_t bytes) {
  // Nothing here may ask for memory.
  constexpr std::string_view kBefore = "there is no memory (";
  constexpr std::string_view kAfter = " bytes more were asked for)\n";
  char line[80];
  char* end = std::ranges::copy(kBefore, line).out;
  end = std::to_chars(end, std::end(line), bytes).ptr;
  end = std::ranges::copy(kAfter, end).out;
  static_cast<void>(!::write(STDERR_FILENO, line, static_cast<std::size_t>(end - line)));
  ::_exit(kNoMemory);
}

void* there(void* memory, std::size_t bytes) {
  if (memory == nullptr && bytes != 0) end_without(bytes);
  return memory;
}

}  // namespace

// The C library's headers have reserved names for the parameters.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

__attribute__((visibility("default"))) void* malloc(std::size_t size) noexcept {
  return there(__libc_malloc(size), size);
}

__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  return there(__libc_calloc(count, size), bytes);
}

__attribute__((visibility("default"))) void* realloc(void* memory, std::size_t size) noexcept {
  return there(__libc_realloc(memory, size), size);
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
