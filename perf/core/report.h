// What was measured, put in order: one row for each size and contestant, with its ratio to the
// channel's.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/core/result.h"

namespace scela::perf {

// A line that a contestant's rank 0 has printed (loops.h).
struct Sample {
  std::string bench, provider;
  std::size_t bytes = 0;
  int ranks = 0, nodes = 0;
  std::vector<double> us;  // of one operation; one for each round
  std::string op{};        // what was done; empty: what the benchmark is called
  std::vector<std::pair<std::string, std::vector<double>>> values{};  // what else was measured
  std::string executor{}, algorithm{};  // coll: what it was done by, where the contestant says so
};
Result<Sample> parse_sample(std::string_view line);

struct Row {
  std::string bench, contestant, provider;
  std::size_t bytes = 0;
  int ranks = 0, nodes = 0;
  double median_us = 0, min_us = 0, max_us = 0;  // of all rounds of all turns
  double mb_s = 0;        // by the median; both ways together where both are used
  double messages_s = 0;  // of all pairs together
  // The channel's median by this one's (memory: its KiB): below 1, the channel is ahead; 0: its
  // own.
  double ratio = 0;
  std::string op;
  std::string executor, algorithm;                     // coll
  std::vector<std::pair<std::string, double>> values;  // medians, and what follows from them
};

class Report {
 public:
  void add(std::string_view contestant, Sample sample);
  // By size, the channel ("scela") first. Sizes that a contestant has not measured have no row.
  std::vector<Row> rows() const;

 private:
  // In order of coming, but for the sizes.
  std::vector<std::string> contestants_, ops_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Sample>
      samples_;  // by op, bytes, contestant
};

double median(std::vector<double> values);  // of at least one
std::string json_of(const Row& row);
std::string table_of(std::span<const Row> rows);
// The table, or an object of JSON for each row, on a line of its own.
std::string report_text(std::span<const Row> rows, bool json);

}  // namespace scela::perf
