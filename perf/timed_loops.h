// The timed loops, written once for every contestant: the bundled channel and each MPI are compiled
// against this file. A contestant is a message passing library; its ranks run the loops.
//
// A contestant provides a class (`Peer`) with
//   int rank(), size(), nodes(), local_rank();  local_rank() is the number among the node's ranks
//   void send(int peer, const void* bytes, std::size_t n);  void recv(int peer, void* bytes, n);
//     which block; `peer` is a rank;
//   begin_send(...), begin_recv(...) with the same arguments, which return at once;
//   void finish(), which blocks until all that were begun are complete;
//   send_aside(...), recv_aside(...) for messages that are not measured, with another tag: a tag
//   with messages of all lengths is another case than one with messages of one length;
//   void tell(Cost&), which fills in what it knows of its connections.
// The file knows neither MPI nor the channel. Each rank uses it from one thread. It uses only the
// standard library, because the mpicxx of each peer compiles it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "perf/collective_loops.h"
#include "perf/computing.h"
#include "perf/memory_benchmark.h"
#include "perf/together.h"

namespace scela::perf {

// Runs the benchmark of a plan on one rank. All ranks make the same calls.
template <class Peer>
class Loops {
 public:
  // Both must outlive the object.
  Loops(Peer& peer, const Plan& plan) : peer_(peer), plan_(plan) {}

  // Measures all sizes of the plan, and blocks meanwhile. Rank 0 prints a line of JSON for each
  // size, with the microseconds of an operation in each round. `provider` names the transport in it
  // ("shm"). Returns false if there is no such benchmark.
  bool run(const char* provider) {
    if (plan_.bench == "memory") return Census<Peer>(peer_, plan_).run(provider);
    if (plan_.bench == "overlap" || plan_.bench == "noise")
      return Computing<Peer>(peer_, plan_).run(provider);
    if constexpr (HasCollectives<Peer>)
      if (plan_.bench == "coll") return CollectiveLoops<Peer>(peer_, plan_).run(provider);
    void (Loops::*const once)(std::size_t, long) = operation();
    if (once == nullptr) return false;
    for (const std::size_t bytes : plan_.sizes) {
      const long times = calibrate(once, bytes);
      Line line;
      line.bytes = bytes;
      for (int round = 0; round < plan_.rounds; ++round)
        line.us.push_back(timed(once, bytes, times) / static_cast<double>(times) * 1e6);
      if (peer_.rank() == 0) print(peer_, plan_, provider, line);
    }
    return true;
  }

 private:
  using Once = void (Loops::*)(std::size_t, long);  // a loop: bytes, times

  // Returns the loop of the plan's benchmark, or null if there is none.
  Once operation() const {
    if (plan_.bench == "latency") return &Loops::ping_pong;
    if (plan_.bench == "bandwidth") return &Loops::stream;
    if (plan_.bench == "bidirectional") return &Loops::exchange;
    if (plan_.bench == "rate" || plan_.bench == "pairs") return &Loops::stream;
    return nullptr;
  }

  // Each rank of the first half is paired with one of the second half, so that pairs are as far
  // apart as ranks can be. If the number of ranks is odd, the last one is idle.
  int half() const { return peer_.size() / 2; }
  bool first() const { return peer_.rank() < half(); }
  bool idle() const { return peer_.rank() >= 2 * half(); }
  int partner() const { return first() ? peer_.rank() + half() : peer_.rank() - half(); }

  // These do `times` operations of `n` bytes. An operation is one way of a round trip, a message of
  // a stream, or an exchange (a message each way).
  void ping_pong(std::size_t n, long times) {
    for (long i = 0; i < times; i += 2)
      if (first()) {
        peer_.send(partner(), out(), n);
        peer_.recv(partner(), in(), n);
      } else {
        peer_.recv(partner(), in(), n);
        peer_.send(partner(), out(), n);
      }
  }
  void stream(std::size_t n, long times) {
    for (long i = 0; i < times; i += plan_.window) {
      for (long j = 0; j < std::min<long>(plan_.window, times - i); ++j)
        if (first())
          peer_.begin_send(partner(), out(), n);
        else
          peer_.begin_recv(partner(), in(), n);
      peer_.finish();
    }
    answer();
  }
  void exchange(std::size_t n, long times) {
    for (long i = 0; i < times; i += plan_.window) {
      for (long j = 0; j < std::min<long>(plan_.window, times - i); ++j)
        peer_.begin_recv(partner(), in(), n);
      for (long j = 0; j < std::min<long>(plan_.window, times - i); ++j)
        peer_.begin_send(partner(), out(), n);
      peer_.finish();
    }
    answer();
  }
  // Confirms that all messages of the stream have arrived.
  void answer() {
    char byte = 0;
    if (first())
      peer_.recv_aside(partner(), &byte, 1);
    else
      peer_.send_aside(partner(), &byte, 1);
  }

  // Returns the seconds that this rank needs. For the benchmark pairs, rank 0 gets the slowest
  // rank's seconds.
  double timed(Once once, std::size_t bytes, long times) {
    barrier(peer_);
    const double begin = now();
    if (!idle()) (this->*once)(bytes, times);
    double seconds = now() - begin;
    if (plan_.bench == "pairs") {  // of the slowest pair
      const std::vector<double> all = gather_at_0(peer_, seconds);
      seconds = *std::max_element(all.begin(), all.end());
    }
    return seconds;
  }

  // Returns the number of operations that fit in a round, which is the same on every rank. It also
  // touches the buffers and makes the connections.
  long calibrate(Once once, std::size_t bytes) {
    if (in_.size() < bytes) {
      in_.assign(bytes, 'i');
      out_.assign(bytes, 'o');
    }
    long times = 2;
    timed(once, bytes, times);
    for (;;) {
      // The smallest of a few times counts, because other processes may have had the processor.
      double seconds = timed(once, bytes, times);
      for (int more = 0; more < 2; ++more)
        seconds = std::min(seconds, timed(once, bytes, times));
      long next = times;
      if (seconds < plan_.round_seconds / 2)
        next = static_cast<long>(static_cast<double>(times) *
                                 std::min(8.0, plan_.round_seconds / std::max(seconds, 1e-7)));
      next += next % 2;
      broadcast_from_0(peer_, next);
      if (next <= times) return times;
      times = next;
    }
  }
  // These return the buffers: what is received, and what is sent.
  char* in() { return in_.data(); }
  char* out() { return out_.data(); }

  Peer& peer_;
  const Plan& plan_;
  std::vector<char> in_ = std::vector<char>(1), out_ = std::vector<char>(1);
};

}  // namespace scela::perf
