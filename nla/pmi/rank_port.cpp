#include "nla/pmi/rank_port.h"

#include <chrono>
#include <utility>

#include "common/core/text.h"
#include "common/os/asio.h"

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

bool RankPort::is_needed(PmiKind kind) {
  return kind == PmiKind::port || kind == PmiKind::pmgr || kind == PmiKind::pmgr_mvapich1;
}

Result<std::unique_ptr<RankPort>> RankPort::open(const RanksHost& host, const Job& job, RankSet own,
                                                 std::string node, Users users) {
  auto port = std::unique_ptr<RankPort>(new RankPort(host, job, std::move(users)));
  const Result<void> listens = port->listen(std::move(own), std::move(node));
  if (!listens) return fail(listens.error());
  return port;
}

Result<void> RankPort::listen(RankSet own, std::string node) {
  DoorHost lent{host_.io, job_.map.size(), std::move(own), users_.process, {}, {}, {}, {}, {}};
  lent.check_in = [this](Rank rank, Fd connection, const std::string& rest) {
    users_.check_in(rank, std::move(connection), rest);
    host_.turn_over();
  };
  lent.abort = [this](Rank rank, std::int32_t code, std::string message) {
    abort(rank, code, std::move(message));
    host_.turn_over();
  };
  lent.claimed = [this](Rank rank) {
    if (doubted_.contains(rank)) believe_claim(rank);
    host_.turn_over();
  };
  lent.violation = [this](Rank rank, const std::string& why) {
    host_.emit(event::Asked{rank, 0, ask::Violation{cat("the rank ", why)}});
    host_.turn_over();
  };
  lent.warn = [this, node = std::move(node)](const std::string& what) {
    host_.emit(event::Say{{LogLevel::warning, Subsystem::pmi, node, what}});
    host_.turn_over();
  };
  auto opened = RankListener::open(dialect_of(job_.pmi), std::move(lent));
  if (!opened) return fail(opened.error());
  listener_ = std::move(*opened);
  return {};
}

void RankPort::abort(Rank rank, std::int32_t code, std::string message) {
  host_.emit(event::Asked{rank, 0, ask::Abort{code, std::move(message)}});
}

bool RankPort::believe_claim(Rank rank) {
  const auto* claim = listener_->claim(rank);
  // Any user of this machine can have sent it.
  if (claim != nullptr) abort(rank, claim->code, cat("(unverified) ", claim->message));
  return claim != nullptr;
}

void RankPort::doubt(Rank rank, std::function<void()> verdict) {
  if (believe_claim(rank)) return;
  doubted_.add(RankSet::single(rank));
  const auto at = timers_.emplace(timers_.end(), host_.io);
  at->set(kBenefitOfTheDoubt, [this, at, rank, verdict = std::move(verdict)] {
    if (users_.process(rank) != 0) verdict();
    doubted_.remove(RankSet::single(rank));
    timers_.erase(at);
    host_.turn_over();
  });
}

}  // namespace scela::nla
