// Tests step by step what a process does about its connections
// (comm-channel/core/connect/connection_machine.h). The explorer tests orders of events.
#include "comm-channel/core/connect/connection_machine.h"

#include <catch2/catch.hpp>

#include "common/core/bytes.h"
#include "tests/unit/comm-channel/core/connect/connect_world.h"

namespace connection_machine_test {

using namespace scela::channel::connect;
using namespace scela::channel::connect::test;

namespace {

Options options_for(Mode mode, std::uint32_t max_links = 0) {
  Options options;
  options.mode = mode;
  options.max_links = max_links;
  options.tries = 5;
  return options;
}

void want(World& world, std::uint32_t process, PeerId peer) {
  world.processes[process].outcomes[peer] = Outcome::wanted;
  world.give(process, event::Wanted{peer});
}

// Delivers until nothing is on its way, and all that drains has drained.
void deliver_all(World& world) {
  for (bool again = true; again;) {
    while (!world.network.empty())
      world.deliver(0);
    again = false;
    for (std::uint32_t number = 0; number < world.processes.size(); ++number) {
      for (PeerId peer = 0; peer < world.processes.size(); ++peer) {
        auto& draining = world.processes[number].draining[peer];
        if (draining == 0) continue;
        draining = 0;
        world.give(number, event::Drained{peer});
        again = true;
      }
    }
  }
}

void connect_to(World& world, std::uint32_t process, PeerId peer) {
  want(world, process, peer);
  deliver_all(world);
  REQUIRE(world.processes[process].outcomes[peer] == Outcome::ready);
}

void wake(World& world, std::uint32_t process) {
  const auto at = world.processes[process].machine.next_wake();
  REQUIRE(at);
  world.processes[process].clock = *at;
  world.give(process, event::Timer{});
}

Handshake said(const Datagram& datagram) {
  return decode(datagram.bytes).value();
}

std::size_t handles(const Process& process) {
  return process.machine.counts().held;
}

}  // namespace

TEST_CASE("connection: the first of a node is connected to, the others share the link") {
  World world({0, 1, 1, 1}, options_for(Mode::shared));
  connect_to(world, 0, 2);
  connect_to(world, 0, 1);
  connect_to(world, 0, 3);
  Machine& machine = world.processes[0].machine;
  CHECK(machine.counts().links == 1);
  CHECK(machine.counts().joins == 2);
  CHECK(machine.is_direct(2));
  CHECK_FALSE(machine.is_direct(1));
  CHECK(machine.route(1).qp == machine.route(2).qp);
  CHECK(machine.route(1).srq == 1001);
  CHECK(machine.route(3).srq == 1003);
  CHECK(world.targets.size() == 1);
  for (const std::uint32_t process : {1, 2, 3})
    CHECK(handles(world.processes[process]) == 1);
}

TEST_CASE("connection: peers wanted meanwhile wait for the link, and no second one is requested") {
  World world({0, 1, 1}, options_for(Mode::shared));
  want(world, 0, 1);
  want(world, 0, 2);
  want(world, 0, 1);
  CHECK(world.network.size() == 1);
  deliver_all(world);
  CHECK(world.processes[0].outcomes[1] == Outcome::ready);
  CHECK(world.processes[0].outcomes[2] == Outcome::ready);
  CHECK(world.targets.size() == 1);
}

TEST_CASE(
    "connection: a lost request is repeated, each time after twice as long, until it is answered") {
  World world({0, 1}, options_for(Mode::shared));
  want(world, 0, 1);
  world.network.clear();
  const Machine& machine = world.processes[0].machine;
  CHECK(machine.next_wake() == Time(std::chrono::milliseconds(10)));
  wake(world, 0);
  CHECK(machine.next_wake() == Time(std::chrono::milliseconds(30)));
  REQUIRE(world.network.size() == 1);
  deliver_all(world);
  CHECK(world.processes[0].outcomes[1] == Outcome::ready);
  CHECK_FALSE(machine.next_wake());
}

TEST_CASE("connection: a lost answer is said again, and no second queue pair is made") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    World world({0, 1}, options_for(mode));
    want(world, 0, 1);
    world.deliver(0);
    REQUIRE(said(world.network[0]).said == HandshakeKind::accept);
    world.network.clear();
    const std::size_t before = world.queue_pairs();
    wake(world, 0);
    deliver_all(world);
    CHECK(world.processes[0].outcomes[1] == Outcome::ready);
    CHECK(world.queue_pairs() == before);
    CHECK(world.judge(true) == "");
  }
}

