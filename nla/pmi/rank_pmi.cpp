#include "nla/pmi/rank_pmi.h"

#include <utility>

#include "pmi/server/line_server.h"
#include "pmi/server/pmgr_server.h"

namespace scela::nla {

RankPmi::RankPmi(const RanksHost& host, const Job& job, const RankSet& own,
                 std::optional<Poller>& poller)
    : job_(job),
      own_(own),
      context_{host, poller, {}, nullptr, true},
      left_(host.emit, [this](Rank rank) { return of(rank).server().finished(); }) {
  connections_.reserve(own_.size());
  add(own_);
}

Result<std::uint16_t> RankPmi::listen(const std::string& node, std::function<pid_t(Rank)> process) {
  if (!RankPort::is_needed(job_.pmi)) return std::uint16_t{0};
  const auto check_in = [this](Rank rank, Fd connection, const std::string& rest) {
    std::string greeting;
    if (job_.pmi == PmiKind::port) greeting = pmi::initack_answer(facts(rank));
    of(rank).check_in(std::move(connection), std::move(greeting), rest);
  };
  auto opened = RankPort::open(context_.host, job_, own_, node, {std::move(process), check_in});
  if (!opened) return fail(opened.error());
  context_.port = std::move(*opened);
  return context_.port->number();
}

void RankPmi::add(const RankSet& more) {
  more.for_each([&](Rank rank) {
    connections_.push_back(std::make_unique<RankConnection>(context_, rank, make_server(rank)));
  });
  if (context_.port) context_.port->add(more);
}

bool RankPmi::speaks_pmgr() const {
  return job_.pmi == PmiKind::pmgr || job_.pmi == PmiKind::pmgr_mvapich1;
}

std::unique_ptr<pmi::RankServer> RankPmi::make_server(Rank rank) {
  pmi::JobServices& services = *this;
  if (!speaks_pmgr()) return std::make_unique<pmi::LineServer>(services, rank);
  const Rank size = job_.map.size();
  return std::make_unique<pmi::PmgrServer>(services, rank,
                                           job_.pmi == PmiKind::pmgr
                                               ? pmi::make_pmgr_session(rank, size)
                                               : pmi::make_mvapich1_session(rank, size));
}

void RankPmi::open(Rank rank, Fd connection, pid_t process) {
  if (!context_.port) of(rank).open(std::move(connection), process);
}

void RankPmi::set_reading(bool on) {
  if (std::exchange(context_.reading, on) == on || !on) return;
  for (const auto& one : connections_)
    one->watch();
  context_.doorbells.ring();  // not now: the caller expects no events
}

void RankPmi::close(Rank rank) {
  if (context_.port) context_.port->settle();
  left_.add_ended(rank);
  of(rank).close();
}

void RankPmi::ended_badly(Rank rank) {
  if (context_.port) context_.port->believe_claim(rank);
}

void RankPmi::reply(const action::Reply& reply) {
  of(reply.rank).note_answered(reply.id);
  // Ranks that disagree may be about to say why.
  if (context_.port && reply.response.disagreement) {
    return context_.port->doubt(reply.rank, [this, reply] { answer(reply); });
  }
  answer(reply);
}

void RankPmi::answer(const action::Reply& reply) {
  RankConnection& one = of(reply.rank);
  if (speaks_pmgr()) {
    one.server().collected(reply.id, collected_of(reply.response));
  } else {
    one.server().answered(reply.id, answer_of(reply.response));
  }
  one.flush();
}

void RankPmi::submit(Rank rank, pmi::RequestId id, pmi::Request request) {
  if (auto asked = core_request(job_, rank, request)) {
    return ask(rank, id, std::move(*asked));
  }
  RankConnection& one = of(rank);
  pmi::Answer answer;
  if (const auto* left = std::get_if<pmi::ask::Left>(&request)) {
    answer.found = left_.has_left(rank, world_of(job_, rank).at(left->about));
  } else if (std::holds_alternative<pmi::ask::Segment>(request)) {
    // The memory is laid out for the ranks that the job began with.
    answer.ok = job_.world_of(rank) == 0 && one.offer_segment();
    if (!answer.ok) answer.error = "there is no shared memory";
  } else {
    answer.ok = one.lend_ring();
    if (!answer.ok) answer.error = "this connection is all there is";
  }
  one.server().answered(id, answer);
}

void RankPmi::collective(Rank rank, pmi::RequestId id, pmi::Collective call) {
  ask(rank, id, core_request(job_, rank, std::move(call)));
}

void RankPmi::ask(Rank rank, pmi::RequestId id, CoreRequest asked) {
  if (asked.name != nullptr) of(rank).note_asked(id, asked.name);
  context_.host.emit(event::Asked{rank, id, std::move(asked.request)});
}

}  // namespace scela::nla
