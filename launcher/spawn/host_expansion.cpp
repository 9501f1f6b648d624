#include "launcher/spawn/host_expansion.h"

#include <algorithm>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/core/report/report_text.h"

namespace scela {

std::set<std::string> HostExpansion::hosts_of(const SpawnPlan& made) const {
  std::set<std::string> hosts;
  for (const std::size_t at : made.later)
    hosts.insert(plan_.later[at].node.name);
  for (const RankMap::Block& block : made.world.map.blocks()) {
    starting_.intersection(RankSet::run(block.first_node, block.nodes))
        .for_each([&](std::uint32_t node) { hosts.insert(plan_.hosts[node]); });
  }
  return hosts;
}

void HostExpansion::ask(const nla::action::Spawn& asked) {
  auto made = plan_spawn(plan_, failed_, asked.rank, asked.request);
  if (!made) return hooks_.planned(asked, fail(made.error()));
  Waiting one{asked, hosts_of(*made)};
  if (one.hosts.empty()) return hooks_.planned(asked, std::move(made->world));
  std::vector<std::string> fresh;
  for (const std::string& host : one.hosts)
    if (!under_way_.contains(host)) fresh.push_back(host);
  const auto more = std::min(plan_.degree, static_cast<std::uint32_t>(fresh.size()));
  if (children_ + more > max_) {
    return hooks_.planned(
        asked, fail(Error{ErrorKind::usage,
                          cat("agents have been started for spawned ranks on so many hosts, ",
                              children_, " times a few, that scela-run can hold no more"),
                          "", "", "start them all at the beginning with --usize system"}));
  }
  children_ += more;
  under_way_.insert(fresh.begin(), fresh.end());
  waiting_.push_back(std::move(one));
  if (!fresh.empty()) hooks_.find(fresh);
}

void HostExpansion::found(const std::vector<HostLookup>& hosts) {
  Settled failed;
  std::vector<std::string> contacts;
  std::vector<std::size_t> positions;
  for (std::size_t at = 0; at < plan_.later.size(); ++at) {
    AgentlessHost& later = plan_.later[at];
    const auto host = std::ranges::find(hosts, later.node.name, &HostLookup::name);
    if (host == hosts.end()) continue;
    if (host->why.empty()) {
      contacts.push_back(host->contact);
      positions.push_back(at);
    } else {
      failed[host->name] = later.why = host->why;
    }
  }
  if (!positions.empty()) {
    const Slice nodes = add_later(plan_, positions);
    starting_.add(RankSet::run(nodes.first, nodes.size()));
    hooks_.start(contacts);
  }
  settle(failed);
}

bool HostExpansion::failed(const nla::msg::NodeFailed& failure) {
  if (!starting_.contains(failure.node)) return false;
  why_[failure.node] =
      Error{ErrorKind::launch, cat("start its agent (", nla::name_of(failure.phase), ")"),
            plan_.hosts[failure.node], failure.why, ""}
          .text();
  return true;
}

void HostExpansion::added(const Slice& nodes) {
  Settled settled;
  for (std::uint32_t node = nodes.first; node < nodes.end; ++node) {
    starting_.remove(RankSet::single(node));
    std::string& why = settled[plan_.hosts[node]];
    if (const auto failure = why_.extract(node)) {
      why = failure.mapped();
      plan_.later.push_back({{plan_.hosts[node], plan_.slots[node]}, why});
    }
  }
  settle(settled);
}

void HostExpansion::settle(const Settled& hosts) {
  if (hosts.empty()) return;
  for (const auto& [host, why] : hosts)
    under_way_.erase(host);
  // A spawn that is asked for again may wait again.
  for (Waiting& one : std::exchange(waiting_, {})) {
    std::string why;
    std::vector<std::string> others;
    for (const auto& [host, cause] : hosts) {
      if (one.hosts.erase(host) == 0 || cause.empty()) continue;
      if (why.empty())
        why = cause;
      else
        others.push_back(host);
    }
    if (!others.empty())
      why += cat("; ", counted(others.size(), "more host"), " failed too: ", folded(others));
    if (!why.empty()) {
      hooks_.planned(one.asked, fail(Error{ErrorKind::launch, why, "", "", ""}));
    } else if (one.hosts.empty()) {
      ask(one.asked);
    } else {
      waiting_.push_back(std::move(one));
    }
  }
}

}  // namespace scela
