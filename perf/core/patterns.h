// Who speaks with whom: everybody with everybody, and in the NAS parallel benchmarks, as their
// sources say: the benchmark's own partners, and those of reductions by recursive doubling.
//
// Pure. Standard library only: it is compiled by mpicxx of each peer.
#pragma once

#include <set>
#include <string_view>

namespace scela::perf {

inline constexpr std::string_view kPatterns[] = {"all", "BT", "CG", "EP", "FT",
                                                 "IS",  "LU", "MG", "SP"};

namespace pattern {

inline bool is_power_of_two(int n) {
  return n > 0 && (n & (n - 1)) == 0;
}
inline int logarithm(int n) {
  int log = 0;
  while (n >>= 1)
    ++log;
  return log;
}
// 0: it is no square.
inline int root(int n) {
  int side = 1;
  while (side * side < n)
    ++side;
  return side * side == n ? side : 0;
}

// Rows of ranks, the ends of which meet.
struct Grid {
  int rows, columns;
  int at(int row, int column) const {
    return (row + rows) % rows * columns + (column + columns) % columns;
  }
};

// Along the three ways of a multi-partition: in a row, in a column, and across.
inline void add_multi_partition(int rank, int side, std::set<int>& to) {
  const Grid grid{side, side};
  const int row = rank / side, column = rank % side;
  for (const int step : {1, -1}) {
    to.insert(grid.at(row, column + step));
    to.insert(grid.at(row + step, column));
    to.insert(grid.at(row - step, column + step));
  }
}

// The others of the row, by doubling, and the transposed one. Twice as many columns as rows where
// the ranks are no square.
inline void add_conjugate_gradient(int rank, int ranks, std::set<int>& to) {
  const int rows = 1 << logarithm(ranks) / 2, columns = ranks / rows;
  for (int bit = 1; bit < columns; bit *= 2)
    to.insert(rank / columns * columns + (rank % columns ^ bit));
  if (rows == columns)
    to.insert(rank % rows * rows + rank / rows);
  else
    to.insert(2 * (rank / 2 % rows * rows + rank / 2 / rows) + rank % 2);
}

// Up, down and to both sides; the ends do not meet.
inline void add_lower_upper(int rank, int ranks, std::set<int>& to) {
  const int rows = 1 << logarithm(ranks) / 2, columns = ranks / rows;
  const int row = rank / columns, column = rank % columns;
  if (row > 0) to.insert(rank - columns);
  if (row + 1 < rows) to.insert(rank + columns);
  if (column > 0) to.insert(rank - 1);
  if (column + 1 < columns) to.insert(rank + 1);
}

// Both neighbours along each of three axes, round.
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

// Whether the benchmark runs on so many ranks.
inline bool fits(std::string_view name, int ranks) {
  if (name == "all" || name == "EP") return ranks > 0;
  if (name == "BT" || name == "SP") return pattern::root(ranks) != 0;
  return pattern::is_power_of_two(ranks);
}

// Of a pattern that fits; the rank itself is not one of them.
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