TEST_CASE("connection: a peer that never answers fails after the maximum number of tries") {
  World world({0, 1, 1}, options_for(Mode::shared));
  want(world, 0, 1);
  want(world, 0, 2);
  for (int tries = 0; tries < 5; ++tries) {
    REQUIRE(world.network.size() == 1);
    CHECK(world.network[0].to == 1);
    world.network.clear();
    wake(world, 0);
  }
  CHECK(world.processes[0].outcomes[1] == Outcome::failed);
  CHECK(world.processes[0].failures[1] == Failure::unreachable);
  // The next process of the node is asked in its place.
  deliver_all(world);
  CHECK(world.processes[0].outcomes[2] == Outcome::ready);
  CHECK(world.processes[0].machine.is_direct(2));
}

TEST_CASE("connection: the direct peer ends, and the others still receive by the same queue pair") {
  World world({0, 1, 1, 1}, options_for(Mode::shared));
  connect_to(world, 0, 1);
  connect_to(world, 0, 2);
  const Route before = world.processes[0].machine.peers().route(2);
  world.die(1);
  CHECK(world.is_alive(0, before.qp));
  world.give(0, event::PeerEnded{1});
  CHECK(world.processes[0].failures[1] == Failure::ended);
  CHECK(world.processes[0].machine.peers().route(2) == before);
  connect_to(world, 0, 3);  // a process that joins later finds it
  CHECK(world.processes[0].machine.peers().route(3).qp == before.qp);
  // The queue pair goes with its last holder.
  world.die(2);
  CHECK(world.is_alive(0, before.qp));
  world.die(3);
  CHECK_FALSE(world.is_alive(0, before.qp));
  world.give(0, event::PeerEnded{2});
  world.give(0, event::PeerEnded{3});
  CHECK(world.processes[0].machine.counts().links == 0);
}

TEST_CASE("connection: without ibv_open_qp a queue pair ends with its maker, and another is made") {
  World world({0, 1, 1}, options_for(Mode::owned));
  connect_to(world, 0, 1);
  connect_to(world, 0, 2);
  CHECK(handles(world.processes[2]) == 0);
  const Route before = world.processes[0].machine.peers().route(2);
  world.die(1);
  CHECK_FALSE(world.is_alive(0, before.qp));
  world.give(0, event::PeerEnded{1});
  CHECK(world.processes[0].outcomes[2] == Outcome::lost);
  connect_to(world, 0, 2);
  CHECK(world.processes[0].machine.is_direct(2));
  CHECK(world.judge(true) == "");
}

TEST_CASE("connection: the queue pair's maker leaves after messages under way have arrived") {
  World world({0, 1, 1}, options_for(Mode::owned));
  connect_to(world, 0, 1);
  connect_to(world, 0, 2);
  const QpId qp = world.processes[0].machine.peers().route(2).qp;
  world.give(1, event::Leave{});
  world.deliver(0);
  // Process 0 drains its messages to both peers, as both go by the queue pair that will end. The
  // queue pair exists until then.
  CHECK(world.processes[0].draining[1] == 1);
  CHECK(world.processes[0].draining[2] == 1);
  CHECK(world.is_alive(0, qp));
  CHECK_FALSE(world.processes[1].left);
  deliver_all(world);
  CHECK(world.processes[1].left);
  connect_to(world, 0, 2);
  world.give(0, event::Wanted{1});
  CHECK(world.processes[0].failures[1] == Failure::leaving);
}

