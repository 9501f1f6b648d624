#include "launcher/core/compat/line_gatherer.h"

#include "common/core/nodeset/nodeset.h"
#include "common/core/text.h"

namespace scela {
namespace {

constexpr std::string_view kRule = "----------------\n";

// Returns the hosts' names as a node set, or joined by commas if they are no host names.
std::string folded(const std::vector<std::string>& names) {
  if (const auto set = NodeSet::from_names(names)) return set->fold();
  std::string out;
  for (const std::string& name : names)
    out += cat(out.empty() ? "" : ",", name);
  return out;
}

}  // namespace

void LineGatherer::add(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const auto colon = line.find(": ");
  // A line of no text may have lost its last blank.
  const bool is_empty = colon == std::string_view::npos && line.ends_with(':');
  if (!is_empty && (colon == std::string_view::npos || colon == 0)) return;
  const std::string_view host = line.substr(0, is_empty ? line.size() - 1 : colon);
  if (host.empty() || host.find(' ') != std::string_view::npos) return;
  const std::string_view rest = is_empty ? std::string_view() : line.substr(colon + 2);
  auto at = texts_.find(host);
  if (at == texts_.end()) {
    at = texts_.emplace(std::string(host), "").first;
    order_.emplace_back(host);
  }
  at->second += cat(rest, "\n");
}

std::string LineGatherer::text(bool coalesces) const {
  std::vector<std::pair<std::vector<std::string>, const std::string*>> groups;
  std::map<std::string_view, std::size_t> known;
  for (const std::string& host : order_) {
    const std::string& said = texts_.find(host)->second;
    const auto at = coalesces ? known.find(said) : known.end();
    if (at != known.end()) {
      groups[at->second].first.push_back(host);
      continue;
    }
    known.emplace(said, groups.size());
    groups.push_back({{host}, &said});
  }
  std::string out;
  for (const auto& [hosts, said] : groups)
    out += cat(kRule, folded(hosts), "\n", kRule, *said);
  return out;
}

}  // namespace scela
