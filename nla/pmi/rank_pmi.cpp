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
  one.server().answered(reply.id, reply.response);
  one.flush();
}

void RankPmi::submit(Rank rank, RequestId id, Request request) {
  if (const char* name = trace_name(request)) of(rank).note_asked(id, name);
  context_.host.emit(event::Asked{rank, id, std::move(request)});
}

bool RankPmi::offer_segment(Rank rank) {
  // The memory is laid out for the ranks that the job began with.
  return job_.world_of(rank) == 0 && of(rank).offer_segment();
}

bool RankPmi::lend_ring(Rank rank) {
  return of(rank).lend_ring();
}

}  // namespace scela::nla
