#include "nla/rank_pmi.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "common/os/syscall.h"
#include "pmi/server/line_server.h"

namespace scela::nla {

namespace {

// Answers that a rank has not read. A well-behaved one has one request in flight.
constexpr std::size_t kMaxUnreadAnswers = std::size_t{64} * 1024;

// Of operations of the whole job that may overlap its fences: no barrier of PMI-1 has this tag.
constexpr std::uint32_t kExchangeTag = UINT32_MAX;

}  // namespace

struct RankPmi::Connection {
  Connection(EndListener& listener, pmi::JobServices& services, Rank rank)
      : end{listener, rank, 3}, server(services, rank) {}
  RankEnd end;
  pmi::LineServer server;
  std::string output;
  int hand_over = -1;  // a descriptor that goes with the next byte; borrowed
  struct Asked {
    const char* name = nullptr;  // in the trace
    std::uint64_t since_ns = 0;
  };
  std::map<pmi::RequestId, Asked> asked;  // and not answered
};

RankPmi::RankPmi(const RanksHost& host, const Job& job, const RankSet& own,
                 std::optional<Poller>& poller)
    : host_(host), job_(job), own_(own), poller_(poller) {
  connections_.reserve(own_.size());
  EndListener& listener = *this;
  pmi::JobServices& services = *this;
  own_.for_each([&](Rank rank) {
    connections_.push_back(std::make_unique<Connection>(listener, services, rank));
  });
}

RankPmi::~RankPmi() = default;

void RankPmi::open(Rank rank, Fd connection) {
  Connection& one = of(rank);
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
}

bool RankPmi::unfinished(Rank rank) const {
  return of(rank).server.unfinished();
}

void RankPmi::close(Rank rank) {
  Connection& one = of(rank);
  if (!one.end.fd) return;
  // Only what is there now: a process that it left behind may go on writing.
  int left = 0;
  ::ioctl(one.end.fd.get(), FIONREAD, &left);
  while (left > 0 && !one.server.broken()) {
    const std::size_t most = std::min(static_cast<std::size_t>(left), sizeof host_.buffer.bytes);
    const ssize_t got = ::recv(one.end.fd.get(), host_.buffer.bytes, most, MSG_DONTWAIT);
    if (got <= 0) break;
    left -= static_cast<int>(got);
    one.server.receive({host_.buffer.bytes, static_cast<std::size_t>(got)});
  }
  one.server.closed();
  one.end.close();
}

void RankPmi::reply(const action::Reply& reply) {
  Connection& one = of(reply.rank);
  if (const auto asked = one.asked.extract(reply.id); !asked.empty()) {
    host_.tracer.span(asked.mapped().name, asked.mapped().since_ns, host_.clock_ns(), reply.rank);
  }
  pmi::Answer answer;
  answer.ok = reply.response.ok;
  answer.error = reply.response.error;
  answer.found = reply.response.found;
  answer.parts = reply.response.parts;
  if (answer.parts.size() == 1) answer.value = answer.parts.front().view();
  one.server.answered(reply.id, answer);
  flush(one);
}

void RankPmi::watch(Connection& one) {
  // Who asks without reading the answers is not read either.
  const bool read = reading_ && !one.server.broken() && one.output.size() <= kMaxUnreadAnswers;
  one.end.watch(*poller_, read, !one.output.empty());
}

// Takes what is there, one buffer of it.
void RankPmi::read(Connection& one) {
  const ssize_t got = retry([&] {
    return ::recv(one.end.fd.get(), host_.buffer.bytes, sizeof host_.buffer.bytes, MSG_DONTWAIT);
  });
  if (got > 0) {
    one.server.receive({host_.buffer.bytes, static_cast<std::size_t>(got)});
    flush(one);
  } else if (got == 0 || errno != EAGAIN) {
    one.server.closed();
    one.end.close();
  }
}

ssize_t RankPmi::write(Connection& one) {
  iovec part{one.output.data(), one.output.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (one.hand_over >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &one.hand_over, sizeof(int));
  }
  const ssize_t wrote = ::sendmsg(one.end.fd.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (wrote > 0) one.hand_over = -1;
  return wrote;
}

void RankPmi::flush(Connection& one) {
  one.output += one.server.take_output();
  while (!one.output.empty() && one.end.fd) {
    const ssize_t wrote = retry([&] { return write(one); });
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote < 0) {
      one.output.clear();  // it does not listen any more; its end is read
    } else {
      one.output.erase(0, static_cast<std::size_t>(wrote));
    }
  }
  watch(one);
}

pmi::JobFacts RankPmi::facts(Rank rank) const {
  pmi::JobFacts facts;
  facts.rank = rank;
  facts.size = job_.map.size();
  facts.appnum = static_cast<std::int32_t>(job_.app_of(rank));
  facts.universe_size = facts.size;
  facts.kvsname = job_.id;
  facts.process_mapping = job_.map.process_mapping();
  facts.node_ranks = own_;
  return facts;
}

void RankPmi::segment(Rank rank, pmi::RequestId id) {
  Connection& one = of(rank);
  int domain = 0;
  socklen_t size = sizeof domain;
  const bool local = ::getsockopt(one.end.fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
                     domain == AF_UNIX;
  // What is still to be written belongs to earlier answers: the descriptor must not go with it.
  if (local && one.output.empty()) one.hand_over = host_.segment();
  pmi::Answer answer;
  answer.ok = one.hand_over >= 0;
  if (!answer.ok) answer.error = "there is no shared memory";
  one.server.answered(id, answer);
}

void RankPmi::ask(Rank rank, pmi::RequestId id, const char* name, Request request) {
  if (name != nullptr) of(rank).asked[id] = {name, host_.clock_ns()};
  host_.emit(event::Asked{rank, id, std::move(request)});
}

void RankPmi::put(Rank rank, pmi::RequestId id, std::string key, std::string value) {
  ask(rank, id, "put", ask::Put{std::move(key), Chunk(std::move(value))});
}

void RankPmi::get(Rank rank, pmi::RequestId id, std::string key, bool wait) {
  ask(rank, id, "get", ask::Get{std::move(key), wait});
}

void RankPmi::fence(Rank rank, pmi::RequestId id) {
  group_fence(rank, id, RankSet::run(0, job_.map.size()), 0);
}

void RankPmi::group_fence(Rank rank, pmi::RequestId id, RankSet group, std::uint32_t tag) {
  ask::Collective fence;
  fence.kind = CollectiveKind::fence;
  fence.set = std::move(group);
  fence.tag = tag;
  ask(rank, id, "fence", std::move(fence));
}

void RankPmi::exchange(Rank rank, pmi::RequestId id, std::string bytes) {
  ask::Collective exchange;
  exchange.kind = CollectiveKind::allgather;
  exchange.set = RankSet::run(0, job_.map.size());
  exchange.parts.emplace_back(std::move(bytes));
  exchange.tag = kExchangeTag;
  ask(rank, id, "exchange", std::move(exchange));
}

void RankPmi::put_node(Rank rank, pmi::RequestId id, std::string key, std::string value) {
  ask(rank, id, "put", ask::PutNode{std::move(key), std::move(value)});
}

void RankPmi::get_node(Rank rank, pmi::RequestId id, std::string key, bool wait) {
  ask(rank, id, "get", ask::GetNode{std::move(key), wait});
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

void RankPmi::failed(Rank rank, pmi::RequestId id) {
  ask(rank, id, "get", ask::Failed{});
}

void RankPmi::abort(Rank rank, std::int32_t code, std::string message) {
  ask(rank, 0, nullptr, ask::Abort{code, std::move(message)});
}

void RankPmi::violation(Rank rank, std::string why) {
  ask(rank, 0, nullptr, ask::Violation{std::move(why)});
}

}  // namespace scela::nla
