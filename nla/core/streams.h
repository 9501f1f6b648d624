// Standard output, error and input across the tree, under credit (decision D8): nothing is lost and
// nothing queues without bound. A slow reader at the root slows the writers at the leaves.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "nla/core/children.h"
#include "nla/core/context.h"

namespace scela::nla {

// Upwards. What may be sent to the parent is limited by the credit it gave; what may come from
// children and local ranks by the credit given to them when their bytes have left here.
//
// Where a lost parent is replaced (Context::adopts) every byte still arrives once: the agent keeps
// what it has sent until the root has it (Credit::past), whoever may be lost on the way, and sends
// again what the adopter has not seen. That is at most the windows from here to the root.
class OutputFlow {
 public:
  explicit OutputFlow(Context& context) : context_(context) {}

  // The credit for the own parent (root: for the presenter).
  void open(std::uint64_t window) { credit_ = window; }
  // Ranks of this node are about to run: let them be read.
  void start_reading();

  void local(const event::RankOutput& output);
  void local_end(Rank rank, Stream stream);
  // False: the child sent more than its credit allows, or something after the end of a stream.
  bool receive(const Child& child, const msg::Output& message, std::uint32_t window);
  void credit(std::uint64_t bytes, std::uint64_t past);
  // It will send no more: what it sent is passed on, without credit for it.
  void child_ended(LinkId child) { from_children_[child].ended = true; }
  // The parent is gone: what would be sent is dropped, so that ranks can still be drained.
  void drop_all();
  // The parent is lost: nothing is sent until another one has said what it has seen.
  void hold() { credit_ = 0; }
  void forget();  // there will be no other parent
  void go_on(std::uint64_t window, const std::vector<msg::Seen>& seen);
  // What came from these ranks' streams.
  std::vector<msg::Seen> seen(const RankSet& ranks) const;

  bool empty() const { return queue_.empty(); }
  std::uint64_t held_bytes() const { return held_ + kept_bytes_; }
  std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  struct Waiting {
    LinkId from = kParentLink;  // kParentLink: a rank of this node
    msg::Output output;
    std::uint64_t offset = 0;  // in its stream
  };
  void pump();
  void forwarded(LinkId from, std::uint64_t bytes);
  bool keeps() const { return context_.adopts() && context_.parent != kRootNode; }
  std::uint64_t count(Rank rank, Stream stream, std::uint64_t bytes);
  void sent(const Waiting& waiting, const msg::Output& output);
  void send_again(const std::map<std::pair<Rank, Stream>, msg::Seen>& seen,
                  std::deque<Waiting>& again);

  Context& context_;
  std::uint64_t credit_ = 0;
  std::deque<Waiting> queue_;
  std::uint64_t held_ = 0;
  std::uint64_t read_bytes_ = 0;
  struct FromChild {
    std::uint64_t in_use = 0;  // sent by the child, not yet credited back
    std::uint64_t owed = 0;    // forwarded, not yet credited back
    std::uint32_t window = 0;
    std::uint64_t past = 0;  // of what it sent, with the root
    bool ended = false;
  };
  std::map<LinkId, FromChild> from_children_;
  RankSet ended_[2];  // per Stream: ranks below whose stream has ended
  std::uint64_t owed_local_ = 0;

  // For another parent, or as one.
  struct Kept {
    msg::Output output;
    std::uint64_t offset = 0;
    std::uint64_t end = 0;  // position behind it on the link to the parent
  };
  struct OnItsWay {
    LinkId from = 0;
    std::uint64_t bytes = 0;
    std::uint64_t end = 0;  // as above
  };
  std::map<Rank, std::array<std::uint64_t, 2>> counts_;  // bytes per Stream that came here
  std::deque<Kept> kept_;                                // sent, perhaps not with the root
  std::uint64_t kept_bytes_ = 0;
  std::deque<OnItsWay> on_their_way_;  // of children, perhaps not with the root
  std::uint64_t sent_ = 0;             // bytes on the link to this parent
  std::uint64_t taken_ = 0;            // by it
  RankSet ends_sent_[2];
  bool dropping_ = false;
};

// Downwards, to the ranks of Job::stdin_ranks: every agent reports how much all targets below it
// have taken, and the root reads only so far ahead of the slowest. Who has no target left that
// takes any is sent nothing more, and without any at all the root stops reading: the rest of the
// input stays where it is.
class InputFlow {
 public:
  InputFlow(Context& context, Children& children) : context_(context), children_(children) {}

  void start();                              // root: the ranks run
  void read(const event::StdinRead& input);  // root
  void receive(const msg::Stdin& message);
  void receive(LinkId child, const msg::StdinTaken& message);
  void local_taken(std::uint64_t bytes);
  void ranks_closed(const RankSet& ranks);  // of this node: ended, or do not want any more
  void child_ended();                       // some child does not serve any more

  // A child of a lost child is to be adopted.
  void adopt(const Child& lost, const Child& orphan);
  // It is: sends it what it lacks.
  void resume(const Child& orphan, const msg::Orphan& state);
  void describe(msg::Orphan& self) const;

 private:
  void pass_on(const Chunk& bytes, bool end);
  void report();
  bool takes(const Child& child) const;
  bool local_takes() const;
  bool keeps() const;
  void forget(std::uint64_t before);

  Context& context_;
  Children& children_;
  RankSet closed_;
  std::uint64_t received_ = 0;
  std::uint64_t reported_ = 0;
  std::uint64_t local_ = 0;
  bool last_told_ = false;
  bool ended_ = false;
  std::deque<Chunk> kept_;  // for orphans: what the slowest target has not taken, up to received_
  std::uint64_t kept_from_ = 0;
  struct FromChild {
    std::uint64_t taken = 0;
    bool last = false;
  };
  std::map<LinkId, FromChild> from_children_;
};

}  // namespace scela::nla
