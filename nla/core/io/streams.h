// Standard output, error and input across the tree of agents, under credit (decision D8): nothing
// is lost and nothing queues without bound. Credit is the number of bytes that may be sent before
// the receiver allows more. A slow reader at the root slows the writers at the leaves. The agent's
// core uses this part, and one thread at a time calls it. An agent without a parent (an orphan) may
// get a new one, its adopter.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"

namespace scela::nla {

// Carries output upwards. The credit that the parent gave limits what may be sent to it. The credit
// that this agent gave limits what may come from children and local ranks; it is given again when
// their bytes have left here.
//
// If a lost parent is replaced (Context::adopts), every byte still arrives once, whichever agent is
// lost. The agent keeps what it has sent until the root has it (Credit::past), and sends again what
// the adopter has not seen. It keeps at most the windows from here to the root. A window is the
// whole credit of one link.
class OutputFlow {
 public:
  // `context` is borrowed.
  explicit OutputFlow(Context& context) : context_(context) {}

  // Sets the credit of this agent's parent, in bytes. At the root: the credit of the presenter.
  void open(std::uint64_t window) { credit_ = window; }
  // Call it before ranks of this node start. Asks the shell to read their output.
  void start_reading();

  // Take output that a rank of this node has written, or the end of one of its streams.
  void local(const event::RankOutput& output);
  void local_end(Rank rank, Stream stream);
  // Takes output of a child. `window` is the child's whole credit in bytes. Returns false if the
  // child sent more than its credit allows, or something after the end of a stream.
  bool receive(const Child& child, const msg::Output& message, std::uint32_t window);
  // Takes credit from the parent: `bytes` more may be sent. Both numbers are those of msg::Credit.
  // At the root, the presenter (the part of scela-run that shows output) gives credit.
  void credit(std::uint64_t bytes, std::uint64_t past);
  // Call it if the child will send no more. What it sent is passed on, and it gets no credit for
  // that.
  void child_ended(LinkId child) { from_children_[child].ended = true; }
  // Call it if the parent is gone for good. All that would be sent is dropped, so that ranks can
  // still be drained.
  void drop_all();
  // Call it if the parent is lost and may be replaced. Nothing is sent until go_on().
  void hold() { credit_ = 0; }
  // Drops what is kept for another parent, because none follows.
  void forget();
  // Call it when another parent has replaced the lost one. It gives `window` bytes of credit, and
  // has `seen` so much of each stream. Sends the rest again.
  void go_on(std::uint64_t window, const std::vector<msg::Seen>& seen);
  // Returns how many bytes of each stream of these ranks came here, and if the stream has ended.
  // Streams without any are left out.
  std::vector<msg::Seen> seen(const RankSet& ranks) const;

  // Returns true if no output waits for credit.
  bool empty() const { return queue_.empty(); }
  // Returns the bytes that wait for credit or are kept for another parent.
  std::uint64_t held_bytes() const { return held_ + kept_bytes_; }
  // Returns how many bytes were read from ranks of this node in all.
  std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  // Output that waits for credit.
  struct Waiting {
    LinkId from = kParentLink;  // kParentLink: a rank of this node
    msg::Output output;
    std::uint64_t offset = 0;  // offset in its stream
  };
  // Sends output that waits, as far as there is credit.
  void pump();
  // Call it if bytes from that link have left here. Gives the sender credit for them once they are
  // enough for a message.
  void forwarded(LinkId from, std::uint64_t bytes);
  // Returns true if what was sent is kept for another parent.
  bool keeps() const { return context_.adopts() && context_.parent != kRootNode; }
  // Adds to the bytes that have come of a stream. Returns how many had come before.
  std::uint64_t count(Rank rank, Stream stream, std::uint64_t bytes);
  // Records output that is sent now, for another parent and for Credit::past.
  void sent(const Waiting& waiting, const msg::Output& output);
  // Appends to `again` the kept output that the new parent has not seen. `seen` says how much of
  // each stream it has.
  void send_again(const std::map<std::pair<Rank, Stream>, msg::Seen>& seen,
                  std::deque<Waiting>& again);

