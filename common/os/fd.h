// A file descriptor with one owner. It is closed when the owner goes, and can be moved but not
// copied.
//
// The class knows nothing of the file behind the descriptor. It never blocks, except as close(2)
// may for that file.
#pragma once

#include <unistd.h>

#include <utility>

namespace scela {

// A descriptor, or none.
class Fd {
 public:
  Fd() = default;
  // Takes the descriptor over; a negative number means none.
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.number_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  // Returns the number, or a negative number if there is no descriptor.
  int get() const { return number_; }
  // Returns true if there is a descriptor.
  bool valid() const { return number_ >= 0; }
  explicit operator bool() const { return valid(); }
  // Returns the number and forgets it; the caller must close it.
  int release() { return std::exchange(number_, -1); }
  // Closes the descriptor, if there is one, and takes `number` over instead.
  void reset(int number = -1) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

}  // namespace scela
