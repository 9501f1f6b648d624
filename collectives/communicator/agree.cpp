#include "collectives/communicator/agree.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collectives/agreement/agreement_frame.h"
#include "collectives/communicator/call/collective.h"
#include "common/core/text.h"

namespace scela::collectives {

namespace {

// The time between two calls of progress(), since other ranks may wait for operations under way.
constexpr std::chrono::milliseconds kBetweenAgreeLooks{2};

// Sends and receives the messages of one agreement. Both ranks of a pair receive all messages of
// the other before they are done.
class Talk {
 public:
  Talk(Communicator::State& group, Transport& transport, AgreementValue own)
      : group_(group),
        transport_(transport),
        // The route is beside the communicator's own, which receives no messages any more once a
        // rank has ended.
        route_(beside(group.context, kAgreementContext)),
        ranks_(static_cast<int>(group.ranks.size())),
        agreement_(group.rank, ranks_, std::move(own)),
        heard_(group.ranks.size()),
        lost_(group.ranks.size(), false) {}
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;
  ~Talk() {
    for (const Heard& one : heard_)
      if (one.ticket) transport_.cancel(*one.ticket);
    for (const Sent& one : sent_)
      transport_.cancel(one.ticket);
  }

  // Blocks until all have decided. Returns ok if so.
  Status hold() {
    for (int rank = 0; rank < ranks_; ++rank)
      if (rank != group_.rank) listen(rank);
    agreement_.begin(outgoing_);
    for (;;) {
      notice_ends();
      send();
      lose_the_dead();
      const bool moved = hear();
      if (!status_.ok() || (agreement_.done() && outgoing_.empty() && sent_.empty()))
        return status_;
      if (!moved) wait();
    }
  }
  const AgreementValue& decided() const { return *agreement_.decided(); }

 private:
  struct Heard {
    std::vector<std::byte> frame;
    std::optional<Transport::Ticket> ticket;
  };
  struct Sent {
    std::vector<std::byte> frame;
    Transport::Ticket ticket = 0;
  };

  Heard& heard(int rank) { return heard_[static_cast<std::size_t>(rank)]; }
  int peer(int rank) const { return group_.ranks[static_cast<std::size_t>(rank)]; }

  void listen(int rank) {
    Heard& one = heard(rank);
    one.frame.resize(frame_bytes(ranks_));
    one.ticket = transport_.receive(peer(rank), route_, one.frame);
  }

  void notice_ends() {
    for (const int ended : transport_.ended())
      for (int rank = 0; rank < ranks_; ++rank)
        if (peer(rank) == ended && !heard(rank).ticket) agreement_.ended(rank, outgoing_);
  }

  // These ranks are decided to have ended. A message to one of them must not be waited for. Perhaps
  // no launcher has told of its end, and no connection to it can break.
  void lose_the_dead() {
    if (agreement_.decided() == nullptr) return;
    for (int rank = 0; rank < ranks_; ++rank)
      if (agreement_.has_ended(rank) && !lost_[static_cast<std::size_t>(rank)]) {
        lost_[static_cast<std::size_t>(rank)] = true;
        transport_.lost(peer(rank));
      }
  }

  void send() {
    for (const auto& [to, message] : outgoing_) {
      Sent& one = sent_.emplace_back();
      one.frame = to_frame(message);
      one.ticket = transport_.send(peer(to), route_, one.frame);
    }
    outgoing_.clear();
  }

  // Returns true if a message has come or has been sent.
  bool hear() {
    bool moved = std::erase_if(sent_, [this](const Sent& one) {
                   return transport_.test(one.ticket).over;
                 }) != 0;
    for (int rank = 0; rank < ranks_ && status_.ok(); ++rank) {
      Heard& one = heard(rank);
      if (!one.ticket) continue;
      const Outcome outcome = transport_.test(*one.ticket);
      if (!outcome.over) continue;
      one.ticket.reset();
      moved = true;
      if (outcome.fault)
        fail(rank, *outcome.fault);
      else
        take(rank, outcome.bytes);
    }
    return moved;
  }

