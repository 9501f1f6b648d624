#include "nla/core/pmix/pmix_watch.h"

#include <algorithm>
#include <utility>

#include "common/core/bytes.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

namespace {

using pmix::Process;
using pmix::ProcessState;
using pmix::Status;

// The tags of messages between agents. The service tags below these belong to PmixData.
constexpr std::uint32_t kAskTag = kServiceTags + 8;
constexpr std::uint32_t kTableTag = kServiceTags + 9;
constexpr std::uint32_t kEventTag = kServiceTags + 10;
constexpr std::uint32_t kSignalTag = kServiceTags + 11;

constexpr std::int32_t kLastSignal = 64;

}  // namespace

PmixWatch::PmixWatch(const Job& job, const RankSet& own, Callbacks sides)
    : job_(job), own_(own), sides_(std::move(sides)) {}

// Returns the other nodes that have some of `ranks`, without those that are lost. The rank of each
// node is its lowest one that has not failed.
PmixWatch::Nodes PmixWatch::others(const RankSet& ranks) const {
  Nodes nodes;
  for (const RankMap::Block& block : job_.map.blocks()) {
    for (std::uint32_t i = 0; i < block.nodes; ++i) {
      const std::uint32_t node = block.first_node + i;
      if (nodes.contains(node) || lost_.contains(node)) continue;
      const RankSet all = job_.map.ranks_of(node);
      if (!all.intersects(ranks) || all.intersects(own_)) continue;
      const RankSet left = all.minus(failed_);
      if (!left.empty()) nodes.emplace(node, left.front());
    }
  }
  return nodes;
}

void PmixWatch::answer(pmix::Id id, Status status, std::string blob) {
  sides_.tell(pmix::msg::Answer{id, status, std::move(blob)});
}

// The table of processes.

std::vector<Process> PmixWatch::here() const {
  std::vector<Process> out;
  own_.for_each([&](Rank rank) {
    const auto at = ended_.find(rank);
    out.push_back(at == ended_.end() ? sides_.look(rank) : at->second);
  });
  return out;
}

bool PmixWatch::receive(pmix::msg::TableWanted& message) {
  // If too many tables wait, the oldest one is answered with what has come. An agent that is gone
  // says nothing.
  if (tables_.size() >= kMaxTables) {
    Table oldest = std::move(tables_.begin()->second);
    tables_.erase(tables_.begin());
    finish(oldest);
  }
  const RankSet all = RankSet::run(0, job_.map.size());
  if (!all.contains_all(message.ranks)) return false;
  Table table{message.id, {}, here()};
  const Nodes nodes = message.here ? Nodes{} : others(message.ranks.empty() ? all : message.ranks);
  for (const auto& [node, rank] : nodes)
    table.awaited.insert(node);
  if (nodes.empty()) {
    finish(table);
    return true;
  }
  const std::uint64_t number = next_++;
  tables_.emplace(number, std::move(table));
  for (const auto& [node, rank] : nodes)
    ask(number, rank);
  return true;
}

void PmixWatch::ask(std::uint64_t number, Rank rank) {
  ByteWriter out;
  out.varint(number);
  sides_.send(kAskTag, rank, out.take());
}

void PmixWatch::table_heard(Rank from, std::string_view bytes) {
  ByteReader in(bytes);
  const std::uint64_t number = in.varint();
  const auto at = tables_.find(number);
  const auto node = job_.map.node_of(from);
  if (!in.ok() || !node || at == tables_.end() || at->second.awaited.erase(*node) == 0) return;
  const RankSet theirs = job_.map.ranks_of(*node);
  for (const Process& one : pmix::decode_processes(in.rest()).value_or(std::vector<Process>())) {
    if (theirs.contains(one.rank)) at->second.processes.push_back(one);
  }
  if (!at->second.awaited.empty()) return;
  Table done = std::move(at->second);
  tables_.erase(at);
  finish(done);
}

void PmixWatch::finish(Table& table) {
  std::vector<Process>& all = table.processes;
  RankSet known;
  for (const Process& one : all)
    known.add(one.rank);
  failed_.minus(known).for_each([&](Rank rank) {
    all.push_back({rank, 0, ProcessState::lost, 0});
  });
  ended_well_.minus(known).minus(failed_).for_each([&](Rank rank) {
    all.push_back({rank, 0, ProcessState::exited, 0});
  });
  std::sort(all.begin(), all.end(),
            [](const Process& a, const Process& b) { return a.rank < b.rank; });
  answer(table.id, Status::ok, pmix::encode_processes(all));
}

