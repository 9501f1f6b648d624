#include "nla/pmi/pmi_translation.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "common/core/overloaded.h"

namespace scela::nla {

namespace {

// Tag of operations of the whole job that may overlap its fences; no barrier of PMI-1 has this tag.
constexpr std::uint32_t kExchangeTag = UINT32_MAX;

CollectiveKind kind_of(pmi::Operation operation) {
  switch (operation) {
    case pmi::Operation::barrier:
      return CollectiveKind::barrier;
    case pmi::Operation::leave:
      return CollectiveKind::fence;  // such a job's ranks put nothing
    case pmi::Operation::gather:
      return CollectiveKind::gather;
    case pmi::Operation::broadcast:
      return CollectiveKind::broadcast;
    case pmi::Operation::allgather:
      return CollectiveKind::allgather;
    case pmi::Operation::scatter:
      return CollectiveKind::scatter;
    case pmi::Operation::alltoall:
      return CollectiveKind::alltoall;
  }
  return CollectiveKind::barrier;
}

ask::Collective fence_of(RankSet set, std::uint32_t tag) {
  ask::Collective fence;
  fence.kind = CollectiveKind::fence;
  fence.set = std::move(set);
  fence.tag = tag;
  return fence;
}

// Returns the numbers that ranks of a world have in the job. `first` is the world's first rank.
RankSet numbers_in_job(const RankSet& ranks, Rank first) {
  RankSet out;
  for (const RankSet::Range& run : ranks.ranges())
    out.add(RankSet::run(first + run.first, run.last - run.first + 1));
  return out;
}

ask::Collective exchange_of(RankSet set, std::string bytes) {
  ask::Collective exchange;
  exchange.kind = CollectiveKind::allgather;
  exchange.set = std::move(set);
  exchange.parts.emplace_back(std::move(bytes));
  exchange.tag = kExchangeTag;
  return exchange;
}

ask::Spawn spawn_of(pmi::ask::Spawn& asked) {
  ask::Spawn spawn;
  spawn.request.preput = std::move(asked.preput);
  for (pmi::SpawnProgram& program : asked.programs) {
    spawn.request.programs.push_back(
        {std::move(program.argv), program.ranks, std::move(program.infos)});
  }
  return spawn;
}

}  // namespace

RankSet world_of(const Job& job, Rank rank) {
  return job.ranks_of_world(job.world_of(rank));
}

std::optional<CoreRequest> core_request(const Job& job, Rank rank, pmi::Request& request) {
  using Asked = std::optional<CoreRequest>;
  // Returns the key as it is called outside of the rank's world.
  const auto global = [&](std::string_view key) {
    return Job::key_prefix(job.world_of(rank)).append(key);
  };
  const auto name = [](const char* shown, NameAct act, std::string& text, std::string port = {}) {
    return Asked({shown, ask::Name{act, std::move(text), std::move(port)}});
  };
  return std::visit(
      Overloaded{
          [&](pmi::ask::Put& put) {
            return Asked({"put", ask::Put{global(put.key), Chunk(std::move(put.value))}});
          },
          [&](pmi::ask::Get& get) {
            return Asked({"get", ask::Get{global(get.key), false}});
          },
          [&](pmi::ask::Fence&) {
            return Asked({"fence", fence_of(world_of(job, rank), 0)});
          },
          [&](pmi::ask::GroupFence& fence) {
            const Rank first = world_of(job, rank).front();
            return Asked({"fence", fence_of(numbers_in_job(fence.group, first), fence.tag)});
          },
          [&](pmi::ask::Exchange& exchange) {
            return Asked({"exchange", exchange_of(world_of(job, rank), std::move(exchange.bytes))});
          },
          [&](pmi::ask::PutNode& put) {
            return Asked({"put", ask::PutNode{global(put.key), std::move(put.value)}});
          },
          [&](pmi::ask::GetNode& get) {
            return Asked({"get", ask::GetNode{global(get.key), get.wait}});
          },
          [&](pmi::ask::Publish& publish) {
            return name("publish", NameAct::publish, publish.name, std::move(publish.port));
          },
          [&](pmi::ask::Lookup& lookup) { return name("lookup", NameAct::lookup, lookup.name); },
          [&](pmi::ask::Unpublish& gone) {
            return name("unpublish", NameAct::unpublish, gone.name);
          },
          [&](pmi::ask::Spawn& spawn) {
            return Asked({"spawn", spawn_of(spawn)});
          },
          [&](pmi::ask::Failed&) {
            return Asked({"get", ask::Failed{}});
          },
          [&](pmi::ask::Abort& abort) {
            return Asked({nullptr, ask::Abort{abort.code, std::move(abort.message)}});
          },
          [&](pmi::ask::Violation& violation) {
            return Asked({nullptr, ask::Violation{std::move(violation.why)}});
          },
          [&](pmi::ask::Segment&) { return Asked(); },
          [&](pmi::ask::Ring&) { return Asked(); },
          [&](pmi::ask::Left&) { return Asked(); },
      },
      request);
}

CoreRequest core_request(const Job& job, Rank rank, pmi::Collective call) {
  ask::Collective request;
  request.kind = kind_of(call.operation);
  request.set = world_of(job, rank);
  request.root = call.root;
  request.parts = std::move(call.parts);
  return {name_of(request.kind).data(), std::move(request)};
}

pmi::Answer answer_of(const Response& response) {
  pmi::Answer answer;
  answer.ok = response.ok;
  answer.error = response.error;
  answer.found = response.found;
  answer.parts = response.parts;
  if (answer.parts.size() == 1) answer.value = answer.parts.front().view();
  return answer;
}

pmi::Collected collected_of(const Response& response) {
  pmi::Collected result;
  if (!response.ok) {
    result.outcome = response.disagreement ? pmi::Collected::Outcome::disagreed
                                           : pmi::Collected::Outcome::failed;
  }
  result.why = response.error;
  // A rank that leaves calls the operation by another name, see kind_of().
  constexpr std::string_view kFence = "fence";
  for (std::size_t at; (at = result.why.find(kFence)) != std::string::npos;)
    result.why.replace(at, kFence.size(), "close");
  result.parts = response.parts;
  return result;
}

pmi::JobFacts facts_of(const Job& job, const RankSet& own, Rank rank) {
  const std::size_t world = job.world_of(rank);
  const RankSet ranks = job.ranks_of_world(world);
  pmi::JobFacts facts;
  facts.rank = rank - ranks.front();
  facts.size = static_cast<Rank>(ranks.size());
  facts.appnum = static_cast<std::int32_t>(job.app_of(rank) - job.first_app_of_world(world));
  facts.universe_size = job.universe_size();
  if (facts.universe_size >= 0) {
    facts.universe_size = std::max<std::int64_t>(facts.universe_size, facts.size);
  }
  facts.kvsname = job.name_of_world(world);
  facts.process_mapping = job.map_of_world(world).process_mapping();
  own.intersection(ranks).for_each([&](Rank one) { facts.node_ranks.add(one - ranks.front()); });
  if (world > 0) facts.spawner = job.name_of_world(job.world_of(job.worlds[world - 1].parent));
  return facts;
}

}  // namespace scela::nla
