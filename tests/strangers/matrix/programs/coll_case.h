// One collective operation of coll.cpp: this rank's buffers, and the contents that they must have
// when it is over, by its definition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/strangers/matrix/programs/said.h"

namespace matrix {

enum Kind : int {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter_block,
  scan,
  exscan,
  gatherv,
  scatterv,
  allgatherv,
  alltoallv,
  reduce_scatter,
  kinds
};

// The facts that all ranks of a communicator know of an operation.
struct Drawn {
  int kind = 0, root = 0;
  std::uint64_t seed = 0;
  std::size_t count = 0;
  bool in_place = false;
  std::string algorithm;
};

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e37'79b9'7f4a'7c15;
  x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ x >> 27) * 0x94d0'49bb'1331'11eb;
  return x ^ x >> 31;
}

// A product of matrices does not commute.
struct Matrix {
  std::uint32_t a, b, c, d;
  bool operator==(const Matrix&) const = default;
};
struct Place {
  std::int32_t value, place;
  bool operator==(const Place&) const = default;
};

// The drawing and reducing of a type's elements.
template <class T>
struct Of {
  static constexpr bool kCommutes = true;
  static T drawn(std::uint64_t bits, int /*rank*/) { return static_cast<T>(bits); }
  static T combined(T x, T y) { return static_cast<T>(x ^ y); }
  static scela::Reducer reducer() { return ReduceOp::bit_xor; }
  static scela::Buffer view(std::vector<T>& of) { return of; }
};
template <>
struct Of<std::int32_t> {
  static constexpr bool kCommutes = true;
  static std::int32_t drawn(std::uint64_t bits, int /*rank*/) {
    return static_cast<std::int32_t>(bits % 2001) - 1000;
  }
  static std::int32_t combined(std::int32_t x, std::int32_t y) { return x + y; }
  static scela::Reducer reducer() { return ReduceOp::sum; }
  static scela::Buffer view(std::vector<std::int32_t>& of) { return of; }
};
template <>
struct Of<double> {
  static constexpr bool kCommutes = true;
  static double drawn(std::uint64_t bits, int /*rank*/) {
    return static_cast<double>(bits % 1'000'003) / 8;
  }
  static double combined(double x, double y) { return std::max(x, y); }
  static scela::Reducer reducer() { return ReduceOp::maximum; }
  static scela::Buffer view(std::vector<double>& of) { return of; }
};
template <>
struct Of<Place> {
  static constexpr bool kCommutes = true;
  static Place drawn(std::uint64_t bits, int rank) {
    return {static_cast<std::int32_t>(bits % 5), rank};
  }
  static Place combined(Place x, Place y) {
    return x.value < y.value || (x.value == y.value && x.place < y.place) ? x : y;
  }
  static scela::Reducer reducer() { return ReduceOp::minloc; }
  static scela::Buffer view(std::vector<Place>& of) {
    return {of.data(), of.size(), sizeof(Place), scela::ElementType::int32_index};
  }
};
template <>
struct Of<Matrix> {
  static constexpr bool kCommutes = false;
  static Matrix drawn(std::uint64_t bits, int /*rank*/) {
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32),
            static_cast<std::uint32_t>(mix(bits)), 3};
  }
  static Matrix combined(Matrix x, Matrix y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
            x.c * y.b + x.d * y.d};
  }
  static scela::Reducer reducer() {
    return scela::Reducer::of(
        [](const std::byte* left, const std::byte* right, std::byte* result, std::size_t count) {
          for (std::size_t i = 0; i < count * sizeof(Matrix); i += sizeof(Matrix)) {
            Matrix x, y;
            std::memcpy(&x, left + i, sizeof x);
            std::memcpy(&y, right + i, sizeof y);
            const Matrix z = combined(x, y);
            std::memcpy(result + i, &z, sizeof z);
          }
        },
        false);
  }
  static scela::Buffer view(std::vector<Matrix>& of) {
    return {of.data(), of.size(), sizeof(Matrix), scela::ElementType::opaque};
  }
};

class Case {
 public:
  virtual ~Case() = default;
  // Writes new contents for each round of an operation that is started again. The buffers stay
  // where they are.
  virtual void fill(std::uint64_t round) = 0;
  virtual Collective collective() = 0;
  virtual void check() const = 0;
  virtual std::string text() const = 0;
};

// Makes the case for `own` of `ranks` ranks. `type`: any number, which selects an element type.
std::unique_ptr<Case> case_of(const Drawn& drawn, unsigned type, int own, int ranks);
bool commutes(unsigned type);
const char* name_of(int kind);

}  // namespace matrix
