#include "launcher/report/rank_counters.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

using Json = nlohmann::ordered_json;

// Maximum nesting of objects: the line, its values, and the values for each peer.
constexpr int kMaxNesting = 4;
// Maximum number of bytes of counters of one rank. A rank's file has at most half of that
// (nla/ranks/rank_counter_files.h), and the agent adds text to each of its lines.
constexpr std::size_t kMaxOfRank = std::size_t{32} * 1024;
// Limits for kinds of counters, values and rows of a table. Real reports have a few kinds and some
// ten rows.
constexpr std::size_t kMaxKinds = 16;
constexpr std::size_t kMaxFigures = 1000;
constexpr std::size_t kMaxRows = 200;
constexpr std::size_t kMaxName = 40;  // bytes

// If there are more ranks than this, the table has only the minimum and the maximum of each
// counter.
constexpr std::size_t kMaxColumns = 8;

// Says whether nested objects are added up. They concern one rank only: there is no sum of what was
// sent to each peer.
enum class Inner : unsigned char { add, leave_out };

// Returns 0 if there is no such value or if it is no unsigned number, as ranks may report anything.
std::uint64_t figure(const Json& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() || !found->is_number_unsigned() ? 0 : found->get<std::uint64_t>();
}

void add_to(Json& all, const Json& values, Inner inner) {
  for (const auto& [name, value] : values.items()) {
    const auto known = all.find(name);
    if (known != all.end() && known->is_object() != value.is_object()) continue;
    if (value.is_object() && inner == Inner::add) {
      if (known == all.end()) all[name] = Json::object();
      add_to(all[name], value, inner);
    } else if (value.is_number_unsigned()) {
      if (known == all.end() && all.size() >= kMaxFigures) continue;
      const std::uint64_t before = figure(all, name), more = figure(values, name);
      all[name] = name.starts_with("max_") ? std::max(before, more) : before + more;
    }
  }
}

struct Kept {
  Json all = Json::object();
  std::map<Rank, Json> of_rank;
};

Kept kept_of(const std::map<Rank, std::vector<std::string>>& objects) {
  Kept kept;
  for (const auto& [rank, texts] : objects) {
    Json& own = kept.of_rank[rank] = Json::object();
    for (const std::string& text : texts)
      add_to(own, Json::parse(text), Inner::add);
    add_to(kept.all, own, Inner::leave_out);
  }
  return kept;
}

struct Column {
  std::string heading;
  std::vector<std::uint64_t> figures;
};

std::vector<Column> columns_of(const Kept& kept, const std::vector<std::string>& names) {
  Column all{"all", {}}, least{"least", {}}, most{"most", {}};
  std::vector<Column> ranks;
  for (const auto& [rank, values] : kept.of_rank)
    ranks.push_back({cat(rank), {}});
  for (const std::string& name : names) {
    all.figures.push_back(figure(kept.all, name));
    least.figures.push_back(UINT64_MAX);
    most.figures.push_back(0);
    std::size_t at = 0;
    for (const auto& [rank, values] : kept.of_rank) {
      const std::uint64_t one = figure(values, name);
      ranks[at++].figures.push_back(one);
      least.figures.back() = std::min(least.figures.back(), one);
      most.figures.back() = std::max(most.figures.back(), one);
    }
  }
  std::vector<Column> columns{std::move(all)};
  if (ranks.size() <= kMaxColumns)
    std::ranges::move(ranks, std::back_inserter(columns));
  else
    columns.insert(columns.end(), {std::move(least), std::move(most)});
  return columns;
}

void append_cell(std::string& out, const std::string& text, std::size_t width) {
  out.append(width > text.size() ? width - text.size() : 0, ' ');
  out += text;
}

// Makes the table of one kind. Counters that are 0 for all ranks are left out.
std::string table(const Kept& kept) {
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const auto& [name, value] : kept.all.items()) {
    if (value == 0) continue;
    if (names.size() < kMaxRows) {
      names.push_back(name);
    } else {
      ++more;
    }
  }
  std::size_t widest = 0;
  std::vector<std::string> lines;
  for (const std::string& name : names)
    widest = std::max(widest, lines.emplace_back(printable(name, kMaxName)).size());
  std::string heads(widest, ' ');
  for (std::string& line : lines)
    line.append(widest - line.size(), ' ');
  for (const Column& column : columns_of(kept, names)) {
    std::size_t width = column.heading.size();
    for (const std::uint64_t one : column.figures)
      width = std::max(width, cat(one).size());
    append_cell(heads, column.heading, width + 2);
    for (std::size_t i = 0; i < lines.size(); ++i)
      append_cell(lines[i], cat(column.figures[i]), width + 2);
  }
  std::string out = cat("scela-run:     ", heads, "\n");
  for (const std::string& line : lines)
    out += cat("scela-run:     ", line, "\n");
  if (more > 0) out += cat("scela-run:     and ", counted(more, "figure"), " more\n");
  return out;
}

}  // namespace

void RankCounters::add(std::uint32_t node, const RankSet& ranks, std::string_view piece) {
  lines_.add(node, piece, [&](std::string_view line) { take(ranks, line); });
}

void RankCounters::take(const RankSet& ranks, std::string_view line) {
  if (!line.starts_with(R"({"counters":)")) return;
  // A deeper object is no counter, and code that walks it would need as much stack.
  const auto shallow = [](int depth, Json::parse_event_t event, Json&) {
    const bool begins =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    return !begins || depth < kMaxNesting;
  };
  const Json found = Json::parse(line, shallow, false);
  if (!found.is_object()) return;
  const auto name = found.find("counters"), rank = found.find("rank"),
             values = found.find("values");
  if (name == found.end() || rank == found.end() || values == found.end()) return;
  if (!name->is_string() || !rank->is_number_unsigned() || !values->is_object()) return;
  if (rank->get<std::uint64_t>() > UINT32_MAX || !ranks.contains(rank->get<Rank>())) return;
  std::size_t& taken = taken_of_[rank->get<Rank>()];
  if (taken + line.size() > kMaxOfRank) return;
  taken += line.size();
  const auto kind = name->get<std::string>();
  if (objects_.size() >= kMaxKinds && !objects_.contains(kind)) return;
  objects_[kind][rank->get<Rank>()].push_back(values->dump());
}

std::string RankCounters::text(std::uint32_t ranks) const {
  std::string out;
  for (const auto& [name, objects] : objects_) {
    out += cat("scela-run:   ", printable(name, kMaxName), ", as ", objects.size(), " of ",
               counted(ranks, "rank"), " told\n", table(kept_of(objects)));
  }
  return out;
}

std::string RankCounters::json() const {
  Json out = Json::object();
  for (const auto& [name, objects] : objects_) {
    Kept kept = kept_of(objects);
    out[name]["all"] = std::move(kept.all);
    for (auto& [rank, values] : kept.of_rank)
      out[name]["ranks"][cat(rank)] = std::move(values);
  }
  return out.dump();
}

}  // namespace scela
