// Ends the server if an allocation fails; its agent then reports why. Otherwise libpmix would go on
// without the memory and leave clients without an answer. libpmix calls the functions below instead
// of the C library's, because the program's own symbols come first.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

// The C library's own functions, which the functions below replace and call.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace {

constexpr int kNoMemory = 71;  // the status of every fault of the server

[[noreturn]] void end_without(std::size_t bytes) {
  // This function must not allocate memory.
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

// The parameters have other names here, because the C library's headers use reserved names.
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
