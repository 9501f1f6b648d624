#include "perf/channel_peer.h"

#include <cstdio>
#include <cstdlib>

#include "collectives/communicator/maker.h"

namespace scela::perf {

namespace {

ProgressMode executor_named(const std::string& name) {
  if (name == "thread") return ProgressMode::thread;
  if (name == "engine") return ProgressMode::engine;
  return name == "at_once" ? ProgressMode::at_once : ProgressMode::polled;
}

}  // namespace

ChannelPeer::ChannelPeer(Channel& channel, const Plan& plan) : channel_(channel), plan_(plan) {
  if (plan.bench != "coll") return;
  CommunicatorOptions options;
  options.progress = executor_named(plan.executor);
  world_ = Communicator::world(channel, options);
  check(world_.status());
}

int ChannelPeer::local_rank() const {
  int before = 0;
  for (int other = 0; other < rank(); ++other)
    before += channel_.node_of(other) == channel_.node() ? 1 : 0;
  return before;
}

Collective ChannelPeer::call_of(const CollectiveCall& asked) const {
  const bool numbers = asked.bytes % sizeof(double) == 0;
  const std::size_t each = numbers ? sizeof(double) : 1;
  const ElementType type = numbers ? ElementType::float64 : ElementType::uint8;
  const auto ranks = static_cast<std::size_t>(size());
  const auto in = [&](std::size_t blocks) {
    return ConstBuffer(asked.in, blocks * asked.bytes / each, each, type);
  };
  const auto out = [&](std::size_t blocks) {
    return Buffer(asked.out, blocks * asked.bytes / each, each, type);
  };
  const bool is_root = asked.root == rank();
  const auto call = [&] {
    switch (asked.op) {
      case CollectiveOp::barrier:
        break;
      case CollectiveOp::bcast:
        return Collective::bcast(out(1), asked.root);
      case CollectiveOp::reduce:
        return Collective::reduce(in(1), is_root ? out(1) : Buffer(), ReduceOp::sum, asked.root);
      case CollectiveOp::allreduce:
        return Collective::allreduce(in(1), out(1), ReduceOp::sum);
      case CollectiveOp::gather:
        return Collective::gather(in(1), is_root ? out(ranks) : Buffer(), asked.root);
      case CollectiveOp::scatter:
        return Collective::scatter(is_root ? in(ranks) : ConstBuffer(), out(1), asked.root);
      case CollectiveOp::allgather:
        return Collective::allgather(in(1), out(ranks));
      case CollectiveOp::alltoall:
        return Collective::alltoall(in(ranks), out(ranks));
      case CollectiveOp::reduce_scatter:
        return Collective::reduce_scatter_block(in(ranks), out(1), ReduceOp::sum);
      case CollectiveOp::scan:
        return Collective::scan(in(1), out(1), ReduceOp::sum);
      case CollectiveOp::exscan:
        return Collective::exscan(in(1), out(1), ReduceOp::sum);
    }
    return Collective::barrier();
  };
  if (plan_.algorithm.empty()) return call();
  Collective said = call();
  return said.algorithm(plan_.algorithm);
}

ExecutorAndAlgorithm ChannelPeer::means(const CollectiveCall& asked) {
  const std::string text = world_.prepare(call_of(asked)).describe();
  const std::size_t by = text.find(" by ");
  return {plan_.executor, by == std::string::npos ? "" : text.substr(by + 4)};
}

void ChannelPeer::tell(Cost& cost) const {
  const Counters counters = channel_.counters();
  cost.connections = static_cast<double>(counters.connections);
  cost.send_queue_pairs = static_cast<double>(counters.send_queue_pairs);
  cost.receive_queue_pairs = static_cast<double>(counters.receive_queue_pairs);
  if (plan_.executor == "engine")
    cost.engine_queue_pairs = static_cast<double>(CommunicatorMaker::queue_pairs(world_));
}

void ChannelPeer::fail(const std::string& why) const {
  std::fprintf(stderr, "scela-perf: rank %d: %s\n", rank(), why.c_str());
  std::exit(1);
}

}  // namespace scela::perf
