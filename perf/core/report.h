// The report of the measurements: one row for each size and contestant, with its ratio to the
// channel's. A contestant is a library that is measured; "scela" is the channel.
//
// The driver fills it from one thread; it does not lock.
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

// A line that a contestant's rank 0 has printed (perf/timed_loops.h).
struct Sample {
  // The benchmark, and what moves the contestant's messages ("shm", "mpich-tcp").
  std::string bench, provider;
  std::size_t bytes = 0;
  int ranks = 0, nodes = 0;
  // The microseconds of one operation, one value for each round.
  std::vector<double> us;
  std::string op{};                                                   // empty: the benchmark's name
  std::vector<std::pair<std::string, std::vector<double>>> values{};  // other figures
  // For coll, the executor and algorithm used, if the contestant reports them.
  std::string executor{}, algorithm{};
};
// Reads a line that a contestant's rank 0 has printed. Returns an error (kind protocol) if it is
// not one, or has times that are not positive.
Result<Sample> parse_sample(std::string_view line);

// A row of the report: the figures of one benchmark, operation, size and contestant.
struct Row {
  // The benchmark; the contestant's name ("scela", or one of kPeers); and what moves its messages
  // ("shm", "mpich-tcp").
  std::string bench, contestant, provider;
  std::size_t bytes = 0;
  int ranks = 0, nodes = 0;
  double median_us = 0, min_us = 0, max_us = 0;  // of all rounds of all turns
  // Megabytes (10^6 bytes) per second, from the median; for benchmarks that send both ways, both
  // ways together.
  double mb_s = 0;
  double messages_s = 0;  // per second, of all pairs together
  // The channel's median divided by this contestant's (for memory: its KiB). Below 1, the channel
  // is faster; 0 stands for the channel itself.
  double ratio = 0;
  std::string op;
  std::string executor, algorithm;                     // coll
  std::vector<std::pair<std::string, double>> values;  // medians, and figures from them
};

// The samples of all contestants.
class Report {
 public:
  // Adds one measurement. Those of later turns are added to those of the same contestant, operation
  // and size. The first contestant must be the channel ("scela").
  void add(std::string_view contestant, Sample sample);
  // Returns the rows by operation and size, with the channel ("scela") first. A size that a
  // contestant has not measured has no row.
  std::vector<Row> rows() const;

 private:
  // In order of arrival, except for the sizes.
  std::vector<std::string> contestants_, ops_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Sample>
      samples_;  // by op, bytes, contestant
};

// Returns the median of at least one value.
double median(std::vector<double> values);
// Returns the row as an object of JSON, on one line without newline.
std::string json_of(const Row& row);
// Returns the rows as a table for a terminal, or an empty string if there are none.
std::string table_of(std::span<const Row> rows);
// Returns table_of(), or with `json` the JSON of each row on a line of its own.
std::string report_text(std::span<const Row> rows, bool json);

}  // namespace scela::perf
