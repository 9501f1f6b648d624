#include "nla/ranks/rank_pmi.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/core/bytes.h"
#include "common/os/syscall.h"
#include "nla/ranks/rank_pmi_state.h"

namespace scela::nla {

namespace {

// Bytes of answers that a rank has not read. A well-behaved rank has one request in flight.
constexpr std::size_t kMaxUnreadAnswers = std::size_t{64} * 1024;

// Tag of operations of the whole job that may overlap its fences; no barrier of PMI-1 has this tag.
constexpr std::uint32_t kExchangeTag = UINT32_MAX;

CollectiveKind kind_of(pmi::Operation operation) {
  switch (operation) {
    case pmi::Operation::barrier:
      return CollectiveKind::barrier;
    case pmi::Operation::leave:
      return CollectiveKind::fence;  // such a job's ranks put nothing
    case pmi::Operation::gather:
      return CollectiveKind::gather;
    case pmi::Operation::broadcast:
      return CollectiveKind::broadcast;
    case pmi::Operation::allgather:
      return CollectiveKind::allgather;
    case pmi::Operation::scatter:
      return CollectiveKind::scatter;
    case pmi::Operation::alltoall:
      return CollectiveKind::alltoall;
  }
  return CollectiveKind::barrier;
}

// Tags of messages between agents, beside those of PMIx (nla/core/pmix/pmix_data.h). The first asks
// if the destination rank has left; the second says that the source rank has left.
constexpr std::uint32_t kHasLeftTag = kServiceTags + 2;
constexpr std::uint32_t kLeftTag = kServiceTags + 3;

// The descriptors of a rank's memory.
constexpr std::size_t kMaxHandedOver = 2;

// Sends the descriptors with the first byte.
ssize_t send_with(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxHandedOver * sizeof(int))] = {};
  if (!descriptors.empty()) {
    const std::size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Sets `sender` to the process that wrote the bytes, if the socket was told to report it.
ssize_t receive_from(int socket, char* bytes, std::size_t most, pid_t& sender) {
  iovec part{bytes, most};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // There is no room for descriptors, so descriptors that ranks may send are not opened here.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_CREDENTIALS) {
    ucred who{};
    std::memcpy(&who, CMSG_DATA(header), sizeof who);
    sender = who.pid;
  }
  return got;
}

pmi::Collected collected(const Response& response) {
  pmi::Collected result;
  if (!response.ok) {
    result.outcome = response.disagreement ? pmi::Collected::Outcome::disagreed
                                           : pmi::Collected::Outcome::failed;
  }
  result.why = response.error;
  // A rank that leaves calls the operation by another name, see kind_of().
  constexpr std::string_view kFence = "fence";
  for (std::size_t at; (at = result.why.find(kFence)) != std::string::npos;)
    result.why.replace(at, kFence.size(), "close");
  result.parts = response.parts;
  return result;
}

}  // namespace

RankPmi::RankPmi(const RanksHost& host, const Job& job, const RankSet& own,
                 std::optional<Poller>& poller)
    : host_(host), job_(job), own_(own), poller_(poller) {
  connections_.reserve(own_.size());
  add(own_);
}

void RankPmi::add(const RankSet& more) {
  EndListener& listener = *this;
  more.for_each([&](Rank rank) {
    connections_.push_back(std::make_unique<Connection>(listener, rank, make_server(rank)));
  });
  if (port_) port_->listener->add(more, job_.map.size());
}

RankPmi::~RankPmi() = default;

void RankPmi::open(Rank rank, Fd connection, pid_t process) {
  if (port_) return;
  Connection& one = of(rank);
  one.process = process;
  one.end.fd = std::move(connection);
  watch(one);
}

void RankPmi::on_ready(Rank rank, int, bool readable, bool writable) {
  Connection& one = of(rank);
  if (writable && one.end.writing) flush(one);
  if (readable && one.end.reading) read(one);
}

void RankPmi::set_reading(bool on) {
  if (std::exchange(reading_, on) == on || !on) return;
  for (const auto& one : connections_)
    watch(*one);
  if (doorbell_) own_doorbell_->ring();  // not now: the caller expects no events
}

