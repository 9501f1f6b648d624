// The beginning of connections between nodes (peer_greeting.h, peer.h), and the treatment of those
// that fail before they are established.
#include <algorithm>
#include <cerrno>

#include "common/core/text.h"
#include "hca/engine/net/fabric.h"

namespace scela::hca {

namespace {

// The number of connections that have not proved themselves. Older ones make room for others.
constexpr std::size_t kMaxStrangers = 128;
constexpr Moment kYouthNs = 1'000'000'000;
constexpr Moment kFullNs = 50'000'000;
// The time to wait for the other node's connection.
constexpr Moment kCrossingNs = 200'000'000;

}  // namespace

void Fabric::drop(std::uint32_t id) {
  if (!links_.remove(id)) return;
  if (const auto came = strangers_.remove(id))
    timers_.remove({*came + kGreetingNs, FabricTimers::Kind::greeting, id});
}

bool Fabric::make_room(Moment now) {
  if (strangers_.size() < kMaxStrangers) return true;
  const Strangers::Stranger oldest = *strangers_.oldest();
  if (oldest.came + kYouthNs > now) return false;
  fail_greeting(oldest.id, "it is slow, and others wait", now);
  return true;
}

void Fabric::accept_all(Moment now) {
  while (make_room(now)) {
    Fd made = listener_.accept();
    if (!made) {
      if (errno == EAGAIN) return;
      nodes_report_.say(cat("cannot accept a connection of another node: ", errno_text(errno)),
                        now);
      break;
    }
    const std::uint32_t id = links_.add(
        PeerLink::accepted(std::move(made), Greeting::accepting(own_.identity())), EPOLLIN);
    if (id == 0) continue;
    strangers_.add(id, now);
    timers_.set({now + kGreetingNs, FabricTimers::Kind::greeting, id});
  }
  listener_.pause(*poller_);
  timers_.set({now + kFullNs, FabricTimers::Kind::listening, 0});
}

bool Fabric::hear(Moment now) {
  while (true) {
    Directory::Answer answer;
    switch (dialer_.hear(answer)) {
      case Directory::Received::nothing:
        return true;
      case Directory::Received::end:
        return false;
      case Directory::Received::answer:
        // An answer about a node that was not asked for changes nothing.
        if (OtherNode* const peer = peer_of(answer.node + 1); peer && peer->was_asked)
          if (!dialer_.take(answer, *peer, now)) drop_node(answer.node, *peer, now);
        break;
    }
  }
}

void Fabric::take(std::uint32_t id, std::uint32_t events, Moment now) {
  if (id == 0) return accept_all(now);
  PeerLink* const link = links_.find(id);
  if (link == nullptr) return;
  if (!link->is_established()) return greet(id, *link, now);
  if ((events & EPOLLOUT) != 0) flush(peers_[link->node()]);
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read(id, *link, now);
}

void Fabric::greet(std::uint32_t id, PeerLink& link, Moment now) {
  const bool connecting = link.connecting();
  const bool goes_on = link.greet();
  if (!goes_on) {
    const std::string& why = link.greeting()->why();
    const int error = link.failure();
    if (why.empty() && is_given_up(id, *link.greeting())) return drop(id);
    return fail_greeting(id,
                         !why.empty() ? why
                         : error == 0 ? "it hung up"
                                      : errno_text(error),
                         now);
  }
  if (connecting && !link.connecting()) {  // what is sent fits; answers are awaited
    links_.await_input(id, link);
  }
  if (link.greeting()->state() == Greeting::State::asked) return asked(id, link, now);
  if (link.greeting()->state() == Greeting::State::over) return follow_verdict(id, link, now);
}

// Returns whether the other end hung up because another connection between the two was established
// or begun first, or before it sent anything. It has proved nothing by then, and gains nothing by
// it.
bool Fabric::is_given_up(std::uint32_t id, const Greeting& greeting) const {
  if (greeting.connects()) return false;
  if (!greeting.has_heard()) return true;
  if (greeting.other().version != kWireVersion) return false;
  const auto other = peers_.find(greeting.other().from);
  return other != peers_.end() && strangers_.contains(id) &&
         (other->second.established != 0 || other->second.trying != 0);
}

// Another node's engine has proved itself and wants its connection to be established.
void Fabric::asked(std::uint32_t id, PeerLink& link, Moment now) {
  const Hello other = link.greeting()->other();
  OtherNode& peer = peers_[other.from];
  const Greeting::Verdict verdict = peer.verdict(own_.number(), other);
  link.greeting()->decide(verdict, peer.attempts);
  if (!link.greet() || verdict != Greeting::Verdict::welcome) return drop(id);
  peer.note_established(other.instance, other.attempt);
  if (peer.trying != 0) drop(std::exchange(peer.trying, 0));
  if (peer.established != 0) {
    drop(std::exchange(peer.established, 0));
    drop_node(other.from, peer, now);
  }
  establish(id, link, other.from);
}

// Handles the verdict about a connection that this node has begun.
void Fabric::follow_verdict(std::uint32_t id, PeerLink& link, Moment now) {
  const Greeting& greeting = *link.greeting();
  const std::uint32_t node = greeting.other().from;
  OtherNode& peer = peers_[node];
  switch (greeting.verdict()) {
    case Greeting::Verdict::welcome:
      peer.note_established(greeting.other().instance, greeting.attempts());
      peer.trying = 0;
      peer.addresses.proved();
      establish(id, link, node);
      return read(id, link, now);  // reads what has come behind the verdict
    case Greeting::Verdict::crossing:
      drop(id);
      peer.trying = 0;
      timers_.set({now + kCrossingNs, FabricTimers::Kind::retry, node});
      return;
    case Greeting::Verdict::stale:
      return fail_greeting(id, "it takes this connection for an old one", now);
  }
}

void Fabric::establish(std::uint32_t id, PeerLink& link, std::uint32_t node) {
  strangers_.remove(id);
  OtherNode& peer = peers_[node];
  link.establish(node);
  peer.established = id;
  peer.has_left = false;
  if (!peer.dirty) dirty_.push_back(node);
  peer.dirty = true;
}

void Fabric::fail_greeting(std::uint32_t id, const std::string& why, Moment now) {
  const PeerLink* const link = links_.find(id);
  if (link == nullptr || link->is_established()) return;
  const std::string name = link->name();
  drop(id);
  const auto tried =
      std::ranges::find_if(peers_, [&](const auto& peer) { return peer.second.trying == id; });
  if (tried == peers_.end()) {
    ++counts_.refused;
    return strangers_report_.say(cat("refused a connection from ", name, ": ", why), now);
  }
  auto& [node, peer] = *tried;
  if (!peer.has_left)
    nodes_report_.say(cat("cannot speak to node ", node, " at ", name, ": ", why), now);
  peer.trying = 0;
  peer.addresses.failed();
  if (dialer_.try_next(node, peer, now)) return;
  // The addresses that programs have said may all be wrong.
  if (!peer.was_asked && !peer.addresses.is_fixed() && dialer_.ask(node, peer, now)) return;
  drop_node(node, peer, now);
}

void Fabric::run_timer(const FabricTimers::Timer& timer, Moment now) {
  switch (timer.kind) {
    case FabricTimers::Kind::greeting:
      return fail_greeting(timer.id, "it is too slow", now);
    case FabricTimers::Kind::retry:
      return retry(timer.id, now);
    case FabricTimers::Kind::listening:
      listener_.watch(*poller_);
      return;
  }
}

// The other node's connection, which should have come, has not come or is still being made.
void Fabric::retry(std::uint32_t node, Moment now) {
  OtherNode& peer = peers_[node];
  if (peer.established != 0 || peer.trying != 0 || peer.outbox.empty()) return;
  if (now < peer.give_up && dialer_.connect(node, peer, now)) return;
  nodes_report_.say(peer.addresses.empty() ? cat("no agent says where node ", node, " is")
                    : !own_.knows_key(peer.key)
                        ? cat("no agent says by which key node ", node, " is connected to")
                        : cat("node ", node, " refuses connections, and makes none"),
                    now);
  drop_node(node, peer, now);
}

}  // namespace scela::hca
