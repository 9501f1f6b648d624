// Formats the plan of a job as text, for --show-map and --dry-run (declared in job_report.h).
#include <algorithm>
#include <map>

#include "common/core/counted.h"
#include "common/core/nodeset/nodeset.h"
#include "common/core/text.h"
#include "launcher/core/report/job_report.h"

namespace scela {
namespace {

// Up to this number of nodes, each node has its own line. In larger trees, similar leaves share a
// line.
constexpr std::size_t kMaxSingleNodes = 64;

std::string folded(const std::vector<std::string>& names) {
  const auto set = NodeSet::from_names(names);
  return set ? set->fold() : cat(names.front(), " ... ", names.back());
}

class TreeDrawing {
 public:
  explicit TreeDrawing(const MapReport& report)
      : report_(report), ranks_(report.node_names.size()), children_(ranks_.size() + 1) {
    Rank first = 0;
    for (const RankMap::Block& block : report.map.blocks()) {
      for (std::uint32_t i = 0; i < block.nodes; ++i, first += block.ranks_per_node) {
        const std::size_t node = block.first_node + i;
        if (node < ranks_.size()) ranks_[node].add(RankSet::run(first, block.ranks_per_node));
      }
    }
    for (std::size_t node = 0; node < ranks_.size() && node < report.parents.size(); ++node) {
      const std::int64_t parent = report.parents[node];
      const bool is_below_agent = parent >= 0 && static_cast<std::size_t>(parent) < ranks_.size();
      children_[is_below_agent ? static_cast<std::size_t>(parent) : root()].push_back(node);
    }
  }

  std::string text() {
    out_ = "scela-run\n";
    // This uses a stack instead of recursion: with degree 1, the tree is as deep as the host list
    // is long.
    std::vector<Frame> stack{{root(), 0, ""}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::vector<std::size_t>& siblings = children_[frame.node];
      if (frame.next == siblings.size()) {
        stack.pop_back();
        continue;
      }
      const std::size_t first = frame.next;
      frame.next += alike_from(siblings, first);
      const bool is_last = frame.next == siblings.size();
      out_ += cat(frame.indent, is_last ? "`-- " : "|-- ",
                  line_of({siblings.begin() + static_cast<std::ptrdiff_t>(first),
                           siblings.begin() + static_cast<std::ptrdiff_t>(frame.next)}),
                  "\n");
      const std::string indent = frame.indent + (is_last ? "    " : "|   ");
      if (!children_[siblings[first]].empty()) stack.push_back({siblings[first], 0, indent});
    }
    return std::move(out_);
  }

 private:
  struct Frame {
    std::size_t node;
    std::size_t next;  // next child
    std::string indent;
  };

  std::size_t root() const { return ranks_.size(); }

  // Returns how many siblings from `first` on share a line: leaves with equal numbers of ranks.
  std::size_t alike_from(const std::vector<std::size_t>& siblings, std::size_t first) const {
    if (ranks_.size() <= kMaxSingleNodes || !children_[siblings[first]].empty()) return 1;
    std::size_t end = first + 1;
    while (end < siblings.size() && children_[siblings[end]].empty() &&
           ranks_[siblings[end]].size() == ranks_[siblings[first]].size()) {
      ++end;
    }
    return end - first;
  }

  std::string line_of(const std::vector<std::size_t>& nodes) const {
    const RankSet& ranks = ranks_[nodes.front()];
    if (nodes.size() == 1) {
      const std::string& name = report_.node_names[nodes.front()];
      if (ranks.empty()) return cat(name, "  no ranks");
      return cat(name, ranks.size() == 1 ? "  rank " : "  ranks ", ranks.text());
    }
    std::vector<std::string> names;
    RankSet all;
    for (const std::size_t node : nodes) {
      names.push_back(report_.node_names[node]);
      all.add(ranks_[node]);
    }
    if (ranks.empty()) return cat(folded(names), "  no ranks");
    return cat(folded(names), "  ", counted(ranks.size(), "rank"), " each: ", all.text());
  }

  const MapReport& report_;
  std::vector<RankSet> ranks_;                      // per node
  std::vector<std::vector<std::size_t>> children_;  // per node; the last is the root's
  std::string out_;
};

// Returns all ranks. If the list would fill the screen, it returns the first ones and the last one.
std::string short_text(const RankSet& ranks) {
  constexpr std::size_t kMaxRanges = 12;
  constexpr std::size_t kShown = 3;
  if (ranks.ranges().size() <= kMaxRanges) return ranks.text();
  RankSet first;
  for (std::size_t i = 0; i < kShown; ++i)
    first.add(RankSet::run(ranks.ranges()[i].first,
                           ranks.ranges()[i].last - ranks.ranges()[i].first + 1));
  return cat(first.text(), ",...,", ranks.ranges().back().last);
}

std::string short_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxCharacters = 100;
  std::string all = folded(names);
  if (names.size() == 1 || all.size() <= kMaxCharacters) return all;
  return cat(names[0], ",", names[1], ",...,", names.back(), " (", names.size(), " nodes)");
}

// Nodes with the same processors, with their ranks on the same places.
struct BoundAlike {
  std::vector<std::string> nodes;
  std::vector<std::pair<std::string, RankSet>> places;
};

bool needs_quotes(std::string_view word) {
  return word.empty() || std::ranges::any_of(word, [](char c) {
           const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                 (c >= 'A' && c <= 'Z') ||
                                 std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
           return !is_plain;
         });
}

}  // namespace

std::string command_text(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) {
    if (!text.empty()) text += ' ';
    if (!needs_quotes(word)) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) {
      if (c == '\'') {
        text += "'\\''";
      } else {
        text += c;
      }
    }
    text += '\'';
  }
  return text;
}

std::string map_text(const MapReport& report) {
  std::string text = cat(counted(report.map.size(), "rank"), " on ",
                         counted(report.node_names.size(), "node"), "\n");
  text += TreeDrawing(report).text();
  for (std::size_t i = 0; i < report.segments.size() && i < report.commands.size(); ++i) {
    const SegmentRanks& segment = report.segments[i];
    const RankSet ranks = RankSet::run(segment.first, segment.count);
    text += cat(segment.count == 1 ? "rank " : "ranks ", ranks.text(), ": ",
                command_text(report.commands[i]), "\n");
  }
  return text;
}

std::string bindings_text(const std::vector<NodeBindings>& nodes) {
  using Key = std::pair<std::string, std::vector<std::string>>;
  std::map<Key, std::size_t> index;
  std::vector<BoundAlike> groups;
  for (const NodeBindings& node : nodes) {
    Key key{node.has, {}};
    for (const auto& [rank, place] : node.ranks)
      key.second.push_back(place);
    const auto [at, fresh] = index.emplace(std::move(key), groups.size());
    if (fresh) groups.emplace_back();
    BoundAlike& group = groups[at->second];
    group.nodes.push_back(node.node);
    for (const auto& [rank, place] : node.ranks) {
      auto known =
          std::ranges::find(group.places, place, [](const auto& one) { return one.first; });
      if (known == group.places.end()) known = group.places.insert(known, {place, {}});
      known->second.add(rank);
    }
  }
  std::vector<const std::string*> has(groups.size());
  for (const auto& [key, group] : index)
    has[group] = &key.first;
  std::string text = groups.empty() ? "" : "bindings:\n";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    text += cat(short_text(groups[i].nodes), ": ", *has[i], "\n");
    for (const auto& [place, ranks] : groups[i].places)
      text += cat(ranks.size() == 1 ? "  rank " : "  ranks ", short_text(ranks), ": ", place, "\n");
  }
  return text;
}

}  // namespace scela
