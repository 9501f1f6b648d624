#include "nla/core/pmix/pmix_names.h"

#include <utility>

#include "nla/core/kvs/names.h"

namespace scela::nla {

namespace {

NameRange range_of(pmix::Range range) {
  switch (range) {
    case pmix::Range::job:
      break;
    case pmix::Range::space:
      return NameRange::world;
    case pmix::Range::node:
      return NameRange::node;
    case pmix::Range::rank:
      return NameRange::rank;
  }
  return NameRange::job;
}

}  // namespace

bool PmixNames::ask_name(PmixQuestion question, ask::Name name) {
  const Rank rank = question.rank;
  // Ranks of this node that were refused never came, but a tool may speak in their name.
  if (!ranks_.is_own(rank) && !job_.map.ranks_of(node_).contains(rank)) return false;
  if (name.name.size() > kMaxName || name.port.size() > kMaxPublished) {
    questions_.answer(question.id, pmix::Status::too_large);
  } else if (!ranks_.is_here(rank)) {
    questions_.answer(question.id, pmix::Status::failed);
  } else {
    questions_.ask(std::move(question), std::move(name));
  }
  return true;
}

bool PmixNames::receive(pmix::msg::Publish& message) {
  NameAct act = NameAct::publish;
  if (message.keep == pmix::Keep::first_read) act = NameAct::publish_once;
  if (message.keep == pmix::Keep::rank) {
    act = NameAct::publish_own;
    publishers_.add(message.rank);
  }
  return ask_name({message.id, message.rank, {}, pmix::Status::exists},
                  {act, std::move(message.name), std::move(message.blob), range_of(message.range)});
}

bool PmixNames::receive(pmix::msg::Lookup& message) {
  PmixQuestion question{message.id, message.rank, {}, pmix::Status::not_found};
  if (message.wait) question.name = message.name;
  const NameAct act = message.wait ? NameAct::await : NameAct::lookup;
  return ask_name(std::move(question), {act, std::move(message.name), {}, range_of(message.range)});
}

bool PmixNames::receive(pmix::msg::Unpublish& message) {
  return ask_name({message.id, message.rank, {}, pmix::Status::not_found},
                  {NameAct::unpublish, std::move(message.name), {}, range_of(message.range)});
}

void PmixNames::rank_ended(Rank rank) {
  if (publishers_.contains(rank)) questions_.send(rank, ask::Name{NameAct::withdraw, {}});
  publishers_.remove(RankSet::single(rank));
}

}  // namespace scela::nla
