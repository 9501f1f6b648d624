// Which algorithm an operation is carried out by, unless the caller says: by one table, the same
// for all ranks.
//
// A table has one row a line, which parse() reads back. The first row of an operation that fits is
// taken:
//
//   bcast      ranks 3.. bytes 64K..           chain segment 16K
//   allreduce  bytes ..2K                      recursive-doubling
//   barrier    nodes 2..                       dissemination radix 4
//   bcast      nodes 2.. per-node 2..          hierarchical
//
// Conditions, each at most once: ranks, nodes, per-node (ranks of a node, rounded down where nodes
// have different numbers of them) and bytes with a range ("8", "3..", "..2K", "3..8", both ends
// included; K, M, G are powers of two). Then the algorithm's name, and for those that
// have them `segment` (bytes of one, at most), `radix` or `split` (Shape). '#' and what follows it
// in a line are a comment.
//
// A row is passed over, whatever it says, where its algorithm cannot do what is asked: a reduction
// that does not commute, blocks of unequal sizes, a shape that does not fit.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/core/shape.h"
#include "common/core/result.h"

namespace scela::collectives {

// All that a choice depends on. Equal on all ranks of a call, or their lists would not fit
// together.
struct Question {
  Operation operation = Operation::barrier;
  int ranks = 1;
  int nodes = 1;
  // Of bcast, reduce, allreduce, scan, exscan: of the message. Of gather, scatter, allgather,
  // alltoall, reduce_scatter: of one rank's block. Of the v forms the mean, where all ranks know
  // all sizes; else nothing, and rows with `bytes` are passed over.
  std::optional<std::uint64_t> bytes = 0;
  bool equal = true;     // blocks are of one size
  bool commutes = true;  // the reduction
  bool in_place = false;
  int root = 0;
};

struct Choice {
  const Algorithm* algorithm = nullptr;
  std::uint32_t segments = 1;
  std::uint32_t radix = 2;
  std::uint32_t split = 0;
};

// Both ends included.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  bool holds(std::uint64_t value) const { return least <= value && value <= most; }
  bool is_all() const { return least == 0 && most == std::numeric_limits<std::uint64_t>::max(); }
  friend bool operator==(const Range&, const Range&) = default;
};

struct Row {
  Operation operation = Operation::barrier;
  Range ranks, nodes, per_node, bytes;
  const Algorithm* algorithm = nullptr;
  std::uint64_t segment = 0;  // bytes; 0: the message is one
  std::uint32_t radix = 2;
  std::uint32_t split = 0;
  friend bool operator==(const Row&, const Row&) = default;
};

class Table {
 public:
  // `name`: of the file or variable, for errors, which say its line.
  static Result<Table> parse(std::string_view text, std::string_view name);
  // What is taken where nobody says otherwise: it has an answer to every question.
  static const Table& standard();

  // Rows of `before`, in their order, come first.
  void put_before(const Table& before);
  // The first row that fits, if one does.
  const Row* find(const Question& question) const;
  const std::vector<Row>& rows() const { return rows_; }
  std::string text() const;  // a line a row

 private:
  std::vector<Row> rows_;
};

// Whether the algorithm can do what is asked, with this radix.
bool can(const Algorithm& algorithm, const Question& question, std::uint32_t radix);
// What is run by a row. Segments are at most kMostSegments, however long the message.
inline constexpr std::uint32_t kMostSegments = 256;
Choice choice_of(const Row& row, const Question& question);
std::string to_text(const Row& row);
std::string to_text(const Range& range);  // "3..", "..2K"; of all: ".."

}  // namespace scela::collectives
