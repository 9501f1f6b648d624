#include "perf/core/report.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/core/text.h"
#include "perf/core/collective_names.h"
#include "perf/core/overlap.h"

namespace scela::perf {

namespace {

// Writes three significant digits.
std::string short_of(double value) {
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  char digits[64];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals).ptr;
  return {digits, end};
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

std::size_t place_of(std::vector<std::string>& known, std::string_view name) {
  const auto found = std::ranges::find(known, name);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  known.emplace_back(name);
  return known.size() - 1;
}

double value_of(const Row& row, std::string_view name) {
  for (const auto& [known, value] : row.values)
    if (known == name) return value;
  return 0;
}

void add_overlap(Row& row) {
  OverlapTimes times;
  times.blocking = value_of(row, "blocking_us");
  times.pure = value_of(row, "pure_us");
  times.work = value_of(row, "work_us");
  times.work_during = value_of(row, "work_during_us");
  times.overlapped = row.bench == "coll" ? value_of(row, "overlapped_us") : row.median_us;
  times.timed = value_of(row, "timed_us");
  times.timed_during = value_of(row, "timed_during_us");
  const Overlap overlap = overlap_of(times);
  const double taken = value_of(row, "processor_us") - value_of(row, "work_processor_us");
  row.values.insert(
      row.values.end(),
      {{"osu_percent", overlap.osu},
       {"imb_percent", overlap.imb},
       {"imb_old_percent", overlap.imb_old},
       {"nbcbench_percent", overlap.nbcbench},
       {"availability_percent", overlap.availability},
       {"processor_taken_us", std::max(taken, 0.0) + value_of(row, "others_processor_us")}});
}

// Adds the overhead of an operation beside work in one part, and for each number of bytes after
// which it was advanced (N5).
void add_overhead(Row& row) {
  const double work = value_of(row, "work_us"), blocking = value_of(row, "blocking_us");
  std::vector<std::pair<std::string, double>> found{
      {"overhead_us", overhead_of(value_of(row, "overlapped_us"), work, blocking).us}};
  for (const auto& [name, value] : row.values) {
    std::string_view every = name;
    if (!every.starts_with(kHelpedBegins)) continue;
    every.remove_prefix(std::string_view(kHelpedBegins).size());
    every.remove_suffix(std::string_view(kHelpedEnds).size());
    const Overhead overhead = overhead_of(value, work, blocking);
    found.emplace_back(cat("overhead_every_", every, "_us"), overhead.us);
    found.emplace_back(cat("nbcbench_every_", every, "_percent"), overhead.nbcbench);
  }
  row.values.insert(row.values.end(), found.begin(), found.end());
}

// Returns whether a member is a whole number that fits. The library's conversion of a fraction, or
// of a number that does not fit, is undefined.
template <class T>
bool read_whole(const nlohmann::ordered_json& object, const char* name, T& into) {
  const auto& member = object.at(name);
  const auto take = [&into](auto value) {
    if (!std::in_range<T>(value)) return false;
    into = static_cast<T>(value);
    return true;
  };
  return member.is_number_unsigned()
             ? take(member.template get<std::uint64_t>())
             : member.is_number_integer() && take(member.template get<std::int64_t>());
}

// Returns the figure that the ratio compares, or 0 if there is none.
double compared(const Row& row) {
  if (row.bench == "memory") return value_of(row, "kib_rank");
  return row.bench == "noise" ? 0 : row.median_us;
}

}  // namespace

Result<Sample> parse_sample(std::string_view line) {
  const auto object = nlohmann::ordered_json::parse(line, nullptr, false);
  Sample sample;
  try {
    sample.bench = object.at("bench").get<std::string>();
    sample.provider = object.at("provider").get<std::string>();
    if (!read_whole(object, "bytes", sample.bytes) || !read_whole(object, "ranks", sample.ranks) ||
        !read_whole(object, "nodes", sample.nodes))
      return fail({ErrorKind::protocol, "read what a contestant has measured", "",
                   "bytes, ranks or nodes are not whole numbers that fit", ""});
    sample.us = object.at("us").get<std::vector<double>>();
    sample.op = object.value("op", sample.bench);
    sample.executor = object.value("executor", std::string());
    sample.algorithm = object.value("algorithm", std::string());
    if (object.contains("values"))
      for (const auto& [name, value] : object.at("values").items())
        sample.values.emplace_back(name, value.get<std::vector<double>>());
  } catch (const nlohmann::json::exception& wrong) {
    return fail({ErrorKind::protocol, "read what a contestant has measured", "", wrong.what(), ""});
  }
  if (sample.us.empty() || std::ranges::any_of(sample.us, [](double us) { return !(us > 0); }) ||
      std::ranges::any_of(sample.values, [](const auto& value) { return value.second.empty(); }))
    return fail({ErrorKind::protocol, "read what a contestant has measured", "",
                 "times that cannot be", ""});
  return sample;
}

void Report::add(std::string_view contestant, Sample sample) {
  const std::tuple key(place_of(ops_, sample.op), sample.bytes, place_of(contestants_, contestant));
  const auto [place, added] = samples_.try_emplace(key, sample);
  if (added) return;
  Sample& known = place->second;
  known.us.insert(known.us.end(), sample.us.begin(), sample.us.end());
  for (const auto& [name, values] : sample.values)
    for (auto& [known_name, all] : known.values)
      if (known_name == name) all.insert(all.end(), values.begin(), values.end());
}

std::vector<Row> Report::rows() const {
  std::vector<Row> rows;
  double own = 0;
  for (const auto& [key, sample] : samples_) {
    const std::size_t contestant = std::get<2>(key);
    Row row;
    row.bench = sample.bench;
    row.contestant = contestants_[contestant];
    row.provider = sample.provider;
    row.bytes = sample.bytes;
    row.ranks = sample.ranks;
    row.nodes = sample.nodes;
    row.op = sample.op.empty() ? sample.bench : sample.op;
    row.executor = sample.executor;
    row.algorithm = sample.algorithm;
    row.median_us = median(sample.us);
    row.min_us = *std::ranges::min_element(sample.us);
    row.max_us = *std::ranges::max_element(sample.us);
    for (const auto& [name, values] : sample.values)
      row.values.emplace_back(name, median(values));
    if (sample.bench == "overlap" || sample.bench == "coll") add_overlap(row);
    if (sample.bench == "coll") add_overhead(row);
    if (sample.bench == "noise")
      row.values.emplace_back(
          "propagated_percent",
          propagated(value_of(row, "plain_us"), row.median_us, value_of(row, "delay_us")));
    const double ways = sample.bench == "bidirectional" ? 2 : 1;
    const double pairs = row.values.empty() ? sample.ranks / 2 : 1;
    row.mb_s = static_cast<double>(sample.bytes) * ways * pairs / row.median_us;
    row.messages_s = 1e6 * ways * pairs / row.median_us;
    const bool same = !rows.empty() && rows.back().bytes == row.bytes && rows.back().op == row.op;
    if (contestant == 0)
      own = compared(row);
    else if (!same)
      own = 0;  // the channel has none of this size
    else if (own > 0 && compared(row) > 0)
      row.ratio = own / compared(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string json_of(const Row& row) {
  const std::string executor = !row.executor.empty()           ? row.executor
                               : row.contestant == "offloaded" ? "offload"
                                                               : "inline";
  nlohmann::ordered_json object{
      {"bench", row.bench},       {"op", row.op},         {"contestant", row.contestant},
      {"bytes", row.bytes},       {"ranks", row.ranks},   {"nodes", row.nodes},
      {"provider", row.provider}, {"executor", executor}, {"median_us", row.median_us},
      {"min_us", row.min_us},     {"max_us", row.max_us}};
  if (!row.algorithm.empty()) object["algorithm"] = row.algorithm;
  if (row.values.empty()) {
    object["mb_s"] = row.mb_s;
    object["messages_s"] = row.messages_s;
  }
  for (const auto& [name, value] : row.values)
    object[name] = value;
  if (row.ratio > 0) object["ratio"] = row.ratio;
  return object.dump();
}

namespace {

// The figures of a collective operation that the table shows; --json has all of them.
constexpr std::string_view kShown[] = {"blocking_us", "begin_us",    "wait_us",
                                       "osu_percent", "imb_percent", "max_list_peers"};

}  // namespace

std::string table_of(std::span<const Row> rows) {
  if (rows.empty()) return {};
  const bool valued = !rows.front().values.empty();
  std::string text = cat("     bytes  contestant  median us     least      most",
                         valued ? "" : "      MB/s   messages/s", "   ratio\n");
  for (const Row& row : rows) {
    text += cat(padded(cat(row.bytes), 10), "  ", padded(row.contestant, 10),
                padded(short_of(row.median_us), 11), padded(short_of(row.min_us), 10),
                padded(short_of(row.max_us), 10));
    if (!valued) text += cat(padded(short_of(row.mb_s), 10), padded(short_of(row.messages_s), 13));
    text += cat(padded(row.ratio > 0 ? short_of(row.ratio) : std::string(), 8), "\n");
    if (!valued) continue;
    text += cat("            ", row.op, ":");
    for (const auto& [name, value] : row.values)
      if (row.bench != "coll" || std::ranges::find(kShown, name) != std::end(kShown))
        text += cat(" ", name, " ", short_of(value));
    text += "\n";
  }
  return text;
}

std::string report_text(std::span<const Row> rows, bool json) {
  if (!json) return table_of(rows);
  std::string text;
  for (const Row& row : rows)
    text += json_of(row) + "\n";
  return text;
}

}  // namespace scela::perf