TEST_CASE("connection: a process that leaves says so with RC too and gets no more requests") {
  World world({0, 1, 2}, options_for(Mode::pairs));
  connect_to(world, 0, 1);
  connect_to(world, 2, 0);
  world.give(0, event::Leave{});
  deliver_all(world);
  REQUIRE(world.processes[0].left);
  for (const std::uint32_t other : {1u, 2u}) {
    world.give(other, event::Wanted{0});
    CHECK(world.network.empty());  // no question is asked
    CHECK(world.processes[other].outcomes[0] == Outcome::failed);
    CHECK(world.processes[other].failures[0] == Failure::leaving);
  }
}

TEST_CASE("connection: a process that hears that a queue pair is gone does not drain its own") {
  World world({0, 1}, options_for(Mode::pairs));
  connect_to(world, 0, 1);
  world.give(1, event::Broken{0});
  world.deliver(0);
  CHECK(world.processes[0].draining[1] == 0);
  CHECK(world.processes[0].outcomes[1] == Outcome::lost);
  deliver_all(world);
  connect_to(world, 0, 1);
}

TEST_CASE("connection: a process hears that a queue pair is gone while it drains its own") {
  World world({0, 1}, options_for(Mode::pairs));
  connect_to(world, 0, 1);
  world.give(0, event::Leave{});
  REQUIRE(world.processes[0].draining[1] == 1);
  world.give(1, event::Broken{0});
  world.deliver(0);
  CHECK(world.processes[0].draining[1] == 0);
  deliver_all(world);
  CHECK(world.processes[0].left);
}

TEST_CASE("connection: a process that leaves tells of a queue pair that is gone, too") {
  World world({0, 1}, options_for(Mode::pairs));
  connect_to(world, 0, 1);
  world.give(1, event::Broken{0});
  world.network.clear();  // the first message of that is lost
  world.give(1, event::Leave{});
  world.processes[1].clock = *world.processes[1].machine.next_wake();
  world.give(1, event::Timer{});
  REQUIRE(world.network.size() == 1);
  CHECK(said(world.network[0]).refusal == Refusal::leaving);
  CHECK(said(world.network[0]).gone);
  deliver_all(world);
  CHECK(world.processes[0].draining[1] == 0);
  CHECK(world.processes[1].left);
}

TEST_CASE("connection: a process hears that the peer that accepted it is leaving") {
  World world({0, 1}, options_for(Mode::pairs));
  want(world, 0, 1);
  world.deliver(0);       // the request, which is accepted
  world.network.clear();  // the acceptance is lost
  world.give(1, event::Leave{});
  world.deliver(0);
  REQUIRE(world.network.size() == 1);  // the answer, and no second request
  CHECK(world.processes[0].failures[1] == Failure::leaving);
  CHECK(world.processes[0].machine.pair_of(1) == PairState::none);
  deliver_all(world);
  CHECK(world.processes[1].left);
}

TEST_CASE("connection: notice of a leaving peer is repeated until it was heard") {
  World world({0, 1}, options_for(Mode::pairs));
  want(world, 0, 1);
  world.late = 1;
  // The request arrives, and its queue pair is connected late.
  world.deliver(0);
  world.give(1, event::Leave{});
  world.network.clear();  // the first message of that is lost
  CHECK_FALSE(world.processes[1].left);
  world.processes[1].clock = *world.processes[1].machine.next_wake();
  world.give(1, event::Timer{});
  deliver_all(world);
  CHECK(world.processes[1].left);
  CHECK(world.processes[0].failures[1] == Failure::leaving);
}

