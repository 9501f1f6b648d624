// The choice of the algorithm that carries out an operation, unless the caller names one. All ranks
// choose by the same table. The communicator and scela-perf use it. A table belongs to one thread
// while it is changed; any thread may read it otherwise.
//
// A table has one row a line, which parse() reads back. The first row of an operation that fits is
// taken:
//
//   bcast      ranks 3.. bytes 64K..           chain segment 16K
//   allreduce  bytes ..2K                      recursive-doubling
//   barrier    nodes 2..                       dissemination radix 4
//   bcast      nodes 2.. per-node 2..          hierarchical
//
// Conditions, each at most once, are ranks, nodes, per-node and bytes, each with a range. per-node
// is the ranks of a node, rounded down if nodes have different numbers of them. A range is "8",
// "3..", "..2K" or "3..8", both ends included; K, M and G are powers of two. The algorithm's name
// follows, and, for those that have them, `segment` (bytes of one, at most), `radix` or `split`
// (Shape). A '#' starts a comment that ends with the line.
//
// A row is passed over, whatever it says, if its algorithm cannot do what is asked: a reduction
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

// A call for which an algorithm is chosen: all that the choice depends on. All ranks of a call must
// ask the same question, or their lists would not fit together.
struct Question {
  Operation operation = Operation::barrier;
  int ranks = 1;
  int nodes = 1;
  // The bytes of the message for bcast, reduce, allreduce, scan and exscan. For gather, scatter,
  // allgather, alltoall and reduce_scatter, those of one rank's block. For the v forms, the mean if
  // all ranks know all sizes; otherwise std::nullopt, and rows with `bytes` are passed over.
  std::optional<std::uint64_t> bytes = 0;
  bool equal = true;     // all blocks have one size
  bool commutes = true;  // the reduction is commutative
  bool in_place = false;
  int root = 0;
};

// The algorithm to run, and values for the members of Shape (collectives/core/shape.h) that have
// these names.
struct Choice {
  const Algorithm* algorithm = nullptr;
  std::uint32_t segments = 1;
  std::uint32_t radix = 2;
  std::uint32_t split = 0;
};

// A range of values; both ends are included.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  bool holds(std::uint64_t value) const { return least <= value && value <= most; }
  bool is_all() const { return least == 0 && most == std::numeric_limits<std::uint64_t>::max(); }
  friend bool operator==(const Range&, const Range&) = default;
};

// One row of a table: the conditions under which it fits, and the algorithm.
struct Row {
  Operation operation = Operation::barrier;
  // The conditions, as above; a range of all values is no condition.
  Range ranks, nodes, per_node, bytes;
  const Algorithm* algorithm = nullptr;
  std::uint64_t segment = 0;  // most bytes of a segment; 0: not cut
  std::uint32_t radix = 2;
  std::uint32_t split = 0;
  friend bool operator==(const Row&, const Row&) = default;
};

// Rows, of which the first that fits is taken.
class Table {
 public:
  // Returns the table in `text`, one row a line, or an error. `name` is the name of the file or
  // variable; an error says it and the line.
  static Result<Table> parse(std::string_view text, std::string_view name);
  // Returns the built-in table, which is used if no other row fits. It has an answer to every
  // question.
  static const Table& standard();

  // Puts the rows of `before`, in their order, before all others.
  void put_before(const Table& before);
  // Returns the first row of the operation that fits and that the algorithm can serve, or null. The
  // table owns the row.
  const Row* find(const Question& question) const;
  const std::vector<Row>& rows() const { return rows_; }
  // Returns the table as parse() reads it.
  std::string text() const;

 private:
  std::vector<Row> rows_;
};

// Returns true if the algorithm can do what is asked, with this radix (Shape::radix).
bool can(const Algorithm& algorithm, const Question& question, std::uint32_t radix);
// The most segments of a message, however long it is.
inline constexpr std::uint32_t kMaxSegments = 256;
// Returns the choice that a row makes for a question: its algorithm, and as many segments as the
// bytes of the question need.
Choice choice_of(const Row& row, const Question& question);
// Returns the line of a row, as parse() reads it.
std::string to_text(const Row& row);
// Returns a range such as "3.." or "..2K"; for a range of all values "..".
std::string to_text(const Range& range);

}  // namespace scela::collectives