bool RankPmi::unfinished(Rank rank) const {
  return of(rank).server->unfinished();
}

void RankPmi::close(Rank rank) {
  settle();
  ended_.add(rank);
  Connection& one = of(rank);
  if (one.end.fd) take_rest(one);
  if (one.ring) end_ring(one);
  if (!one.end.fd && !one.ring) return;
  one.server->closed();
  one.end.close();
  one.ring.reset();
}

// Reads only the bytes that are there now, since a process that the rank left behind may go on
// writing.
void RankPmi::take_rest(Connection& one) {
  int left = 0;
  ::ioctl(one.end.fd.get(), FIONREAD, &left);
  while (left > 0 && !one.server->broken()) {
    const std::size_t most = std::min(static_cast<std::size_t>(left), sizeof host_.buffer.bytes);
    const ssize_t got = ::recv(one.end.fd.get(), host_.buffer.bytes, most, MSG_DONTWAIT);
    if (got <= 0) break;
    left -= static_cast<int>(got);
    one.server->receive({host_.buffer.bytes, static_cast<std::size_t>(got)});
  }
}

void RankPmi::reply(const action::Reply& reply) {
  Connection& one = of(reply.rank);
  if (const auto asked = one.asked.extract(reply.id); !asked.empty()) {
    host_.tracer.span(asked.mapped().name, asked.mapped().since_ns, host_.clock_ns(), reply.rank);
  }
  // Ranks that disagree may be about to say why.
  if (port_ && reply.response.disagreement) {
    return doubt(reply.rank, [this, reply] { answer(reply); });
  }
  answer(reply);
}

void RankPmi::answer(const action::Reply& reply) {
  Connection& one = of(reply.rank);
  const Response& response = reply.response;
  if (speaks_pmgr()) {
    one.server->collected(reply.id, collected(response));
  } else {
    pmi::Answer answer;
    answer.ok = response.ok;
    answer.error = response.error;
    answer.found = response.found;
    answer.parts = response.parts;
    if (answer.parts.size() == 1) answer.value = answer.parts.front().view();
    one.server->answered(reply.id, answer);
  }
  flush(one);
}

bool RankPmi::may_read(const Connection& one) const {
  // A rank that sends requests without reading the answers is not read either.
  return reading_ && one.server->wants_bytes() && one.output_bytes <= kMaxUnreadAnswers;
}

void RankPmi::watch(Connection& one) {
  one.end.watch(*poller_, may_read(one), !one.output.empty());
}

// Reads at most one buffer.
void RankPmi::read(Connection& one) {
  const ssize_t got = retry([&] {
    constexpr std::size_t kMax = sizeof host_.buffer.bytes;
    return one.asks_sender ? receive_from(one.end.fd.get(), host_.buffer.bytes, kMax, one.sender)
                           : ::recv(one.end.fd.get(), host_.buffer.bytes, kMax, MSG_DONTWAIT);
  });
  if (got > 0) {
    if (port_) acknowledge(one);
    one.server->receive({host_.buffer.bytes, static_cast<std::size_t>(got)});
    flush(one);
  } else if (got == 0 || errno != EAGAIN) {
    if (one.ring && one.ring->end.is_taken()) return serve_ring(one);
    one.server->closed();
    one.end.close();
    if (port_) left_early(one);
  }
}

void RankPmi::flush(Connection& one) {
  for (Chunk& chunk : one.server->take_chunks()) {
    one.output_bytes += chunk.size();
    one.output.push_back(std::move(chunk));
  }
  write(one);
  if (one.server->hangs_up() && one.output.empty()) {
    one.server->closed();
    one.end.close();
  }
  watch(one);
}

