#include "tests/sim/job/node_jobs.h"

#include "common/core/text.h"

namespace scela::sim {

namespace action = nla::action;

void NodeJobs::on(std::uint32_t index, const action::UseJob& action) {
  OfNode& node = of_node_[index];
  if (node.has_job) return run_.fail(nodes_.name(index) + " is given its job twice");
  node.has_job = true;
  // The whole job only now and then: it is large when the tree is.
  const bool whole = run_.count_check() % 64 == 0 || nodes_.size() < 20;
  const bool right = whole ? action.job == job_.first : action.job.id == job_.now.id;
  if (!right) return run_.fail(nodes_.name(index) + " understood another job than the launcher's");
  node.own = node.to_start = job_.first.map.ranks_of(nodes_[index].host);
}

void NodeJobs::on(std::uint32_t index, const action::AddWorld& action) {
  OfNode& node = of_node_[index];
  const nla::Job& job = job_.now;
  if (!node.has_job) return run_.fail(nodes_.name(index) + " is given ranks more before its job");
  if (node.worlds >= job.worlds.size() || action.world != job.worlds[node.worlds]) {
    return run_.fail(cat(nodes_.name(index), " understood another world ", node.worlds + 1));
  }
  const RankSet of_world = job.ranks_of_world(++node.worlds);
  node.to_start = job.map.ranks_of(nodes_[index].host).intersection(of_world);
  node.own.add(node.to_start);
}

void NodeJobs::on(std::uint32_t index, const action::StartRanks& action) {
  const OfNode& node = of_node_[index];
  if (!node.has_job) return run_.fail(nodes_.name(index) + " starts ranks without a job");
  const bool all = node.worlds > 0 || action.ranks == node.to_start;
  if (!all || !node.to_start.contains_all(action.ranks)) {
    return run_.fail(cat(nodes_.name(index), " starts ranks ", action.ranks.text(),
                         ", its own are ", node.to_start.text()));
  }
  Micros delay = 0;
  action.ranks.for_each([&](Rank rank) {
    if (processes_[rank].life != Life::none)
      return run_.fail(cat("rank ", rank, " is started twice"));
    processes_.start(index, rank);
    delay += run_.random.below(300);
    run_.after(delay, TaskKind::rank_start, rank);
  });
}

void NodeJobs::on(std::uint32_t index, const action::EndRanks& action) {
  const bool unspawned = job_.unspawned.contains_all(action.ranks);
  if (!own(index).contains_all(action.ranks) || !unspawned) {
    return run_.fail(
        cat(nodes_.name(index), " ends ranks ", action.ranks.text(), " that are to run"));
  }
  action.ranks.for_each([&](Rank rank) { processes_.signal(rank, 9); });
}

void NodeJobs::on(std::uint32_t index, const action::InspectRanks&) {
  run_.fail(nodes_.name(index) + " looks at its ranks without a question");
}

void NodeJobs::on(std::uint32_t index, const action::Inspected&) {
  run_.fail(nodes_.name(index) + " shows an answer about ranks without a question");
}

void NodeJobs::on(std::uint32_t index, const action::RanksFailed& action) {
  OfNode& node = of_node_[index];
  if (node.own.empty())
    return run_.fail(nodes_.name(index) + " has no ranks to tell of failed ones");
  node.failed.add(action.ranks);
  action.ranks.for_each([&](Rank rank) {
    const Process& process = processes_[rank];
    if (process.life != Life::over && !excuses_.lost(rank) && !process.abort) {
      run_.fail(cat(nodes_.name(index), " says that rank ", rank, " has failed, which runs"));
    }
  });
}

bool NodeJobs::need_not_fail(Rank rank) const {
  const Process& process = processes_[rank];
  const bool well = process.life == Life::over && process.fate.success();
  return well || job_.unspawned.contains(rank) || !process.ran || end_.due();
}

void NodeJobs::on(std::uint32_t index, const action::NodesLost& action) {
  const OfNode& node = of_node_[index];
  if (node.own.empty())
    return run_.fail(nodes_.name(index) + " has no ranks to tell of lost nodes");
  if (processes_.of(index).empty()) return;  // none was started, and none is told
  action.nodes.for_each([&](std::uint32_t host) {
    if (!nodes_.host_had_fault(host)) {
      return run_.fail(cat(nodes_.name(index), " says that host ", host, " is lost, which is not"));
    }
    job_.now.map.ranks_of(host).minus(node.failed).for_each([&](Rank rank) {
      if (need_not_fail(rank)) return;
      run_.fail(cat(nodes_.name(index), " says that host ", host, " is lost, and not that rank ",
                    rank, " is"));
    });
  });
}

void NodeJobs::on(std::uint32_t index, const action::Reconnected& action) {
  if (own(index).empty() || action.ranks.empty()) {
    run_.fail(nodes_.name(index) + " has no ranks to tell of another way to others");
  }
}

}  // namespace scela::sim
