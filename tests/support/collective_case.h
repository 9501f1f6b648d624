// One collective operation on real bytes: what each rank gives, and what it must get by the
// operation's definition, computed in the plainest way. For every executor and transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/core/block_layout.h"
#include "collectives/core/shape.h"
#include "collectives/executors/run/run.h"

namespace scela::collectives::test {

struct Case {
  const Algorithm* algorithm = nullptr;
  Shape shape;
  // Bytes. Of the message; where ranks have blocks of their own, of each rank's; of an alltoall, of
  // what rank i has for rank j, at i * ranks + j.
  std::vector<std::uint64_t> sizes;
  bool spread = false;  // blocks of the caller's have gaps between them
};

std::string text(const Case& one);

// Bytes with others around them that the operation must not change.
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(std::uint64_t bytes);
  std::byte* data() { return bytes_.data() + kGuard; }
  void put(const BlockSizes& sizes, std::uint32_t block, const std::vector<std::byte>& bytes);
  // The final bytes of this block are not compared.
  void ignore(const BlockSizes& sizes, std::uint32_t block);
  // The first byte that differs; -1: none.
  std::int64_t differs(const Guarded& other) const;

 private:
  static constexpr std::size_t kGuard = 64;
  std::vector<std::byte> bytes_;
  std::vector<bool> any_;
};

// One rank's part.
class Member {
 public:
  Member(const Case& one, int rank, std::uint64_t seed);
  // To be bound to a run. The member outlives it.
  Call call(Route route) const;
  const Case& operation() const { return case_; }
  // Empty: its buffers hold what they must.
  std::string wrong() const;

 private:
  void give();
  void expect();
  std::vector<std::byte> folded(int last, std::uint64_t begin, std::uint64_t bytes) const;

  Case case_;
  int rank_;
  std::uint64_t seed_;
  std::uint32_t cut_;
  bool in_place_;
  Layout layout_;
  BlockSizes input_whole_;
  BlockSizes output_whole_;
  std::shared_ptr<const Plan> plan_;
  mutable Guarded input_;
  mutable Guarded output_;
  Guarded input_expected_;
  Guarded output_expected_;
};

// Some of every algorithm's shapes for so many ranks: roots, segments, radixes, in place, in order,
// and sizes 0, one element, odd, unequal, some of them spread. `turn` chooses among what would be
// too much: all turns together have all.
std::vector<Case> cases(int ranks, std::uint64_t turn);

// A shape or two of every algorithm, with as many segments where it has any: more messages than a
// queue may hold.
std::vector<Case> long_cases(int ranks, std::uint32_t segments);

}  // namespace scela::collectives::test
