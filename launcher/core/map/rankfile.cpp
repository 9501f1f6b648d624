#include "launcher/core/map/rankfile.h"

#include <map>
#include <set>
#include <utility>

#include "common/core/text.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

// The largest rank that a job can have.
constexpr std::uint32_t kMaxRankfileRank = (1u << 24) - 1;
constexpr std::string_view kRankfileSyntax = "write rank 0=host slot=0:0-3";

// Removes `word` from the front of `text`. Returns false if `text` does not begin with it.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text = trim(text.substr(word.size()));
  return true;
}

// Removes and returns the text before the first character of `ends`, or all of it.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::string_view word = text.substr(0, text.find_first_of(ends));
  text = trim(text.substr(word.size()));
  return word;
}

Result<CoreChoice> parse_cores(std::string_view text) {
  CoreChoice out;
  const auto colon = text.find(':');
  if (colon != std::string_view::npos) {
    auto socket = parse_number(text.substr(0, colon), 0, kMaxCpusPerRank);
    if (!socket) return fail(value_error(cat("the socket: ", socket.error().why)));
    out.socket = *socket;
    text.remove_prefix(colon + 1);
  }
  if (text == "*" && out.socket != kNoObject) return out;
  auto cores = RankSet::parse(text);
  if (!cores) return fail(value_error(cat("the cores: ", cores.error().why)));
  if (cores->empty()) return fail(value_error("no core is named after slot="));
  if (cores->ranges().back().last > kMaxCpusPerRank) {
    return fail(
        value_error(cat("core ", cores->ranges().back().last, " is more than there can be")));
  }
  out.cores = std::move(*cores);
  return out;
}

Result<std::pair<Rank, RankPlace>> parse_line(std::string_view line) {
  RankPlace place;
  if (!take(line, "rank")) return fail(value_error("it does not begin with 'rank'"));
  auto rank = parse_number(take_until(line, " \t="), 0, kMaxRankfileRank);
  if (!rank) return fail(value_error(cat("the rank: ", rank.error().why)));
  if (!take(line, "=")) return fail(value_error("no '=' follows the rank"));
  place.host = take_until(line, " \t");
  if (place.host.empty()) return fail(value_error("no host follows '='"));
  if (take(line, "slot")) {
    if (!take(line, "=")) return fail(value_error("no '=' follows 'slot'"));
    auto cores = parse_cores(take_until(line, " \t"));
    if (!cores) return fail(std::move(cores.error()));
    place.cores = std::move(*cores);
  }
  if (!line.empty()) return fail(value_error(cat("'", line, "' follows")));
  return std::pair(static_cast<Rank>(*rank), std::move(place));
}

}  // namespace

Result<std::vector<RankPlace>> parse_rankfile(std::string_view text, std::string_view file_name) {
  const auto wrong = [&](std::string what, std::string why, std::string where) {
    return fail(Error{ErrorKind::usage, std::move(what), std::move(where), std::move(why),
                      std::string(kRankfileSyntax)});
  };
  std::map<Rank, RankPlace> places;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto parsed = parse_line(line);
    const std::string what = cat("read rankfile line '", line.substr(0, 80), "'");
    const std::string where = cat(file_name, ':', number);
    if (!parsed) return wrong(what, parsed.error().why, where);
    const Rank rank = parsed->first;
    if (!places.emplace(std::move(*parsed)).second) {
      return wrong(what, cat("rank ", rank, " has a place already"), where);
    }
  }
  const std::string what = cat("read rankfile '", file_name, "'");
  if (places.empty()) return wrong(what, "it names no rank", "");
  std::vector<RankPlace> out;
  for (auto& [rank, place] : places) {
    if (rank != out.size()) return wrong(what, cat("rank ", out.size(), " has no place"), "");
    out.push_back(std::move(place));
  }
  return out;
}

Result<std::vector<HostEntry>> hosts_of(const std::vector<RankPlace>& places) {
  std::vector<HostEntry> out;
  std::set<std::string> seen;
  for (const RankPlace& place : places) {
    if (!seen.insert(place.host).second) continue;
    // The limit is one host: a rank runs on a single host, and a node set may be large.
    auto host = parse_hosts(place.host, "rankfile", 1);
    if (!host) return host;
    out.insert(out.end(), host->begin(), host->end());
  }
  return out;
}

Result<Mapping> map_by_rankfile(const std::vector<RankPlace>& places,
                                const std::vector<MapNode>& nodes,
                                const std::vector<std::optional<std::uint32_t>>& programs) {
  const auto wrong = [](std::string why, std::string hint) {
    return fail(Error{ErrorKind::usage, "place the ranks as the rankfile says", "", std::move(why),
                      std::move(hint)});
  };
  std::map<std::string, std::uint32_t> index;
  for (const MapNode& node : nodes)
    index.emplace(node.name, static_cast<std::uint32_t>(index.size()));
  Mapping out;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (!programs[i] && programs.size() > 1) {
      return wrong(cat("how many ranks program ", i + 1, " has is not said"), "say it with -n");
    }
    const Rank first = out.map.size();
    const std::uint64_t ranks = programs[i].value_or(static_cast<std::uint32_t>(places.size()));
    if (ranks > places.size() - first) {
      return wrong(cat("the job has ", first + ranks, " ranks or more, the file has places for ",
                       places.size()),
                   "add lines for the others, or start fewer with -n");
    }
    for (Rank rank = first; rank < first + ranks; ++rank) {
      const auto at = index.find(places[rank].host);
      if (at == index.end()) {
        return wrong(cat("rank ", rank, " is to run on '", places[rank].host,
                         "', which is not among the job's hosts"),
                     "name it in the host list too, or name no hosts but those of the file");
      }
      out.map.append(at->second, 1);
    }
    out.segments.push_back({first, static_cast<Rank>(ranks)});
  }
  return out;
}

}  // namespace scela
