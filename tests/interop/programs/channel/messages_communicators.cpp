// Messages within communicators: each way to send, freed requests, contexts, and a rank that ends.
#include "tests/interop/programs/channel/messages_check.h"

namespace messages {

namespace {

// Every rank sends to the next one and to itself, in each way.
void ring(Communicator& part, int seed) {
  const int next = (part.rank() + 1) % part.size();
  const int last = (part.rank() + part.size() - 1) % part.size();
  for (const std::size_t length : kLengths) {
    const Data mine = data_of(length, seed + part.rank()), right = data_of(length, seed + last);
    Data got(length);
    Request receive = part.irecv(last, 3, got);
    must(part.send(next, 3, mine), "send");
    Status status = receive.wait(kLimit);
    must(status, "receive");
    must(status.source() == last && status.tag() == 3 && status.bytes() == length && got == right,
         "what came by isend is another message");
    got.assign(length, std::byte{0});
    Request any = part.irecv(kAnySource, kAnyTag, got);
    Request synchronous = part.issend(next, 4, mine);
    Request both[] = {std::move(any), std::move(synchronous)};
    std::size_t done = scela::wait_any(both, kLimit);
    must(done < 2, "none of two is complete");
    must(both[done].wait(), "the first of two");
    done = 1 - done;
    must(both[done].wait(kLimit), "the second of two");
    must(both[0].status().source() == last && both[0].status().tag() == 4 && got == right,
         "what came from any rank is another message");
  }
}

void persistent(Communicator& part) {
  const int next = (part.rank() + 1) % part.size();
  const int last = (part.rank() + part.size() - 1) % part.size();
  int mine = 0, got = -1;
  Request send = part.send_init(next, 5, bytes_of(mine));
  Request receive = part.recv_init(last, 5, room_of(got));
  must(receive.wait().code() == Code::bad_request, "a wait for one that was not started");
  for (int round = 0; round < 5; ++round) {
    mine = 10 * part.rank() + round;
    must(receive.start(), "start of a receive");
    must(send.start(), "start of a send");
    must(send.wait(kLimit), "a persistent send");
    const Status status = receive.wait(kLimit);
    must(status, "a persistent receive");
    must(status.source() == last && got == 10 * last + round, "a persistent receive got another");
  }
}

void probes(Communicator& part) {
  const int next = (part.rank() + 1) % part.size();
  const int last = (part.rank() + part.size() - 1) % part.size();
  const int mine = part.rank();
  Request send = part.isend(next, 6, bytes_of(mine));
  Status status = part.probe(kAnySource, 6, kLimit);
  must(status, "probe");
  must(status.source() == last && status.tag() == 6 && status.bytes() == sizeof mine,
       "a probe finds another message");
  const std::optional<Status> looked = part.iprobe(last, 6);
  must(looked && looked->ok() && looked->source() == last, "iprobe");
  must(!part.iprobe(last, 7), "a message of another tag");
  std::optional<scela::ProbedMessage> taken = part.improbe(kAnySource, 6);
  must(taken && taken->status().ok() && taken->status().source() == last, "improbe");
  must(!part.iprobe(last, 6), "a message that was taken is found");
  int got = -1;
  Request receive = part.imrecv(std::move(*taken), room_of(got));
  status = receive.wait(kLimit);
  must(status, "imrecv");
  must(status.source() == last && got == last, "a probed message has another source");
  must(send.wait(kLimit), "the probed message's send");
  must(part.probe(kAnySource, 6, 1ms).code() == Code::timed_out, "a probe in vain");
  must(part.recv(kAnySource, 6, room_of(got), 1ms).code() == Code::timed_out, "a receive in vain");
}

void arguments(Communicator& part) {
  int number = 0;
  const int none = part.size();
  const std::span<const std::byte> nowhere(static_cast<const std::byte*>(nullptr), 4);
  const std::span<std::byte> no_room(static_cast<std::byte*>(nullptr), 4);
  must_fail(part.send(none, 0, bytes_of(number)), Code::bad_rank, none, "send");
  must_fail(part.isend(-1, 0, bytes_of(number)).wait(), Code::bad_rank, -1, "isend");
  must_fail(part.issend(none, 0, bytes_of(number)).wait(), Code::bad_rank, none, "issend");
  must_fail(part.irecv(-2, 0, room_of(number)).wait(), Code::bad_rank, -2, "irecv");
  must_fail(part.recv(none, 0, room_of(number)), Code::bad_rank, none, "recv");
  must_fail(part.send_init(none, 0, bytes_of(number)).start(), Code::bad_rank, none, "send_init");
  must_fail(part.recv_init(none, 0, room_of(number)).start(), Code::bad_rank, none, "recv_init");
  must_fail(part.probe(none, 0), Code::bad_rank, none, "probe");
  must_fail(*part.iprobe(none, 0), Code::bad_rank, none, "iprobe");
  must_fail(part.improbe(none, 0)->status(), Code::bad_rank, none, "improbe");
  const int peer = part.size() - 1;
  must_fail(part.send(peer, -1, bytes_of(number)), Code::bad_tag, peer, "a tag below 0");
  must_fail(part.irecv(peer, -3, room_of(number)).wait(), Code::bad_tag, peer, "a receive's tag");
  must_fail(part.isend(peer, 0, nowhere).wait(), Code::bad_buffer, peer, "a null address");
  must_fail(part.irecv(peer, 0, no_room).wait(), Code::bad_buffer, peer, "a null room");
  Communicator empty;
  must(empty.send(0, 0, bytes_of(number)).code() == Code::bad_communicator, "an empty one sends");
  must(empty.irecv(0, 0, room_of(number)).wait().code() == Code::bad_communicator,
       "an empty one receives");
  must(empty.improbe(0, 0)->status().code() == Code::bad_communicator, "an empty one probes");
  // A message that is too long, and a receive that is cancelled.
  if (part.rank() == 0) must(part.send(peer, 8, data_of(64, 1)), "a long message");
  if (part.rank() == peer) {
    Data room(10);
    const Status status = part.recv(0, 8, room);
    must_fail(status, Code::truncated, 0, "a message that is longer than its room");
    must(status.source() == 0 && status.bytes() == 64, "the source of a truncated message");
  }
  Request never = part.irecv(peer, 9, room_of(number));
  must_fail(never.wait(0ns), Code::timed_out, peer, "nothing has come");
  must(never.cancel(), "a cancel");
  must_fail(never.wait(), Code::cancelled, peer, "a cancelled receive");
}

// Messages of one tag are under way in the channel and in two communicators of the same ranks.
void contexts(Channel& channel, Communicator& world) {
  Communicator twin = world.dup();
  must(bool(twin), "dup");
  const int next = (world.rank() + 1) % world.size();
  int of_channel = 1, of_world = 2, of_twin = 3, got = 0;
  Request sends[] = {channel.isend(next, 1, bytes_of(of_channel)),
                     world.isend(next, 1, bytes_of(of_world)),
                     twin.isend(next, 1, bytes_of(of_twin))};
  // An operation goes on beside messages from any rank.
  std::vector<int> one{1}, sum{0};
  Request all = world.start(Collective::allreduce(one, sum, scela::ReduceOp::sum));
  must(twin.recv(kAnySource, kAnyTag, room_of(got), kLimit), "a receive of the twin");
  must(got == of_twin, "the twin got another's message");
  must(world.recv(kAnySource, kAnyTag, room_of(got), kLimit), "a receive of the world");
  must(got == of_world, "the world got another's message");
  must(channel.recv(kAnySource, kAnyTag, room_of(got), scela::kWorld, kLimit),
       "a receive of the channel");
  must(got == of_channel, "the channel got another's message");
  must(scela::wait_all(sends, kLimit), "the sends");
  must(all.wait(kLimit), "the operation");
  must(sum[0] == world.size(), "the operation's sum");
}

// Requests that were not complete when their communicator was freed.
void freed(Communicator& world) {
  Communicator twin = world.dup();
  const int next = (world.rank() + 1) % world.size();
  const int last = (world.rank() + world.size() - 1) % world.size();
  int got = -1;
  const int mine = world.rank();
  Request receive = twin.irecv(last, 1, room_of(got));
  must(world.barrier(), "barrier");
  Request send = twin.isend(next, 1, bytes_of(mine));
  int kept = 0;
  Request persistent_send = twin.send_init(next, 2, bytes_of(kept));
  twin.free();
  must(twin.send(next, 1, bytes_of(mine)).code() == Code::bad_communicator, "a freed one sends");
  must(persistent_send.start().code() == Code::bad_communicator, "a freed one starts");
  must(receive.wait(kLimit), "a receive of a freed communicator");
  must(receive.status().source() == last && got == last, "a freed communicator's message");
  must(send.wait(kLimit), "a send of a freed communicator");
}

}  // namespace

void communicators(Channel& channel) {
  Communicator world = Communicator::world(channel);
  must(world.status(), "world");
  ring(world, 1);
  persistent(world);
  probes(world);
  arguments(world);
  contexts(channel, world);
  freed(world);
  // Ranks in another order, and some of the ranks.
  Communicator turned = world.split(0, -world.rank());
  must(turned.status(), "split");
  ring(turned, 2);
  persistent(turned);
  probes(turned);
  arguments(turned);
  freed(turned);
  Communicator odd = world.split(world.rank() % 2, -world.rank());
  ring(odd, 3);
  persistent(odd);
  probes(odd);
  arguments(odd);
  freed(odd);
  Communicator self = world.split(world.rank(), 0);
  int number = 7, got = 0;
  Request loop = self.isend(0, 1, bytes_of(number));
  must(self.recv(kAnySource, 1, room_of(got), kLimit), "a message to itself");
  must(got == 7 && loop.wait().ok(), "a message to itself is another");
  must(world.barrier(), "the last barrier");
}

// The last rank ends. A receive from any rank of a communicator of it and rank 0 fails, though
// other ranks live.
void death(Channel& channel) {
  Communicator world = Communicator::world(channel);
  must(world.status(), "world");
  const int dying = world.size() - 1;
  const std::vector<int> ranks{dying, 0};
  Communicator pair = world.subgroup(ranks);
  const std::vector<int> more{1, dying, 0};
  Communicator three = world.subgroup(more);
  int got = 0;
  if (world.rank() == dying) {
    must(pair.recv(1, 1, room_of(got), kLimit), "the last word");
    static_cast<void>(std::raise(SIGKILL));
  }
  if (world.rank() == 0) {
    must(pair.rank() == 1, "the pair's order");
    Request any = pair.irecv(kAnySource, 2, room_of(got));
    Request named = pair.irecv(0, 2, room_of(got));
    Request kept = pair.recv_init(kAnySource, 2, room_of(got));
    must(kept.start(), "a persistent receive");
    Request detached_one = pair.irecv(kAnySource, 3, room_of(got));
    must(detached_one.detach(), "a detached receive of a rank that ends");
    Request of_three = three.irecv(kAnySource, 2, room_of(got));
    // Until all others have their communicators, the rank must live.
    for (int rank = 1; rank < dying; ++rank)
      must(world.recv(rank, 8, room_of(got), kLimit), "a rank that is ready");
    must(pair.send(0, 1, bytes_of(got)), "the last word");
    must_fail(named.wait(kLimit), Code::peer_ended, 0, "a receive of the rank that has ended");
    must_fail(any.wait(kLimit), Code::peer_ended, -1, "a receive of any rank");
    must_fail(kept.wait(kLimit), Code::peer_ended, -1, "a persistent receive of any rank");
    must_fail(pair.recv(kAnySource, 2, room_of(got), kLimit), Code::peer_ended, -1, "recv");
    must_fail(pair.probe(kAnySource, 2, kLimit), Code::peer_ended, -1, "probe");
    must(pair.iprobe(kAnySource, 2)->code() == Code::peer_ended, "iprobe");
    must(pair.improbe(kAnySource, 2)->status().code() == Code::peer_ended, "improbe");
    must_fail(pair.send(0, 3, bytes_of(got)), Code::peer_ended, 0, "send");
    must_fail(three.recv(1, 3, room_of(got), kLimit), Code::peer_ended, 1, "recv of three");
    must(!of_three.test(), "a receive of any of three goes on");
    must(three.send(0, 4, bytes_of(got)), "to the other of three");
    must(of_three.wait(kLimit), "from the other of three");
    must(of_three.status().source() == 0, "the other of three");
    const int done = 1;
    for (int rank = 2; rank < dying; ++rank)
      must(world.send(rank, 9, bytes_of(done)), "the end");
  } else if (world.rank() == 1) {
    must(world.send(0, 8, bytes_of(got)), "rank 1 is ready");
    must(three.recv(2, 4, room_of(got), kLimit), "the word of rank 0");
    must(three.send(2, 2, bytes_of(got)), "the answer to rank 0");
  } else {
    must(world.send(0, 8, bytes_of(got)), "a rank is ready");
    must(world.recv(0, 9, room_of(got), kLimit), "the end");
  }
}

// More worlds than there are families of contexts, so that families are used again. A message of a
// world that its receiver has freed is in no later world, and its sender does not wait for ever.
void families(Channel& channel) {
  constexpr int kFamilies = 1023;
  const int stale = 77;
  const Data large(100'000);
  int got = 0;
  for (int i = 0; i < 2 * kFamilies + 8; ++i) {
    Communicator world = Communicator::world(channel);
    must(world.status(), "world");
    if (i > kFamilies && own_rank == 0)
      must_fail(world.recv(kAnySource, kAnyTag, room_of(got), 0ns), Code::timed_out, -1,
                "a message of an earlier world");
    const bool is_left = i >= kFamilies - 5 && i <= kFamilies;
    if (is_left && own_rank == 0) {
      world.free();
      must(channel.send(1, 1, bytes_of(stale)), "world is free");
    }
    if (is_left && own_rank == 1) {
      must(channel.recv(0, 1, room_of(got), scela::kWorld, kLimit), "world is free");
      must(world.send(0, 9, bytes_of(stale)), "a small message into a freed world");
      must(world.isend(0, 10, large).wait(kLimit), "a large message into a freed world");
    }
    world.free();
  }
}

}  // namespace messages