TEST_CASE("connection: a confirmation of an abandoned connection is answered") {
  World world({0, 1}, options_for(Mode::pairs));
  want(world, 0, 1);
  world.deliver(0);  // the request, which is accepted
  world.late = 1;
  // The acceptance arrives, and the queue pair is connected late.
  world.deliver(0);
  while (world.processes[1].machine.pair_of(0) != PairState::none) {
    world.processes[1].clock = *world.processes[1].machine.next_wake();
    world.give(1, event::Timer{});
    world.network.clear();
  }
  world.connect_late();
  deliver_all(world);
  CHECK(world.processes[0].outcomes[1] == Outcome::lost);
  CHECK_FALSE(world.processes[0].machine.peers().route(1));
  CHECK(world.queue_pairs() == 0);
  connect_to(world, 0, 1);
}

TEST_CASE("connection: an acceptance that is repeated while the queue pair is being connected") {
  World world({0, 1}, options_for(Mode::pairs));
  want(world, 0, 1);
  world.deliver(0);  // the request, which is accepted
  world.late = 1;
  world.deliver(0, true);
  REQUIRE(world.connected_late.size() == 1);
  world.deliver(0);  // the acceptance, repeated
  CHECK(world.network.empty());
  world.connect_late();
  deliver_all(world);
  CHECK(world.processes[0].outcomes[1] == Outcome::ready);
  CHECK(world.judge(true).empty());
}

TEST_CASE("connection: in owned mode the numbers of queues stay known after the link has closed") {
  World world({0, 1, 1, 2}, options_for(Mode::owned, 1));
  connect_to(world, 0, 1);
  connect_to(world, 0, 2);
  connect_to(world, 0, 3);  // the link to node 1 makes room
  CHECK(world.processes[0].machine.counts().closed_idle == 1);
  want(world, 0, 1);
  deliver_all(world);
  want(world, 0, 2);
  CHECK(world.network.empty());  // no question is asked
  CHECK(world.processes[0].outcomes[2] == Outcome::ready);
}

TEST_CASE("connection: the link that was used longest ago makes room, once it has drained") {
  World world({0, 1, 2, 3}, options_for(Mode::shared, 2));
  connect_to(world, 0, 1);
  connect_to(world, 0, 2);
  world.processes[0].machine.route(1);  // the link to process 1 is used
  want(world, 0, 3);
  CHECK(world.processes[0].draining[2] == 1);
  CHECK(world.processes[0].draining[1] == 0);
  // The request waits until the other link has drained.
  CHECK(world.network.empty());
  CHECK(world.queue_pairs() == 4);
  deliver_all(world);
  CHECK(world.processes[0].outcomes[3] == Outcome::ready);
  CHECK(world.processes[0].machine.counts().links == 2);
  CHECK(handles(world.processes[2]) == 0);
}

TEST_CASE("connection: two jobs on a node are told apart by name, and share the link") {
  // Processes 1 and 2 have ranks 0 and 1 of different jobs. Processes 0 and 1 both have rank 0.
  World world({0, 1, 1, 1}, options_for(Mode::shared));
  CHECK(world.processes[0].machine.peers().address(0).name.rank ==
        world.processes[0].machine.peers().address(1).name.rank);
  connect_to(world, 0, 1);
  connect_to(world, 0, 2);
  CHECK(world.processes[0].machine.counts().links == 1);
  CHECK(world.targets.size() == 1);
  // A process that was spawned later, and of which no process was told, becomes known when it
  // speaks.
  PeerAddress spawned = world.processes[1].machine.peers().address(3);
  spawned.name = {99, 0};
  Options options = options_for(Mode::shared);
  Machine late(spawned, options);
  const PeerId to = late.add(world.processes[1].machine.peers().address(1));
  late.handle(event::Wanted{to}, Time(0));
  late.handle(event::QpMade{0, 5, 5}, Time(0));
  for (const Action& action : late.actions()) {
    if (const auto* send = std::get_if<action::SendDatagram>(&action))
      world.give(1, event::Datagram{send->bytes});
  }
  const auto known = world.processes[1].machine.peers().find({99, 0});
  REQUIRE(known);
  CHECK(world.processes[1].machine.hold_of(*known) == XrcTargetState::held);
}

