// Ranks that connect to their node's port by themselves.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "common/core/text.h"
#include "nla/ranks/rank_pmi_state.h"
#include "pmi/server/line_server.h"
#include "pmi/server/pmgr_server.h"

namespace scela::nla {

namespace {

// Delay of a verdict. A rank may end its connection too early, or disagree with others about an
// operation. It may then be about to end, or to give up on a connection of its own, and that is the
// cause.
constexpr std::chrono::seconds kBenefitOfTheDoubt{1};

pmi::Dialect dialect_of(PmiKind kind) {
  if (kind == PmiKind::port) return pmi::Dialect::pmi1;
  return kind == PmiKind::pmgr ? pmi::Dialect::pmgr : pmi::Dialect::mvapich1;
}

}  // namespace

std::unique_ptr<pmi::RankServer> RankPmi::make_server(Rank rank) {
  pmi::JobServices& services = *this;
  const Rank size = job_.map.size();
  switch (job_.pmi) {
    case PmiKind::pmgr:
      return std::make_unique<pmi::PmgrServer>(services, rank, pmi::make_pmgr_session(rank, size));
    case PmiKind::pmgr_mvapich1:
      return std::make_unique<pmi::PmgrServer>(services, rank,
                                               pmi::make_mvapich1_session(rank, size));
    case PmiKind::fd:
    case PmiKind::port:
    case PmiKind::pmix:
    case PmiKind::none:
      break;
  }
  return std::make_unique<pmi::LineServer>(services, rank);
}

Result<std::uint16_t> RankPmi::listen(const std::string& node, std::function<pid_t(Rank)> process) {
  if (job_.pmi != PmiKind::port && !speaks_pmgr()) return std::uint16_t{0};
  DoorHost lent{host_.io, job_.map.size(), own_, process, {}, {}, {}, {}, {}};
  lent.check_in = [this](Rank rank, Fd connection, const std::string& rest) {
    check_in(rank, std::move(connection), rest);
    host_.turn_over();
  };
  lent.abort = [this](Rank rank, std::int32_t code, std::string message) {
    abort(rank, code, std::move(message));
    host_.turn_over();
  };
  lent.claimed = [this](Rank rank) {
    if (port_->doubted.contains(rank)) believe_claim(rank);
    host_.turn_over();
  };
  lent.violation = [this](Rank rank, const std::string& why) {
    violation(rank, cat("the rank ", why));
    host_.turn_over();
  };
  lent.warn = [this, node](const std::string& what) {
    host_.emit(event::Say{{LogLevel::warning, Subsystem::pmi, node, what}});
    host_.turn_over();
  };
  auto opened = RankListener::open(dialect_of(job_.pmi), std::move(lent));
  if (!opened) return fail(opened.error());
  port_ = std::make_unique<Port>();
  port_->process = std::move(process);
  port_->listener = std::move(*opened);
  return port_->listener->port();
}

void RankPmi::check_in(Rank rank, Fd connection, const std::string& rest) {
  Connection& one = of(rank);
  one.end.fd = std::move(connection);
  if (job_.pmi == PmiKind::port) {
    one.output.emplace_back(pmi::initack_answer(facts(rank)));
    one.output_bytes = one.output.back().size();
  }
  acknowledge(one);
  one.server->receive(rest);
  flush(one);
}

void RankPmi::settle() {
  if (port_) port_->listener->settle();
}

// Returns true if an abort was made in the rank's name. The rank fails anyway, so this may be the
// reason.
bool RankPmi::believe_claim(Rank rank) {
  const auto* claim = port_->listener->claim(rank);
  // Any user of this machine can have sent it.
  if (claim != nullptr) abort(rank, claim->code, cat("(unverified) ", claim->message));
  return claim != nullptr;
}

void RankPmi::ended_badly(Rank rank) {
  if (port_) believe_claim(rank);
}

// If an abort in the name of the rank is known, that is the cause. Otherwise calls `verdict` later,
// if the rank still runs then.
void RankPmi::doubt(Rank rank, std::function<void()> verdict) {
  if (believe_claim(rank)) return;
  port_->doubted.add(RankSet::single(rank));
  const auto at = port_->timers.emplace(port_->timers.end(), host_.io);
  at->set(kBenefitOfTheDoubt, [this, at, rank, verdict = std::move(verdict)] {
    if (port_->process(rank) != 0) verdict();
    port_->doubted.remove(RankSet::single(rank));
    port_->timers.erase(at);
    host_.turn_over();
  });
}

// Clients write an operation in several pieces. The kernel holds the second back until the first
// was acknowledged, which it would do only 40 ms later by itself.
void RankPmi::acknowledge(Connection& one) {
  const int on = 1;
  static_cast<void>(::setsockopt(one.end.fd.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on));
}

// The peers of the rank would wait for it for ever.
void RankPmi::left_early(Connection& one) {
  if (!one.server->unfinished() || one.server->broken()) return;
  doubt(one.end.rank, [this, rank = one.end.rank] {
    violation(rank, "the rank closed its connection too early and runs on");
  });
}

}  // namespace scela::nla
