// The communication patterns of ranks: each rank with all others, and those of the NAS parallel
// benchmarks. The latter follow the benchmarks' sources: their own partners, and those of
// reductions by recursive doubling. The benchmark memory uses them.
//
// All functions are pure. The file uses only the standard library, because the mpicxx of each peer
// compiles it. `rank` counts from 0, and `ranks` is the number of ranks.
#pragma once

#include <set>
#include <string_view>

namespace scela::perf {

// The names of the patterns: "all", and the NAS benchmarks.
inline constexpr std::string_view kPatterns[] = {"all", "BT", "CG", "EP", "FT",
                                                 "IS",  "LU", "MG", "SP"};

namespace pattern {

// Returns true for 1, 2, 4 and so on.
inline bool is_power_of_two(int n) {
  return n > 0 && (n & (n - 1)) == 0;
}
// Returns the logarithm of n (at least 1) to base 2, rounded down.
inline int logarithm(int n) {
  int log = 0;
  while (n >>= 1)
    ++log;
  return log;
}
// Returns the square root of n, or 0 if n is no square.
inline int root(int n) {
  int side = 1;
  while (side * side < n)
    ++side;
  return side * side == n ? side : 0;
}

// A grid of ranks, numbered row by row; its edges wrap around. at() returns a rank; row and column
// may be one beyond the edges.
struct Grid {
  int rows, columns;
  int at(int row, int column) const {
    return (row + rows) % rows * columns + (column + columns) % columns;
  }
};

// Adds the neighbours of a rank in BT and SP to `to`: along the three directions of a
// multi-partition in a row, in a column, and diagonally. `side` is the square root of the number of
// ranks.
inline void add_multi_partition(int rank, int side, std::set<int>& to) {
  const Grid grid{side, side};
  const int row = rank / side, column = rank % side;
  for (const int step : {1, -1}) {
    to.insert(grid.at(row, column + step));
    to.insert(grid.at(row + step, column));
    to.insert(grid.at(row - step, column + step));
  }
}

// Adds the partners in CG: the other ranks of the row, by doubling, and the transposed one. If the
// number of ranks is no square, there are twice as many columns as rows.
inline void add_conjugate_gradient(int rank, int ranks, std::set<int>& to) {
  const int rows = 1 << logarithm(ranks) / 2, columns = ranks / rows;
  for (int bit = 1; bit < columns; bit *= 2)
    to.insert(rank / columns * columns + (rank % columns ^ bit));
  if (rows == columns)
    to.insert(rank % rows * rows + rank / rows);
  else
    to.insert(2 * (rank / 2 % rows * rows + rank / 2 / rows) + rank % 2);
}

// Adds the partners in LU: the neighbours above, below and on both sides; the edges do not wrap
// around.
inline void add_lower_upper(int rank, int ranks, std::set<int>& to) {
  const int rows = 1 << logarithm(ranks) / 2, columns = ranks / rows;
  const int row = rank / columns, column = rank % columns;
  if (row > 0) to.insert(rank - columns);
  if (row + 1 < rows) to.insert(rank + columns);
  if (column > 0) to.insert(rank - 1);
  if (column + 1 < columns) to.insert(rank + 1);
}

// Adds the partners in MG: both neighbours along each of three axes, which wrap around.
inline void add_multi_grid(int rank, int ranks, std::set<int>& to) {
  const int log = logarithm(ranks), first = log / 3, second = (log - first) / 2;
  const int x = 1 << first, y = 1 << second, z = ranks / x / y;
  const int i = rank % x, j = rank / x % y, k = rank / x / y;
  for (const int step : {1, -1}) {
    to.insert((i + step + x) % x + x * (j + y * k));
    to.insert(i + x * ((j + step + y) % y + y * k));
    to.insert(i + x * (j + y * ((k + step + z) % z)));
  }
}

}  // namespace pattern

// Returns true if the pattern `name` exists for this number of ranks: BT and SP need a square,
// others except "all" and EP a power of two.
inline bool fits(std::string_view name, int ranks) {
  if (name == "all" || name == "EP") return ranks > 0;
  if (name == "BT" || name == "SP") return pattern::root(ranks) != 0;
  return pattern::is_power_of_two(ranks);
}

// Returns the ranks that `rank` exchanges messages with in the pattern `name`. Requires fits(). The
// rank itself is not one of them.
inline std::set<int> partners(std::string_view name, int rank, int ranks) {
  std::set<int> to;
  if (name == "all" || name == "FT" || name == "IS") {
    for (int peer = 0; peer < ranks; ++peer)
      to.insert(peer);
  } else {
    for (int bit = 1; bit < ranks; bit *= 2)
      if ((rank ^ bit) < ranks) to.insert(rank ^ bit);
  }
  if (name == "BT" || name == "SP") pattern::add_multi_partition(rank, pattern::root(ranks), to);
  if (name == "CG") pattern::add_conjugate_gradient(rank, ranks, to);
  if (name == "LU") pattern::add_lower_upper(rank, ranks, to);
  if (name == "MG") pattern::add_multi_grid(rank, ranks, to);
  to.erase(rank);
  return to;
}

}  // namespace scela::perf