TEST_CASE("connection: messages of an earlier life, or to one, count for nothing") {
  World world({0, 1}, options_for(Mode::shared));
  want(world, 0, 1);
  Handshake old = said(world.network[0]);
  // Process 1 hears of a later life of process 0 first.
  Handshake later = old;
  later.from.life = 2;
  later.number = 1;
  world.give(1, event::Datagram{encode(later)});
  CHECK(world.targets.size() == 1);
  world.network.clear();
  world.give(1, event::Datagram{encode(old)});
  CHECK(world.network.empty());
  old.from.life = 2;
  old.to_life = 7;
  world.give(1, event::Datagram{encode(old)});
  CHECK(world.network.empty());
  // An even later life ends what this one had.
  later.from.life = 3;
  world.give(1, event::Datagram{encode(later)});
  CHECK(world.targets.size() == 1);
  CHECK(handles(world.processes[1]) == 1);
}

TEST_CASE("connection: a request that comes late or again makes and opens nothing") {
  World world({0, 1, 1}, options_for(Mode::shared, 1));
  want(world, 0, 1);
  const Datagram connect = world.network[0];
  deliver_all(world);
  want(world, 0, 2);
  const Datagram join = world.network[0];
  deliver_all(world);
  world.give(1, event::Datagram{connect.bytes});
  world.give(2, event::Datagram{join.bytes});
  deliver_all(world);
  CHECK(world.targets.size() == 1);
  world.give(0, event::Leave{});
  deliver_all(world);
  CHECK(world.processes[0].left);
  CHECK(world.queue_pairs() == 0);
  world.give(1, event::Datagram{connect.bytes});
  world.give(2, event::Datagram{join.bytes});
  CHECK(world.queue_pairs() == 0);
  CHECK(said(world.network[0]).refusal == Refusal::gone);
}

TEST_CASE(
    "connection: both of a pair ask at once, and have one queue pair each with RC, two links with "
    "XRC") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    World world({0, 1}, options_for(mode));
    want(world, 0, 1);
    want(world, 1, 0);
    deliver_all(world);
    CHECK(world.processes[0].outcomes[1] == Outcome::ready);
    CHECK(world.processes[1].outcomes[0] == Outcome::ready);
    CHECK(world.queue_pairs() == (mode == Mode::pairs ? 2 : 4));
    CHECK(world.judge(true) == "");
  }
}

TEST_CASE("connection: a lost node fails all wanted peers there, and none of it is asked") {
  World world({0, 1, 1, 1}, options_for(Mode::shared));
  want(world, 0, 1);
  want(world, 0, 2);
  world.network.clear();
  world.give(0, event::NodeLost{101});
  for (const PeerId peer : {1, 2})
    CHECK(world.processes[0].failures[peer] == Failure::ended);
  CHECK(world.network.empty());
  CHECK(world.queue_pairs() == 0);
  world.give(0, event::Wanted{3});
  CHECK(world.processes[0].failures[3] == Failure::ended);
}

TEST_CASE("connection: a peer that uses queue pairs in another mode is answered with an error") {
  World world({0, 1}, options_for(Mode::shared));
  want(world, 0, 1);
  Handshake other = said(world.network[0]);
  other.mode = Mode::pairs;
  world.network.clear();
  world.give(1, event::Datagram{encode(other)});
  REQUIRE(world.network.size() == 1);
  deliver_all(world);
  CHECK(world.processes[0].failures[1] == Failure::mode);
  CHECK(world.queue_pairs() == 0);
}

TEST_CASE("connection: failures name the attempt, the peer, the cause and the advice") {
  PeerAddress peer;
  peer.name.rank = 17;
  for (const Failure failure : {Failure::ended, Failure::unreachable, Failure::refused,
                                Failure::resources, Failure::leaving, Failure::mode}) {
    const scela::Error error = explain(failure, peer);
    INFO(name_of(failure));
    CHECK(error.what.find("rank 17") != std::string::npos);
    CHECK_FALSE(error.why.empty());
    CHECK_FALSE(error.hint.empty());
  }
}

