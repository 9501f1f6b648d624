// Reuses the memory of objects that come and go with each operation. Requests and collectives use
// it. Each thread keeps its own blocks, so any thread may use it.
#pragma once

#include <cstddef>
#include <new>

namespace scela::collectives {

// Memory blocks of kBytes bytes. Each thread keeps up to 256 that were given back. Under the
// address sanitizer none are kept, so that it sees uses after a release.
template <std::size_t kBytes>
class Recycled {
 public:
  // Returns memory for kBytes bytes, a kept block if there is one. Throws std::bad_alloc. Any
  // thread may give it back.
  static void* take() {
    Kept& kept = here();
    if (kept.first == nullptr) return ::operator new(kSize);
    Free* const block = kept.first;
    kept.first = block->next;
    --kept.count;
    return block;
  }
  // Keeps a block of take() for the calling thread, or frees it if the thread keeps 256 already.
  static void give_back(void* memory) noexcept {
    Kept& kept = here();
    if (kept.count == kMax || kept.over) return ::operator delete(memory);
    kept.first = ::new (memory) Free{kept.first};
    ++kept.count;
  }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kSize = kBytes < sizeof(Free) ? sizeof(Free) : kBytes;
#ifdef __SANITIZE_ADDRESS__
  static constexpr std::size_t kMax = 0;
#else
  static constexpr std::size_t kMax = 256;
#endif
  // Kept has no destructor, so that it can be read until the thread is gone.
  struct Kept {
    Free* first;
    std::size_t count;
    bool over;  // the thread is ending
  };
  // Returns the calling thread's blocks. They are freed when the thread ends.
  static Kept& here() {
    thread_local Kept kept{};
    thread_local const struct Emptier {
      ~Emptier() {
        kept.over = true;
        while (kept.first != nullptr)
          ::operator delete(take());
      }
    } emptier;
    static_cast<void>(emptier);
    return kept;
  }
};

// An allocator for std::allocate_shared that takes single objects from Recycled.
template <class T>
struct Recycling {
  using value_type = T;
  Recycling() = default;
  template <class Other>
  Recycling(const Recycling<Other>&) {}
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  // Returns memory for n objects, of Recycled if n is 1. Throws std::bad_alloc.
  T* allocate(std::size_t n) {
    return static_cast<T*>(n == 1 ? Recycled<sizeof(T)>::take() : ::operator new(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    if (n == 1)
      Recycled<sizeof(T)>::give_back(memory);
    else
      ::operator delete(memory);
  }
  template <class Other>
  friend bool operator==(const Recycling&, const Recycling<Other>&) {
    return true;
  }
};

}  // namespace scela::collectives
