// The benchmark memory: the cost of a job after its ranks have exchanged messages with their
// partners. It is memory, queue pairs and connections, against ranks and nodes (Tables 4.1 and 4.2
// of the ScELA thesis).
//
// Each rank calls Census::run() from one thread. It uses only the standard library and Linux,
// because the mpicxx of each peer compiles it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "perf/core/patterns.h"
#include "perf/job_processes.h"
#include "perf/together.h"

namespace scela::perf {

// The cost of one rank, as numbers. A value that a contestant cannot tell is -1.
struct Cost {
  // The number of the process (getpid).
  double process = 0;
  // The number of ranks that this rank exchanges messages with.
  double partners = -1;
  // The connections and the queue pairs of this process, for messages.
  double connections = -1, send_queue_pairs = -1, receive_queue_pairs = -1;
  // The queue pairs of a communicator, if an adapter's engine executes its operations.
  double engine_queue_pairs = -1;
};

// Adds two figures to the line: the mean of a member of Cost over all ranks as `name`, and its
// largest value as "max_" and `name`. Adds none if no rank knows the value.
inline void count_cost(const std::vector<Cost>& all, const char* name, double Cost::*member,
                       Line& line) {
  double sum = 0, most = -1;
  for (const Cost& one : all) {
    sum += one.*member;
    most = std::max(most, one.*member);
  }
  if (most < 0) return;
  line.values.push_back({name, {sum / static_cast<double>(all.size())}});
  line.values.push_back({std::string("max_") + name, {most}});
}

// Adds the costs of all ranks to the line. Adds also the memory, in KiB, of the ranks and of the
// other processes that `driver` has started. The ranks must still live.
inline void count_costs(const std::vector<Cost>& all, long driver, Line& line) {
  count_cost(all, "partners", &Cost::partners, line);
  count_cost(all, "connections", &Cost::connections, line);
  count_cost(all, "send_queue_pairs", &Cost::send_queue_pairs, line);
  count_cost(all, "receive_queue_pairs", &Cost::receive_queue_pairs, line);
  count_cost(all, "engine_queue_pairs", &Cost::engine_queue_pairs, line);
  std::set<long> ranks;
  Memory of_ranks;
  for (const Cost& one : all) {
    const long process = static_cast<long>(one.process);
    ranks.insert(process);
    of_ranks += memory_of(process);
  }
  double of_others = 0;
  for (const long process : descendants(driver))
    if (ranks.count(process) == 0) of_others += memory_of(process).proportional;
  const double size = static_cast<double>(all.size());
  line.values.push_back({"kib_rank", {(of_ranks.proportional + of_others) / size}});
  line.values.push_back({"kib_rank_alone", {of_ranks.proportional / size}});
  line.values.push_back({"kib_rank_private", {of_ranks.own / size}});
  line.values.push_back({"kib_rank_resident", {of_ranks.resident / size}});
  line.values.push_back({"kib_rank_shared", {of_ranks.shared / size}});
  line.values.push_back({"kib_others", {of_others}});
}

// Measures the cost of a job on one rank. All ranks make the same calls.
template <class Peer>
class Census {
 public:
  // Both must outlive the object.
  Census(Peer& peer, const Plan& plan) : peer_(peer), plan_(plan) {}

  // Exchanges messages of the first size with the partners of Plan::pattern, and counts. Rank 0
  // prints a line of JSON; `provider` names the transport in it. Returns false if the pattern does
  // not fit the number of ranks.
  bool run(const char* provider) {
    if (!fits(plan_.pattern, peer_.size())) return false;
    const std::set<int> with = partners(plan_.pattern, peer_.rank(), peer_.size());
    Line line;
    line.op = plan_.pattern;
    line.bytes = plan_.sizes.front();
    barrier(peer_);
    const double begin = now();
    exchange(with, line.bytes);
    barrier(peer_);
    line.us.push_back(std::max((now() - begin) * 1e6, 1e-3));
    Cost cost;
    peer_.tell(cost);
    cost.process = static_cast<double>(::getpid());
    cost.partners = static_cast<double>(with.size());
    const std::vector<Cost> all = gather_at_0(peer_, cost);
    if (peer_.rank() == 0) {
      count_costs(all, plan_.driver, line);
      print(peer_, plan_, provider, line);
    }
    barrier(peer_);  // all ranks live while they are counted
    return true;
  }

 private:
  // Sends a message of so many bytes to each of these ranks, and receives one from each.
  void exchange(const std::set<int>& with, std::size_t bytes) {
    const std::vector<char> out(bytes, 'o');
    std::vector<char> in(bytes * with.size() + 1);
    char* at = in.data();
    for (const int partner : with) {
      peer_.begin_recv(partner, at, bytes);
      at += bytes;
    }
    for (const int partner : with)
      peer_.begin_send(partner, out.data(), bytes);
    peer_.finish();
  }

  Peer& peer_;
  const Plan& plan_;
};

}  // namespace scela::perf
