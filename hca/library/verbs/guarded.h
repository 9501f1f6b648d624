// How the functions of verbs report that they failed. Any thread may call.
#pragma once

#include <cerrno>
#include <type_traits>

namespace scela::hca::library {

// Sets errno to `error` and returns a null T*, as a verb does that cannot make an object. The
// second parameter is unused.
template <class T>
T* no(int error, T* = nullptr) {
  errno = error;
  return nullptr;
}

// Calls call() and returns its result, a pointer or an errno. No exception leaves the library: the
// only one that can come reports that memory is exhausted. This function then sets errno to ENOMEM,
// and returns null or ENOMEM.
template <class Call>
auto guarded(Call call) noexcept -> decltype(call()) {
  using Returned = decltype(call());
  try {
    return call();
  } catch (...) {
    errno = ENOMEM;
    if constexpr (std::is_pointer_v<Returned>) {
      return nullptr;
    } else {
      return static_cast<Returned>(ENOMEM);
    }
  }
}

}  // namespace scela::hca::library
