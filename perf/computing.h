// The loops of two benchmarks in which messages move beside a computation. overlap: how much of a
// message the computation hides. noise: how far one rank's delay delays another (Table 3.1 of the
// offload thesis).
//
// Rank 0 sends to its partner, which receives. Each computes between the call that begins the
// message and the one that ends it. Each rank uses one thread. The file uses only the standard
// library and Linux, because the mpicxx of each peer compiles it. `Peer` is the class of a
// contestant (perf/timed_loops.h).
#pragma once

#include <array>
#include <vector>

#include "perf/overlapping.h"
#include "perf/together.h"

namespace scela::perf {

// A message of rank 0 to its partner, as an `Act` of perf/overlapping.h. Other ranks take no part.
// The buffer must outlive it.
template <class Peer>
class OneWay {
 public:
  OneWay(Peer& peer, std::vector<char>& buffer, std::size_t bytes)
      : peer_(&peer), buffer_(buffer.data()), bytes_(bytes) {}
  // Returns true on the rank that sends.
  bool sends() const { return peer_->rank() == 0; }
  // Returns the rank that receives: the first of the second half.
  int partner() const { return peer_->size() / 2; }
  bool takes_part() const { return sends() || peer_->rank() == partner(); }
  // Sends or receives the message and blocks.
  void blocking() {
    if (sends())
      peer_->send(partner(), buffer_, bytes_);
    else
      peer_->recv(0, buffer_, bytes_);
  }
  // Begins the message; end() waits for it.
  void begin() {
    if (sends())
      peer_->begin_send(partner(), buffer_, bytes_);
    else
      peer_->begin_recv(0, buffer_, bytes_);
  }
  void end() { peer_->finish(); }

 private:
  Peer* peer_;
  char* buffer_;
  std::size_t bytes_;
};

// Measures the benchmarks overlap and noise on one rank. All ranks make the same calls.
template <class Peer>
class Computing {
 public:
  // Both must outlive the object.
  Computing(Peer& peer, const Plan& plan) : peer_(peer), plan_(plan) {}

  // Measures all sizes and blocks meanwhile; the plan's benchmark must be overlap or noise. Rank 0
  // prints two lines of JSON for each size; `provider` names the transport in them. Always returns
  // true.
  bool run(const char* provider) {
    provider_ = provider;
    for (const std::size_t bytes : plan_.sizes) {
      if (buffer_.size() < bytes) buffer_.assign(bytes, 'b');
      bytes_ = bytes;
      if (plan_.bench == "overlap")
        overlap();
      else
        noise();
    }
    return true;
  }

 private:
  // Returns the message of the size that is being measured.
  OneWay<Peer> message() { return {peer_, buffer_, bytes_}; }

  // Prints two lines for a size: the sender's figures and the receiver's.
  void overlap() {
    const OneWay<Peer> act = message();
    Overlapping<Peer, OneWay<Peer>> beside(peer_, plan_, act);
    const long times = beside.calibrate();
    std::array<Line, 2> lines;
    for (int i = 0; i < plan_.rounds; ++i) {
      const std::vector<OverlapRound> rounds = gather_at_0(peer_, beside.round(times));
      if (!act.sends()) continue;
      take(rounds.front(), lines[0]);
      OverlapRound receiver = rounds[static_cast<std::size_t>(act.partner())];
      receiver.others = rounds.front().others;
      take(receiver, lines[1]);
    }
    if (!act.sends()) return;
    lines[0].op = "send";
    lines[1].op = "receive";
    for (Line& line : lines)
      finish(line);
  }
  // Adds the times of a round to a line.
  static void take(const OverlapRound& round, Line& line) {
    line.us.push_back(round.overlapped.all);
    note(round, line);
  }

  // Measures the time of one side's message while the other side is delayed, and without the delay.
  void noise() {
    std::array<Line, 2> lines;
    const OneWay<Peer> act = message();
    Overlapping<Peer, OneWay<Peer>> beside(peer_, plan_, act);
    const double delay = plan_.delay_seconds * 1e6;
    // The first messages set up connections and buffers.
    beside.several(8, Between::nothing, 0);
    for (int i = 0; i < plan_.rounds; ++i)
      for (std::size_t late = 0; late < 2; ++late) {  // late receiver, then late sender
        const double plain = beside.once(Between::nothing, 0).all;
        const bool own = act.sends() == (late == 1);
        const double delayed = beside.once(own ? Between::time : Between::nothing, delay).all;
        struct Pair {
          double plain, delayed;
        };
        const std::vector<Pair> all = gather_at_0(peer_, Pair{plain, delayed});
        if (!act.sends()) continue;
        const Pair& felt = all[late == 0 ? 0 : static_cast<std::size_t>(act.partner())];
        lines[late].us.push_back(felt.delayed);
        add(lines[late], "plain_us", felt.plain);
        add(lines[late], "delay_us", delay);
      }
    if (!act.sends()) return;
    lines[0].op = "late-receiver";
    lines[1].op = "late-sender";
    for (Line& line : lines)
      finish(line);
  }

  // Prints the line, on rank 0.
  void finish(Line& line) {
    line.bytes = bytes_;
    print(peer_, plan_, provider_, line);
  }

  Peer& peer_;
  const Plan& plan_;
  const char* provider_ = "";
  std::size_t bytes_ = 0;
  std::vector<char> buffer_ = std::vector<char>(1);
};

}  // namespace scela::perf
