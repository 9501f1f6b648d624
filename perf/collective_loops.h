// The loops of the benchmark coll, collective operations: how long they take, what it costs to
// begin and to end them, and how much of them a computation hides.
//
// A contestant is a message passing library, and its ranks run these loops; `Peer` is its class. In
// addition to the functions of timed_loops.h it provides:
//   void collective(const Asked&);        blocking
//   void begin_collective(const Asked&);
//   void finish_collectives();            ends all that were begun
//   void progress_collectives();              advances those without blocking
//   Means means(const Asked&);            executor and algorithm used
//
// The root of rooted operations rotates, so that no rank can run ahead of the others. The memory
// and queue pairs of the whole job are counted after each size (Tables 4.2 and 4.3 of the offload
// thesis). Each rank uses one thread. The file uses only the standard library and Linux, because
// the mpicxx of each peer compiles it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "perf/core/collective_names.h"
#include "perf/memory_benchmark.h"
#include "perf/overlapping.h"
#include "perf/together.h"

namespace scela::perf {

// True for a contestant that has collective operations.
template <class Peer>
concept HasCollectives = requires(Peer& peer, const CollectiveCall& asked) {
  peer.collective(asked);
  peer.begin_collective(asked);
  peer.progress_collectives();
  peer.finish_collectives();
  peer.means(asked);
};

// Measures the operations of a plan on one rank. All ranks make the same calls.
template <HasCollectives Peer>
class CollectiveLoops {
 public:
  // Both must outlive the object.
  CollectiveLoops(Peer& peer, const Plan& plan) : peer_(peer), plan_(plan) {}

  // Measures all operations and sizes of the plan, and blocks meanwhile. Rank 0 prints a line of
  // JSON for each; `provider` names the transport in it. Returns false if the plan names an unknown
  // operation.
  bool run(const char* provider) {
    for (const std::string& name : plan_.ops) {
      if (!collective_named(name, op_)) return false;
      std::vector<std::size_t> sizes = plan_.sizes;
      if (op_ == CollectiveOp::barrier) sizes = {0};
      for (const std::size_t bytes : sizes) {
        reserve(bytes);
        Line line;
        line.op = name;
        line.bytes = bytes;
        measure(line);
        count(line);
        line.means = peer_.means(asked(0));
        if (peer_.rank() == 0) print(peer_, plan_, provider, line);
      }
    }
    return true;
  }

 private:
  // One operation, or several at once, as an `Act` of perf/overlapping.h. If several are under way
  // at once, they are begun and ended together.
  class All {
   public:
    explicit All(CollectiveLoops& loops) : loops_(&loops) {}
    // Every rank takes part.
    static bool takes_part() { return true; }
    void blocking() {
      if (loops_->instances() > 1) {
        begin();
        end();
      } else {
        loops_->peer_.collective(loops_->asked(0));
        ++loops_->turn_;
      }
    }
    void begin() {
      for (std::size_t i = 0; i < loops_->instances(); ++i)
        loops_->peer_.begin_collective(loops_->asked(i));
      ++loops_->turn_;
    }
    void help() { loops_->peer_.progress_collectives(); }
    void end() { loops_->peer_.finish_collectives(); }

   private:
    CollectiveLoops* loops_;
  };

  // Returns how many operations are under way at once.
  std::size_t instances() const { return static_cast<std::size_t>(plan_.concurrent); }
  // Makes the buffers for operations of so many bytes per rank.
  void reserve(std::size_t bytes) {
    bytes_ = bytes;
    const std::size_t room =
        std::max<std::size_t>(bytes, 1) * static_cast<std::size_t>(peer_.size());
    in_.assign(instances(), std::vector<char>(room, 1));
    out_.assign(instances(), std::vector<char>(room, 1));
  }
  // Returns the arguments of operation number `instance` of those under way at once. The root
  // depends on turn_.
  CollectiveCall asked(std::size_t instance) {
    const int root = has_root(op_) ? static_cast<int>(turn_ % peer_.size()) : 0;
    return {op_, bytes_, root, in_[instance].data(), out_[instance].data()};
  }

  // Returns on rank 0 the seconds that the slowest rank needs for `times` operations. All ranks
  // call it.
  double timed(long times) {
    All act(*this);
    barrier(peer_);
    const double begin = now();
    for (long i = 0; i < times; ++i)
      act.blocking();
    const std::vector<double> all = gather_at_0(peer_, now() - begin);
    return *std::max_element(all.begin(), all.end());
  }
  // Returns how many operations fit in a round (Plan::round_seconds), which is the same on every
  // rank. It also makes the connections.
  long calibrate() {
    long times = 2;
    timed(times);
    for (;;) {
      double seconds = timed(times);
      for (int more = 0; more < 2; ++more)
        seconds = std::min(seconds, timed(times));
      long next = times;
      if (seconds < plan_.round_seconds / 2)
        next = static_cast<long>(static_cast<double>(times) *
                                 std::min(8.0, plan_.round_seconds / std::max(seconds, 1e-7)));
      broadcast_from_0(peer_, next);
      if (next <= times) return times;
      times = next;
    }
  }

  // Measures all rounds of one size, and adds the figures to the line.
  void measure(Line& line) {
    turn_ = 0;
    const long times = calibrate();
    const double each = static_cast<double>(times) * static_cast<double>(plan_.concurrent);
    for (int round = 0; round < plan_.rounds; ++round)
      line.us.push_back(timed(times) / each * 1e6);
    Overlapping<Peer, All> beside(peer_, plan_, All(*this));
    const long few = beside.calibrate();
    for (int round = 0; round < plan_.rounds; ++round) {
      const OverlapRound own = beside.round(few);
      const std::vector<OverlapRound> rounds = gather_at_0(peer_, own);
      OverlapRound slowest = *std::max_element(
          rounds.begin(), rounds.end(), [](const OverlapRound& left, const OverlapRound& right) {
            return left.overlapped.all < right.overlapped.all;
          });
      slowest.others = rounds.front().others;
      note(slowest, line);
      add(line, "overlapped_us", slowest.overlapped.all);
      add(line, "post_us", slowest.pure.begun);
      add(line, "wait_us", slowest.pure.ended);
      for (const std::size_t every : plan_.progress)
        add(line, (kHelpedBegins + std::to_string(every) + kHelpedEnds).c_str(),
            helped(beside, few, own.amount, progress_calls(bytes_, every)));
    }
  }
  // Measures the operation beside work that is done in parts, between which the operation is
  // advanced `calls` times. `us` is the work of this rank. Returns on rank 0 the microseconds of
  // the slowest rank.
  double helped(Overlapping<Peer, All>& beside, long times, double us, std::size_t calls) {
    const double own = beside.several(times, Between::parts, us, calls).all;
    const std::vector<double> all = gather_at_0(peer_, own);
    return *std::max_element(all.begin(), all.end());
  }
  // Counts the costs while all ranks still live.
  void count(Line& line) {
    Cost cost;
    peer_.tell(cost);
    cost.process = static_cast<double>(::getpid());
    const std::vector<Cost> all = gather_at_0(peer_, cost);
    if (peer_.rank() == 0) count_costs(all, plan_.driver, line);
    barrier(peer_);
  }

  Peer& peer_;
  const Plan& plan_;
  CollectiveOp op_ = CollectiveOp::barrier;
  std::size_t bytes_ = 0;
  long turn_ = 0;                            // calls so far; chooses the root
  std::vector<std::vector<char>> in_, out_;  // buffers, by instance
};

}  // namespace scela::perf