void RankPmi::write(Connection& one) {
  if (one.ring && one.ring->in_use) return write_ring(one);
  while (!one.output.empty() && one.end.fd) {
    const std::string_view rest = one.output.front().view().substr(one.offset);
    const ssize_t wrote = retry([&] { return send_with(one.end.fd.get(), rest, one.hand_over); });
    if (wrote < 0 && errno == EAGAIN) return;
    if (wrote < 0 && !one.hand_over.empty()) {
      one.hand_over.clear();  // too many on their way: uses its socket
      drop_ring(one);
      continue;
    }
    if (wrote < 0) {  // the rank is gone; its end is read
      one.output.clear();
      one.output_bytes = one.offset = 0;
      return;
    }
    one.hand_over.clear();
    if (one.ring) one.ring->memory.close_fd();
    one.output_bytes -= static_cast<std::size_t>(wrote);
    one.offset += static_cast<std::size_t>(wrote);
    if (one.offset < one.output.front().size()) continue;
    one.output.pop_front();
    one.offset = 0;
  }
}

pmi::JobFacts RankPmi::facts(Rank rank) const {
  const std::size_t world = job_.world_of(rank);
  const RankSet ranks = job_.ranks_of_world(world);
  pmi::JobFacts facts;
  facts.rank = rank - ranks.front();
  facts.size = static_cast<Rank>(ranks.size());
  facts.appnum = static_cast<std::int32_t>(job_.app_of(rank) - job_.first_app_of_world(world));
  facts.universe_size = job_.universe_size();
  if (facts.universe_size >= 0) {
    facts.universe_size = std::max<std::int64_t>(facts.universe_size, facts.size);
  }
  facts.kvsname = job_.name_of_world(world);
  facts.process_mapping = job_.map_of_world(world).process_mapping();
  own_.intersection(ranks).for_each([&](Rank one) { facts.node_ranks.add(one - ranks.front()); });
  if (world > 0) facts.spawner = job_.name_of_world(job_.world_of(job_.worlds[world - 1].parent));
  return facts;
}

RankSet RankPmi::world_of(Rank rank) const {
  return job_.ranks_of_world(job_.world_of(rank));
}

std::string RankPmi::global(Rank rank, std::string_view key) const {
  return Job::key_prefix(job_.world_of(rank)).append(key);
}

