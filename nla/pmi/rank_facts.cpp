#include "nla/pmi/rank_facts.h"

#include <algorithm>

#include "common/core/overloaded.h"
#include "nla/core/wire/agent_messages.h"
#include "pmi/protocol/pmi2/pmi2_session.h"

namespace scela::nla {

namespace {

const char* trace_name_of(NameAct act) {
  if (act == NameAct::publish) return "publish";
  return act == NameAct::unpublish ? "unpublish" : "lookup";
}

}  // namespace

pmi::JobFacts facts_of(const Job& job, const RankSet& own, Rank rank) {
  const std::size_t world = job.world_of(rank);
  const RankSet ranks = job.ranks_of_world(world);
  pmi::JobFacts facts;
  facts.first_rank = ranks.front();
  facts.rank = rank - facts.first_rank;
  facts.size = static_cast<Rank>(ranks.size());
  facts.appnum = static_cast<std::int32_t>(job.app_of(rank) - job.first_app_of_world(world));
  facts.universe_size = job.universe_size();
  if (facts.universe_size >= 0) {
    facts.universe_size = std::max<std::int64_t>(facts.universe_size, facts.size);
  }
  facts.kvsname = job.name_of_world(world);
  facts.key_prefix = Job::key_prefix(world);
  facts.process_mapping = job.map_of_world(world).process_mapping();
  own.intersection(ranks).for_each([&](Rank one) { facts.node_ranks.add(one - facts.first_rank); });
  if (world > 0) facts.spawner = job.name_of_world(job.world_of(job.worlds[world - 1].parent));
  return facts;
}

const char* trace_name(const Request& request) {
  return std::visit(Overloaded{
                        [](const ask::Put&) { return "put"; },
                        [](const ask::PutNode&) { return "put"; },
                        [](const ask::Get&) { return "get"; },
                        [](const ask::GetNode&) { return "get"; },
                        [](const ask::Failed&) { return "get"; },
                        [](const ask::Collective& call) {
                          return call.tag == pmi::kExchangeTag ? "exchange"
                                                               : name_of(call.kind).data();
                        },
                        [](const ask::Name& name) { return trace_name_of(name.act); },
                        [](const ask::Spawn&) { return "spawn"; },
                        [](const ask::Send&) { return "send"; },
                        [](const ask::Receive&) { return "receive"; },
                        [](const ask::Abort&) -> const char* { return nullptr; },
                        [](const ask::Violation&) -> const char* { return nullptr; },
                    },
                    request);
}

}  // namespace scela::nla