void PmixWatch::ended(const Process& process) {
  if (own_.contains(process.rank)) ended_.emplace(process.rank, process);
}

// If all ranks of a node have failed, its agent may be gone and not answer.
void PmixWatch::peers_failed(const RankSet& ranks) {
  failed_.add(ranks);
  sides_.tell(pmix::msg::RanksFailed{ranks});
  finish_complete();
}

// Failures on these nodes were reported before. So all other ranks there ended well.
void PmixWatch::nodes_lost(const RankSet& nodes) {
  lost_.add(nodes);
  nodes.for_each(
      [&](std::uint32_t node) { ended_well_.add(job_.map.ranks_of(node).minus(failed_)); });
  finish_complete();
}

void PmixWatch::reconnected(const RankSet& ranks) {
  const bool inside = own_.intersects(ranks);
  for (const auto& [number, table] : tables_) {
    for (const std::uint32_t node : table.awaited) {
      const RankSet there = job_.map.ranks_of(node);
      if (there.intersects(ranks) != inside) ask(number, there.minus(failed_).front());
    }
  }
}

// Answers the tables that wait for no node any more.
void PmixWatch::finish_complete() {
  std::vector<Table> done;
  for (auto at = tables_.begin(); at != tables_.end();) {
    std::set<std::uint32_t>& awaited = at->second.awaited;
    for (auto node = awaited.begin(); node != awaited.end();) {
      const bool over = lost_.contains(*node) || failed_.contains_all(job_.map.ranks_of(*node));
      node = over ? awaited.erase(node) : ++node;
    }
    if (awaited.empty()) {
      done.push_back(std::move(at->second));
      at = tables_.erase(at);
    } else {
      ++at;
    }
  }
  for (Table& table : done)
    finish(table);
}

// Events, signals and text.

bool PmixWatch::receive(pmix::msg::Notify& message) {
  const RankSet all = RankSet::run(0, job_.map.size());
  if (!all.contains_all(message.targets)) return false;
  if (message.blob.size() > kMaxEvent) return true;  // no agent would take it
  for (const auto& [node, rank] : others(message.targets.empty() ? all : message.targets))
    sides_.send(kEventTag, rank, message.blob);
  return true;
}

bool PmixWatch::receive(pmix::msg::Control& message) {
  if (!RankSet::run(0, job_.map.size()).contains_all(message.ranks) || message.signo < 1 ||
      message.signo > kLastSignal) {
    return false;
  }
  ByteWriter out;
  out.u32(static_cast<std::uint32_t>(message.signo));
  out.ranks(message.ranks);
  const std::string bytes = out.take();
  for (const auto& [node, rank] : others(message.ranks))
    sides_.send(kSignalTag, rank, bytes);
  answer(message.id, Status::ok);
  signal(message.ranks, message.signo);
  return true;
}

void PmixWatch::signal(const RankSet& ranks, std::int32_t signo) {
  own_.intersection(ranks).for_each([&](Rank rank) {
    if (!ended_.contains(rank)) sides_.kill(rank, signo);
  });
}

bool PmixWatch::receive(pmix::msg::Log& message) {
  if (!own_.contains(message.rank)) return false;
  if (message.text.size() > kMaxLog) {
    answer(message.id, Status::too_large);
  } else {
    const bool written = sides_.write(message.rank, message.error, std::move(message.text));
    answer(message.id, written ? Status::ok : Status::failed);
  }
  return true;
}

bool PmixWatch::heard(std::uint32_t tag, Rank from, std::string_view bytes) {
  ByteReader in(bytes);
  if (tag == kAskTag) {
    ByteWriter out;
    out.varint(in.varint());
    out.raw(pmix::encode_processes(here()));
    if (in.done()) sides_.send(kTableTag, from, out.take());
  } else if (tag == kTableTag) {
    table_heard(from, bytes);
  } else if (tag == kEventTag) {
    if (bytes.size() <= kMaxEvent) sides_.tell(pmix::msg::Event{std::string(bytes)});
  } else if (tag == kSignalTag) {
    const auto signo = static_cast<std::int32_t>(in.u32());
    const RankSet ranks = in.ranks();
    if (in.done() && signo >= 1 && signo <= kLastSignal) signal(ranks, signo);
  } else {
    return false;
  }
  return true;
}

}  // namespace scela::nla