void RankPmi::segment(Rank rank, pmi::RequestId id) {
  Connection& one = of(rank);
  int domain = 0;
  socklen_t size = sizeof domain;
  const bool local = ::getsockopt(one.end.fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
                     domain == AF_UNIX;
  // Bytes that are still to be written belong to earlier answers, so the descriptor must not go
  // with them. It is sent only once, since descriptors on their way are counted for all processes
  // of this user. The memory is laid out for the ranks that the job began with.
  const bool first = job_.world_of(rank) == 0;
  if (first && local && one.output.empty() && !std::exchange(one.handed_over, true)) {
    const int memory = host_.segment();
    if (memory >= 0) one.hand_over = {memory};
    // Such a rank may ask for more. Then it matters which of its processes asks.
    const int on = 1;
    one.asks_sender = ::setsockopt(one.end.fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
  }
  pmi::Answer answer;
  answer.ok = !one.hand_over.empty();
  if (!answer.ok) answer.error = "there is no shared memory";
  one.server->answered(id, answer);
}

void RankPmi::ask(Rank rank, pmi::RequestId id, const char* name, Request request) {
  if (name != nullptr) of(rank).asked[id] = {name, host_.clock_ns()};
  host_.emit(event::Asked{rank, id, std::move(request)});
}

void RankPmi::put(Rank rank, pmi::RequestId id, std::string key, std::string value) {
  ask(rank, id, "put", ask::Put{global(rank, key), Chunk(std::move(value))});
}

void RankPmi::get(Rank rank, pmi::RequestId id, std::string key, bool wait) {
  ask(rank, id, "get", ask::Get{global(rank, key), wait});
}

void RankPmi::fence(Rank rank, pmi::RequestId id) {
  ask::Collective fence;
  fence.kind = CollectiveKind::fence;
  fence.set = world_of(rank);
  ask(rank, id, "fence", std::move(fence));
}

void RankPmi::group_fence(Rank rank, pmi::RequestId id, RankSet group, std::uint32_t tag) {
  ask::Collective fence;
  fence.kind = CollectiveKind::fence;
  const Rank first = world_of(rank).front();
  for (const RankSet::Range& run : group.ranges())
    fence.set.add(RankSet::run(first + run.first, run.last - run.first + 1));
  fence.tag = tag;
  ask(rank, id, "fence", std::move(fence));
}

void RankPmi::exchange(Rank rank, pmi::RequestId id, std::string bytes) {
  ask::Collective exchange;
  exchange.kind = CollectiveKind::allgather;
  exchange.set = world_of(rank);
  exchange.parts.emplace_back(std::move(bytes));
  exchange.tag = kExchangeTag;
  ask(rank, id, "exchange", std::move(exchange));
}

void RankPmi::put_node(Rank rank, pmi::RequestId id, std::string key, std::string value) {
  ask(rank, id, "put", ask::PutNode{global(rank, key), std::move(value)});
}

void RankPmi::get_node(Rank rank, pmi::RequestId id, std::string key, bool wait) {
  ask(rank, id, "get", ask::GetNode{global(rank, key), wait});
}

void RankPmi::publish(Rank rank, pmi::RequestId id, std::string name, std::string port) {
  ask(rank, id, "publish", ask::Name{NameAct::publish, std::move(name), std::move(port)});
}

void RankPmi::lookup(Rank rank, pmi::RequestId id, std::string name) {
  ask(rank, id, "lookup", ask::Name{NameAct::lookup, std::move(name), {}});
}

void RankPmi::unpublish(Rank rank, pmi::RequestId id, std::string name) {
  ask(rank, id, "unpublish", ask::Name{NameAct::unpublish, std::move(name), {}});
}

void RankPmi::spawn(Rank rank, pmi::RequestId id, pmi::ask::Spawn request) {
  ask::Spawn spawn;
  spawn.request.preput = std::move(request.preput);
  for (pmi::SpawnProgram& program : request.programs) {
    spawn.request.programs.push_back(
        {std::move(program.argv), program.ranks, std::move(program.infos)});
  }
  ask(rank, id, "spawn", std::move(spawn));
}

void RankPmi::failed(Rank rank, pmi::RequestId id) {
  ask(rank, id, "get", ask::Failed{});
}

// Only the agent of a rank's node knows that the rank has ended well, and it is asked on demand. To
// report each rank to all nodes would take a message of each to all.
void RankPmi::left(Rank rank, pmi::RequestId id, Rank about) {
  const Rank wanted = world_of(rank).at(about);
  const bool known = left_.contains(wanted);
  if (!known) host_.emit(event::Asked{rank, kLeftRequest, ask::Send{wanted, kHasLeftTag, {}}});
  pmi::Answer answer;
  answer.found = known;
  of(rank).server->answered(id, answer);
}

bool RankPmi::heard(const action::Reply& reply) {
  const auto& parts = reply.response.parts;
  if (reply.id != kUnasked || parts.size() != 3) return false;
  ByteReader source(parts[0].view());
  ByteReader about(parts[1].view());
  const auto from = static_cast<Rank>(source.varint());
  const std::uint64_t tag = about.varint();
  if (tag == kLeftTag) {
    left_.add(from);
  } else if (tag == kHasLeftTag) {
    if (ended_.contains(reply.rank) || of(reply.rank).server->finished())
      host_.emit(event::Asked{reply.rank, kLeftRequest, ask::Send{from, kLeftTag, {}}});
  } else {
    return false;
  }
  return true;
}

void RankPmi::collective(Rank rank, pmi::RequestId id, pmi::Collective call) {
  ask::Collective request;
  request.kind = kind_of(call.operation);
  request.set = world_of(rank);
  request.root = call.root;
  request.parts = std::move(call.parts);
  const char* name = name_of(request.kind).data();
  ask(rank, id, name, std::move(request));
}

void RankPmi::abort(Rank rank, std::int32_t code, std::string message) {
  ask(rank, 0, nullptr, ask::Abort{code, std::move(message)});
}

void RankPmi::violation(Rank rank, std::string why) {
  ask(rank, 0, nullptr, ask::Violation{std::move(why)});
}

}  // namespace scela::nla
