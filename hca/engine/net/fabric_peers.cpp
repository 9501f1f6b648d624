// The beginning of connections between nodes (peer_greeting.h, peer.h), and the treatment of those
// that fail before they are established.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "common/core/text.h"
#include "hca/engine/io/report.h"
#include "hca/engine/net/fabric.h"

namespace scela::hca {

namespace {

// The time from the first byte to the verdict; also how long frames wait for a connection.
constexpr Moment kGreetingNs = 10'000'000'000;
// The time for one address if the node has others that are to be tried.
constexpr Moment kOneOfManyNs = 1'000'000'000;
// The number of connections that have not proved themselves. Older ones make room for others.
constexpr std::size_t kMaxStrangers = 128;
constexpr Moment kYouthNs = 1'000'000'000;
constexpr Moment kFullNs = 50'000'000;
// The pause after an attempt that failed, and the time to wait for the other node's connection.
constexpr Moment kHoldOffNs = 100'000'000;
constexpr Moment kCrossingNs = 200'000'000;
// The time after which the directory is asked again, since an answer may be lost.
constexpr Moment kAskAgainNs = 1'000'000'000;
constexpr Moment kQuietNs = 1'000'000'000;

}  // namespace

std::uint32_t Fabric::add(PeerLink link, std::uint32_t events) {
  const std::uint32_t id = next_link_++;
  if (!poller_->add(link.descriptor(), events, {Tag::Kind::fabric, id, 0})) return 0;
  links_.emplace(id, std::move(link));
  return id;
}

void Fabric::drop(std::uint32_t id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  poller_->remove(found->second.descriptor());
  links_.erase(found);
  strangers_.erase(id);
  const auto born = born_.find(id);
  if (born == born_.end()) return;
  timers_.erase({born->second + kGreetingNs, Timer::greeting, id});
  born_.erase(born);
}

bool Fabric::make_room(Moment now) {
  if (strangers_.size() < kMaxStrangers) return true;
  // Their numbers grow, so the first is the oldest.
  const std::uint32_t oldest = *strangers_.begin();
  if (born_.at(oldest) + kYouthNs > now) return false;
  fail_greeting(oldest, "it is slow, and others wait", now);
  return true;
}

void Fabric::accept_all(Moment now) {
  while (true) {
    if (!make_room(now)) {
      poller_->remove(listening_.get());
      timers_.insert({now + kFullNs, Timer::listening, 0});
      return;
    }
    Fd made(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!made) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      complain(cat("cannot accept a connection of another node: ", errno_text(errno)), now);
      poller_->remove(listening_.get());
      timers_.insert({now + kFullNs, Timer::listening, 0});
      return;
    }
    const std::uint32_t id =
        add(PeerLink::accepted(std::move(made), Greeting::accepting(identity_)), EPOLLIN);
    if (id == 0) continue;
    strangers_.insert(id);
    born_[id] = now;
    timers_.insert({now + kGreetingNs, Timer::greeting, id});
  }
}

bool Fabric::connect(std::uint32_t node, OtherNode& peer, Moment now) {
  if (now < peer.not_before) return false;
  if (peer.addresses.empty() || !knows_key_to(peer)) return ask(node, peer, now);
  // The first try begins the time that frames may wait.
  if (peer.outbox.empty()) peer.give_up = now + kGreetingNs;
  peer.untried = peer.addresses.count();
  return try_next(node, peer, now);
}

// Begins to connect to the next of the node's addresses that this round has not tried.
bool Fabric::try_next(std::uint32_t node, OtherNode& peer, Moment now) {
  while (peer.untried > 0) {
    --peer.untried;
    auto link = PeerLink::connect(
        peer.addresses.next(),
        Greeting::connecting(identity_, node, ++peer.attempts, key_to(node, peer)));
    const std::uint32_t id = link ? add(std::move(*link), EPOLLIN | EPOLLOUT) : 0;
    if (id != 0) {
      peer.trying = id;
      timers_.insert({now + (peer.untried > 0 ? kOneOfManyNs : kGreetingNs), Timer::greeting, id});
      return true;
    }
    peer.addresses.failed();
  }
  peer.not_before = now + kHoldOffNs;
  return false;
}

// Frames wait for the answer as for a connection. It may be lost, so the question is repeated
// (retry).
bool Fabric::ask(std::uint32_t node, OtherNode& peer, Moment now) {
  if (!directory_.is_there()) return false;
  if (peer.outbox.empty()) peer.give_up = now + kGreetingNs;
  peer.was_asked = true;
  if (now < peer.ask_again) return true;
  directory_.ask(node);
  peer.ask_again = now + kAskAgainNs;
  timers_.insert({peer.ask_again, Timer::retry, node});
  return true;
}

bool Fabric::hear(Moment now) {
  while (true) {
    Directory::Answer answer;
    switch (directory_.hear(answer)) {
      case Directory::Came::nothing:
        return true;
      case Directory::Came::end:
        return false;
      case Directory::Came::answer:
        answered(answer, now);
        break;
    }
  }
}

void Fabric::answered(const Directory::Answer& answer, Moment now) {
  const auto found = peers_.find(answer.node);
  if (found == peers_.end() || !found->second.was_asked) return;  // nothing was asked
  OtherNode& peer = found->second;
  peer.ask_again = 0;
  if (answer.endpoint && !peer.addresses.is_fixed()) peer.addresses.fix(*answer.endpoint);
  if (!answer.key.empty()) peer.key = answer.key;
  if (peer.standing != 0 || peer.trying != 0 || peer.outbox.empty()) return;
  const bool is_told = answer.endpoint && knows_key_to(peer);
  if (is_told) peer.not_before = 0;
  if (is_told && connect(answer.node, peer, now)) return;
  peer.not_before = now + kHoldOffNs;
  lose(answer.node, peer, now);
}