  void take(int rank, std::uint64_t bytes) {
    const auto message =
        bytes == heard(rank).frame.size() ? from_frame(heard(rank).frame, ranks_) : std::nullopt;
    if (!message) {
      status_ = error_of(Code::mismatch, rank,
                         cat("agreement of ", ranks_, " ranks, on rank ", group_.rank,
                             ": received ", bytes, " bytes from rank ", rank,
                             " that are not a message of an agreement (all ranks must use the "
                             "same version of libscela)"));
      return;
    }
    const bool is_last = message->kind == Agreement::Kind::decide;
    agreement_.receive(rank, *message, outgoing_);
    if (!is_last) listen(rank);
  }

  void fail(int rank, const Fault& fault) {
    if (fault.code == FaultCode::peer_ended) return agreement_.ended(rank, outgoing_);
    // The peer has withdrawn its message because the communicator was given up. All ranks are told
    // of that.
    if (fault.code == FaultCode::cancelled) return listen(rank);
    status_ = error_of(fault.code == FaultCode::resources ? Code::resources : Code::other, rank,
                       cat("agreement of ", ranks_, " ranks, on rank ", group_.rank,
                           ": exchange messages with rank ", rank, ": ", fault.words));
  }

  // A rank that has freed the communicator and lives never answers, so the agreement fails with its
  // name.
  void notice_freed() {
    const AbortedContext* const what = group_.engine->executor->contexts().given_up(group_.context);
    if (what == nullptr || what->refusal != Refusal::freed) return;
    const auto ended = transport_.ended();
    if (std::ranges::find(ended, what->rank) != ended.end()) return;
    const int place =
        static_cast<int>(std::ranges::find(group_.ranks, what->rank) - group_.ranks.begin());
    status_ = error_of(Code::mismatch, place,
                       cat("agreement of ", ranks_, " ranks, on rank ", group_.rank, ": ",
                           fault_of(*what, place).words));
  }

  void wait() {
    group_.engine->executor->progress();
    notice_freed();
    if (!status_.ok()) return;
    tickets_.clear();
    for (const Heard& one : heard_)
      if (one.ticket) tickets_.push_back(*one.ticket);
    for (const Sent& one : sent_)
      tickets_.push_back(one.ticket);
    transport_.wait_any(tickets_, kBetweenAgreeLooks);
  }

  Communicator::State& group_;
  Transport& transport_;
  const Route route_;
  const int ranks_;
  Agreement agreement_;
  Status status_;
  std::vector<Agreement::OutgoingMessage> outgoing_;  // to be sent
  std::vector<Heard> heard_;                          // by rank
  std::vector<bool> lost_;                            // by rank: the transport was told
  std::deque<Sent> sent_;                             // under way
  std::vector<Transport::Ticket> tickets_;
};

}  // namespace

Decision agree_on(Communicator::State& group, bool yes, AgreementCall call,
                  ContextNumbers::Number proposed) {
  Engine& engine = *group.engine;
  if (!engine.transport) engine.transport = engine.make_transport();
  AgreementValue own(static_cast<int>(group.ranks.size()));
  own.flags = yes ? 1 : 0;
  own.highest = proposed;
  own.calls = static_cast<std::uint32_t>(call);
  engine.executor->contexts().count(group.context, group.begun++, group.ranks, 0);
  Decision decision;
  Talk talk(group, *engine.transport, std::move(own));
  decision.status = talk.hold();
  if (!decision.status.ok()) return decision;
  decision.word = talk.decided();
  if (decision.word.calls != static_cast<std::uint32_t>(call))
    decision.status =
        error_of(Code::mismatch, -1,
                 cat("agreement of ", group.ranks.size(), " ranks, on rank ", group.rank,
                     ": some ranks called agree() and others shrink(); all ranks must make "
                     "the same call"));
  else if (decision.word.has_ended(group.rank))
    decision.status = error_of(
        Code::peer_ended, group.rank,
        cat("agreement of ", group.ranks.size(), " ranks, on rank ", group.rank,
            ": the other ranks could not reach this rank and continue without it; end this "
            "process"));
  return decision;
}

}  // namespace scela::collectives