namespace {

std::string all_of(const World& world, std::uint32_t process) {
  scela::ByteWriter out;
  world.processes[process].machine.snapshot(out, Time(0));
  return out.take();
}

// Returns the messages that an intruder sends in the name of a process, of a later life of it, or
// of a process that does not exist.
std::vector<Handshake> said_by_intruder(const Handshake& real) {
  std::vector<Handshake> said;
  for (const std::uint64_t life : {real.from.life, real.from.life + 1}) {
    Handshake shake = real;
    shake.from.life = life;
    shake.from.address.qpn = 99;  // where it would hear the answer
    ++shake.number;
    said.push_back(shake);
    shake.said = HandshakeKind::close;
    shake.end = {};
    said.push_back(shake);
  }
  for (std::uint32_t rank = 1000; rank < 1020; ++rank) {
    Handshake shake = real;
    shake.from.name.rank = rank;
    said.push_back(shake);
  }
  return said;
}

}  // namespace

TEST_CASE("connection: a sender without the job's secret changes nothing") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    Options options = options_for(mode);
    options.secret = 0x5ec7e7;
    World world({0, 1}, options);
    want(world, 1, 0);
    const Handshake real = said(world.network[0]);
    CHECK(real.secret == options.secret);
    deliver_all(world);
    REQUIRE(world.processes[1].outcomes[0] == Outcome::ready);
    Machine& machine = world.processes[0].machine;
    const std::string before = all_of(world, 0);
    std::uint64_t unheard = 0;
    for (Handshake shake : said_by_intruder(real)) {
      for (const std::uint64_t guess : {std::uint64_t{0}, options.secret ^ 1, options.secret << 8,
                                        options.secret | std::uint64_t{1} << 63}) {
        shake.secret = guess;
        world.give(0, event::Datagram{encode(shake)});
        CHECK(machine.counts().unheard == ++unheard);
      }
    }
    CHECK(world.network.empty());  // no process gets an answer
    CHECK(all_of(world, 0) == before);
    CHECK(machine.peers().size() == 2);
    CHECK(world.is_alive(1, world.processes[1].machine.peers().route(0).qp));
    // If a sender has the secret, its message is heard. So the messages above would do harm.
    world.give(0, event::Datagram{encode(said_by_intruder(real)[2])});
    CHECK(all_of(world, 0) != before);
    CHECK(machine.counts().unheard == unheard);
  }
}

TEST_CASE("connection: names that are not of the job are never kept") {
  Options options = options_for(Mode::shared);
  options.ranks = 2;
  PeerAddress self, peer;
  self.name = {7, 0};
  peer.name = {7, 1};
  self.life = peer.life = 1;
  Machine machine(self, options), other(peer, options);
  const PeerId to = other.add(self);
  other.handle(event::Wanted{to}, Time(0));
  other.handle(event::QpMade{0, 5, 5}, Time(0));
  std::optional<Handshake> real;
  for (const Action& action : other.actions())
    if (const auto* send = std::get_if<action::SendDatagram>(&action)) real = decode(send->bytes);
  REQUIRE(real);
  for (std::uint32_t i = 0; i < 100; ++i) {
    Handshake shake = *real;
    shake.from.name = i % 2 == 0 ? Name{7, 2 + i} : Name{8 + i, 1};
    machine.handle(event::Datagram{encode(shake)}, Time(0));
  }
  CHECK(machine.peers().size() == 0);
  CHECK(machine.actions().empty());
  CHECK(machine.counts().unheard == 100);
  machine.handle(event::Datagram{encode(*real)}, Time(0));
  CHECK(machine.peers().size() == 1);
  CHECK(machine.counts().unheard == 100);
}

}  // namespace connection_machine_test
