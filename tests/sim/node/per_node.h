// A table with an entry for each simulated node. An entry begins as T{}, and a reference to it
// stays valid. One thread uses it.
#pragma once

#include <cstdint>
#include <deque>

namespace scela::sim {

template <class T>
class PerNode {
 public:
  T& operator[](std::uint32_t node) {
    while (entries_.size() <= node)
      entries_.emplace_back();
    return entries_[node];
  }
  const T& operator[](std::uint32_t node) const {
    static const T untouched{};
    return node < entries_.size() ? entries_[node] : untouched;
  }

 private:
  std::deque<T> entries_;
};

}  // namespace scela::sim
