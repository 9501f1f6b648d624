#include "hca/core/model/process_counters.h"

#include <cstring>
#include <set>

#include "hca/core/model/object_tables.h"

namespace scela::hca {
namespace {

// The number of requests of a shared receive queue that are looked at. The others are assumed to be
// like them.
constexpr std::uint64_t kMaxLookedAt = 1024;

bool is_connected(const Qp& qp) {
  return qp.connected() && qp.state >= QpState::rtr && qp.state <= QpState::sqe;
}

void add(const Qp& qp, Holdings& to, std::set<std::uint32_t>& nodes) {
  switch (qp.type) {
    case QpType::rc:
      ++to.rc;
      break;
    case QpType::uc:
      ++to.uc;
      break;
    case QpType::ud:
      ++to.ud;
      break;
    case QpType::xrc_send:
      ++to.xrc_send;
      break;
    case QpType::xrc_recv:
      ++to.xrc_recv;
      break;
  }
  to.queue_pair_bytes += qp.send.region.bytes + qp.recv.region.bytes;
  if (!is_connected(qp)) return;
  ++to.connections;
  if (qp.type != QpType::xrc_recv && (qp.state == QpState::rts || qp.state == QpState::sqd))
    ++to.sending;
  if (qp.node != 0 && nodes.insert(qp.node).second) ++to.peer_nodes;
}

void add(const Srq& srq, Holdings& to) {
  ++to.srqs;
  to.srq_bytes += srq.ring.region.bytes;
  const std::uint64_t end = srq.ring.end(), requests = end - srq.ring.next;
  const std::uint64_t looked_at = std::min(requests, kMaxLookedAt);
  std::uint64_t bytes = 0;
  for (std::uint64_t index = srq.ring.next; index != srq.ring.next + looked_at; ++index) {
    const std::byte* entry = srq.ring.entry(index);
    RecvRequest request;
    std::memcpy(&request, entry, sizeof request);
    for (std::uint32_t i = 0; i < std::min(request.sge_count, srq.ring.sges); ++i) {
      Sge sge;
      std::memcpy(&sge, entry + sizeof request + i * sizeof sge, sizeof sge);
      bytes += sge.length;
    }
  }
  to.srq_requests += requests;
  if (looked_at > 0) to.srq_buffer_bytes += bytes / looked_at * requests + bytes % looked_at;
}

void add(const Mr& mr, Holdings& to) {
  ++to.regions;
  to.registered_bytes += mr.length;
}

void add(const Cq& cq, Holdings& to) {
  ++to.cqs;
  to.cq_bytes += cq.region.bytes;
}

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  posted += other.posted;
  executed += other.executed;
  failed += other.failed;
  sent_bytes += other.sent_bytes;
  rnr_retries += other.rnr_retries;
  retries += other.retries;
  received += other.received;
  received_bytes += other.received_bytes;
  completions += other.completions;
  wakes += other.wakes;
  events += other.events;
  return *this;
}

NodeCounters counters_of(const ObjectTables& objects) {
  NodeCounters result;
  result.traffic = objects.departed();
  for (const auto& [id, process] : objects.processes()) {
    ProcessCounters& entry = result.processes.emplace_back();
    entry.process = id;
    entry.traffic = process.traffic;
    Holdings& has = entry.holdings;
    std::set<std::uint32_t> nodes;
    for (const std::uint32_t number : process.qps) {
      const Qp* qp = objects.find<Qp>(number);
      if (!qp) continue;
      add(*qp, has, nodes);
      if (!qp->send.head) continue;
      entry.traffic += qp->traffic;
      entry.traffic.posted += qp->send.end() - qp->send.next;  // not taken yet
    }
    for (const std::uint32_t number : process.srqs)
      if (const Srq* srq = objects.find<Srq>(number)) add(*srq, has);
    for (const std::uint32_t number : process.mrs)
      if (const Mr* mr = objects.find<Mr>(number)) add(*mr, has);
    for (const std::uint32_t number : process.cqs)
      if (const Cq* cq = objects.find<Cq>(number)) add(*cq, has);
    has.channels = process.channels.size();
    const Keeping& kept = *process.keeping;
    has.kept_bytes = kept.requests + kept.answers + kept.moves;
    result.holdings.kept_bytes += has.kept_bytes;
    result.traffic += entry.traffic;
  }
  std::set<std::uint32_t> nodes;
  objects.each<Qp>([&](const Qp& qp) { add(qp, result.holdings, nodes); });
  objects.each<Srq>([&](const Srq& srq) { add(srq, result.holdings); });
  objects.each<Mr>([&](const Mr& mr) { add(mr, result.holdings); });
  objects.each<Cq>([&](const Cq& cq) { add(cq, result.holdings); });
  result.holdings.channels = objects.count<Channel>();
  return result;
}

}  // namespace scela::hca