void Fabric::take(std::uint32_t id, std::uint32_t events, Moment now) {
  if (id == 0) return accept_all(now);
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  PeerLink& link = found->second;
  if (!link.stands()) return greet(id, link, now);
  if ((events & EPOLLOUT) != 0) flush(peers_[link.node()]);
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read(id, link, now);
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
    poller_->add(link.descriptor(), EPOLLIN, {Tag::Kind::fabric, id, 0});
  }
  if (link.greeting()->state() == Greeting::State::asked) return asked(id, link, now);
  if (link.greeting()->state() == Greeting::State::over) return greeted(id, link, now);
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
         (other->second.standing != 0 || other->second.trying != 0);
}

// Another node's engine has proved itself and wants its connection to be established.
void Fabric::asked(std::uint32_t id, PeerLink& link, Moment now) {
  const Hello other = link.greeting()->other();
  OtherNode& peer = peers_[other.from];
  const Greeting::Verdict verdict = peer.verdict(record_.node, other);
  link.greeting()->decide(verdict, peer.attempts);
  if (!link.greet() || verdict != Greeting::Verdict::welcome) return drop(id);
  peer.saw(other.instance, other.attempt);
  if (peer.trying != 0) drop(std::exchange(peer.trying, 0));
  if (peer.standing != 0) {
    drop(std::exchange(peer.standing, 0));
    lose(other.from, peer, now);
  }
  stand(id, link, other.from);
}

// Handles the verdict about a connection that this node has begun.
void Fabric::greeted(std::uint32_t id, PeerLink& link, Moment now) {
  const Greeting& greeting = *link.greeting();
  const std::uint32_t node = greeting.other().from;
  OtherNode& peer = peers_[node];
  switch (greeting.verdict()) {
    case Greeting::Verdict::welcome:
      peer.saw(greeting.other().instance, greeting.attempts());
      peer.trying = 0;
      peer.addresses.proved();
      stand(id, link, node);
      return read(id, link, now);  // reads what has come behind the verdict
    case Greeting::Verdict::crossing:
      drop(id);
      peer.trying = 0;
      timers_.insert({now + kCrossingNs, Timer::retry, node});
      return;
    case Greeting::Verdict::stale:
      return fail_greeting(id, "it takes this connection for an old one", now);
  }
}

void Fabric::stand(std::uint32_t id, PeerLink& link, std::uint32_t node) {
  strangers_.erase(id);
  born_.erase(id);
  OtherNode& peer = peers_[node];
  link.stand(node);
  peer.standing = id;
  peer.has_left = false;
  if (!peer.dirty) dirty_.push_back(node);
  peer.dirty = true;
}

void Fabric::fail_greeting(std::uint32_t id, const std::string& why, Moment now) {
  const auto found = links_.find(id);
  if (found == links_.end() || found->second.stands()) return;
  const std::string name = found->second.name();
  drop(id);
  const auto tried =
      std::ranges::find_if(peers_, [&](const auto& peer) { return peer.second.trying == id; });
  if (tried == peers_.end()) {
    ++counts_.refused;
    return complain(cat("refused a connection from ", name, ": ", why), now, strangers_said_);
  }
  auto& [node, peer] = *tried;
  if (!peer.has_left) complain(cat("cannot speak to node ", node, " at ", name, ": ", why), now);
  peer.trying = 0;
  peer.addresses.failed();
  if (try_next(node, peer, now)) return;
  // The addresses that programs have said may all be wrong.
  if (!peer.was_asked && !peer.addresses.is_fixed() && ask(node, peer, now)) return;
  lose(node, peer, now);
}

void Fabric::run_timer(Timer timer, std::uint32_t id, Moment now) {
  switch (timer) {
    case Timer::greeting:
      return fail_greeting(id, "it is too slow", now);
    case Timer::retry:
      return retry(id, now);
    case Timer::listening:
      poller_->add(listening_.get(), EPOLLIN, {Tag::Kind::fabric, 0, 0});
      return;
  }
}

// The other node's connection, which should have come, has not come or is still being made.
void Fabric::retry(std::uint32_t node, Moment now) {
  OtherNode& peer = peers_[node];
  if (peer.standing != 0 || peer.trying != 0 || peer.outbox.empty()) return;
  if (now < peer.give_up && connect(node, peer, now)) return;
  complain(peer.addresses.empty() ? cat("no agent says where node ", node, " is")
           : !knows_key_to(peer) ? cat("no agent says by which key node ", node, " is connected to")
                                 : cat("node ", node, " refuses connections, and makes none"),
           now);
  lose(node, peer, now);
}

void Fabric::complain(const std::string& text, Moment now) {
  complain(text, now, nodes_said_);
}

void Fabric::complain(const std::string& text, Moment now, Said& said) {
  if (now < said.quiet_until) {
    ++said.unsaid;
    return;
  }
  said.quiet_until = now + kQuietNs;
  report(said.unsaid == 0 ? text : cat(text, " (and ", said.unsaid, " more of such lines)"));
  said.unsaid = 0;
}

}  // namespace scela::hca