  Context& context_;
  std::uint64_t credit_ = 0;
  std::deque<Waiting> queue_;
  std::uint64_t held_ = 0;
  std::uint64_t read_bytes_ = 0;
  // The state of a child's link.
  struct FromChild {
    std::uint64_t in_use = 0;  // sent by the child, not credited yet
    std::uint64_t owed = 0;    // forwarded, not credited yet
    std::uint32_t window = 0;
    std::uint64_t past = 0;  // bytes of it that reached the root
    bool ended = false;
  };
  std::map<LinkId, FromChild> from_children_;
  // The ranks below with a stream that has ended, by Stream.
  RankSet ended_[2];
  std::uint64_t owed_local_ = 0;

  // State for another parent, or for the role of one.
  struct Kept {
    msg::Output output;
    std::uint64_t offset = 0;
    std::uint64_t end = 0;  // position behind it on the parent's link
  };
  // Output of a child that was sent to the parent.
  struct OnItsWay {
    LinkId from = 0;  // the child
    std::uint64_t bytes = 0;
    std::uint64_t end = 0;
  };
  std::map<Rank, std::array<std::uint64_t, 2>> counts_;  // bytes by Stream that came here
  std::deque<Kept> kept_;                                // sent, may not have reached the root
  std::uint64_t kept_bytes_ = 0;
  std::deque<OnItsWay> on_their_way_;  // of children, may not be at the root
  std::uint64_t sent_ = 0;             // bytes sent on this parent's link
  std::uint64_t taken_ = 0;            // bytes that this parent has credited
  RankSet ends_sent_[2];
  bool dropping_ = false;
};

// Carries input downwards, to the ranks of Job::stdin_ranks. Every agent reports how much all
// targets below it have taken, and the root reads only so far ahead of the slowest. A child with no
// target left that takes input is sent nothing more. If no target is left at all, the root stops
// reading, and the rest of the input stays unread.
class InputFlow {
 public:
  // The references are borrowed.
  InputFlow(Context& context, Children& children) : context_(context), children_(children) {}

  // At the root: asks for the first input. To be called when the ranks run.
  void start();
  // At the root: takes input that the shell has read.
  void read(const event::StdinRead& input);
  // Take input from the parent, and how much of it a child's ranks have taken.
  void receive(const msg::Stdin& message);
  void receive(LinkId child, const msg::StdinTaken& message);
  // Takes the number of bytes that ranks of this node have taken in all (event::StdinTaken).
  void local_taken(std::uint64_t bytes);
  // Call it if these ranks of this node have ended, or want no more input. They are not waited for
  // any more.
  void ranks_closed(const RankSet& ranks);
  // Call it if a child does not serve any more.
  void child_ended();

  // Call it if a child of a lost child is to be adopted. It takes over the progress of the lost
  // child.
  void adopt(const Child& lost, const Child& orphan);
  // Call it if the orphan is adopted. Sends it the input that it lacks; `state` says what it has.
  void resume(const Child& orphan, const msg::Orphan& state);
  // Fills in the members of msg::Orphan that are about input.
  void describe(msg::Orphan& self) const;

 private:
  // Sends input to the children and local ranks that still take some.
  void pass_on(const Chunk& bytes, bool end);
  // Tells the parent how much the slowest target has taken, if it is worth a message. At the root,
  // reads more input instead.
  void report();
  // Returns true if a rank below the child takes input.
  bool takes(const Child& child) const;
  // Returns true if a rank of this node takes input.
  bool local_takes() const;
  // Returns true if an orphan may lack input that came here.
  bool keeps() const;
  // Drops kept input before this position.
  void forget(std::uint64_t before);

  Context& context_;
  Children& children_;
  // The ranks of this node that take no more input.
  RankSet closed_;
  std::uint64_t received_ = 0;  // bytes of input that came here
  std::uint64_t reported_ = 0;  // bytes that all targets have taken
  std::uint64_t local_ = 0;     // bytes that local targets have taken
  bool last_told_ = false;      // StdinTaken::last was sent
  bool ended_ = false;          // the end of the input came
  // For orphans: the input that the slowest target has not taken, up to received_.
  std::deque<Chunk> kept_;
  std::uint64_t kept_from_ = 0;
  // The progress that a child has reported (msg::StdinTaken).
  struct FromChild {
    std::uint64_t taken = 0;
    bool last = false;
  };
  std::map<LinkId, FromChild> from_children_;
};

}  // namespace scela::nla
