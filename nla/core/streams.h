// Standard output, error and input across the tree, under credit (decision D8): nothing is lost and
// nothing queues without bound. A slow reader at the root slows the writers at the leaves.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "nla/core/children.h"
#include "nla/core/context.h"

namespace scela::nla {

// Upwards. What may be sent to the parent is limited by the credit it gave; what may come from
// children and local ranks by the credit given to them when their bytes have left here.
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
  void credit(std::uint64_t bytes);
  // It will send no more: what it sent is passed on, without credit for it.
  void child_ended(LinkId child) { from_children_[child].ended = true; }
  // The parent is gone: what would be sent is dropped, so that ranks can still be drained.
  void drop_all();

  bool empty() const { return queue_.empty(); }
  std::uint64_t held_bytes() const { return held_; }
  std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  struct Waiting {
    LinkId from = kParentLink;  // kParentLink: a rank of this node
    msg::Output output;
  };
  void pump();
  void forwarded(LinkId from, std::uint64_t bytes);

  Context& context_;
  std::uint64_t credit_ = 0;
  std::deque<Waiting> queue_;
  std::uint64_t held_ = 0;
  std::uint64_t read_bytes_ = 0;
  struct FromChild {
    std::uint64_t in_use = 0;  // sent by the child, not yet credited back
    std::uint64_t owed = 0;    // forwarded, not yet credited back
    std::uint32_t window = 0;
    bool ended = false;
  };
  std::map<LinkId, FromChild> from_children_;
  RankSet ended_[2];  // per Stream: ranks below whose stream has ended
  std::uint64_t owed_local_ = 0;
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

 private:
  void pass_on(const Chunk& bytes, bool end);
  void report();
  bool takes(const Child& child) const;
  bool local_takes() const;

  Context& context_;
  Children& children_;
  RankSet closed_;
  std::uint64_t received_ = 0;
  std::uint64_t reported_ = 0;
  std::uint64_t local_ = 0;
  bool last_told_ = false;
  struct FromChild {
    std::uint64_t taken = 0;
    bool last = false;
  };
  std::map<LinkId, FromChild> from_children_;
};

}  // namespace scela::nla
