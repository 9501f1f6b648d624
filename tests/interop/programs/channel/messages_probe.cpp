// This program tries messages within communicators, messages of several pieces, and messages that
// outlive their requests, by the functions that libscela exports. It runs on 4 ranks or more; rank
// 0 prints one line if all is well.
//
//   messages_probe communicators|pieces|detached|threads|death
#include <scela/channel.h>
#include <scela/communicator.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using scela::Channel;
using scela::Code;
using scela::Collective;
using scela::Communicator;
using scela::kAnySource;
using scela::kAnyTag;
using scela::Request;
using scela::Status;

namespace {

using Data = std::vector<std::byte>;
constexpr auto kLimit = 60s;

int own_rank = -1;

[[noreturn]] void failed(const std::string& why) {
  std::fprintf(stderr, "messages_probe: rank %d: %s\n", own_rank, why.c_str());
  std::_Exit(3);
}
void must(bool holds, const std::string& what) {
  if (!holds) failed(what);
}
void must(const Status& status, const std::string& what) {
  if (!status.ok()) failed(what + ": " + status.message());
}
void must_fail(const Status& status, Code code, int rank, const std::string& what) {
  if (status.code() != code || status.rank() != rank)
    failed(what + ": " + scela::name_of(status.code()) + " of rank " +
           std::to_string(status.rank()) + ": " + status.message());
}

Data data_of(std::size_t size, int seed) {
  Data data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = static_cast<std::byte>(static_cast<std::size_t>(seed) * 31 + i * 7 + i / 251);
  return data;
}
std::span<const std::byte> bytes_of(const int& number) {
  return std::as_bytes(std::span(&number, 1));
}
std::span<std::byte> room_of(int& number) {
  return std::as_writable_bytes(std::span(&number, 1));
}

// The lengths around the limits of eager messages, fragments and offloaded channels.
constexpr std::size_t kLengths[] = {0, 1, 4096, 4097, 8192, 8193, 16384, 16385, 65'536, 1'000'003};

// ---- messages of communicators ----

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

// ---- pieces ----

using ConstPieces = std::vector<std::span<const std::byte>>;
using Pieces = std::vector<std::span<std::byte>>;

// Cuts bytes into pieces of a pattern of lengths, and empty ones between them.
template <class Byte>
std::vector<std::span<Byte>> cut(std::span<Byte> bytes, std::size_t step) {
  std::vector<std::span<Byte>> pieces;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min(step + at % 3, bytes.size() - at);
    pieces.push_back(bytes.subspan(at, size));
    if (pieces.size() % 4 == 0) pieces.push_back({});
    at += size;
  }
  return pieces;
}

// Pieces in memory of their own, so that they do not follow each other.
struct Apart {
  std::vector<Data> memory;
  ConstPieces sent;
  Pieces got;
  Apart(const Data& whole, std::size_t step) {
    const std::vector<std::span<const std::byte>> pieces = cut(std::span(whole), step);
    memory.reserve(pieces.size());
    for (const auto piece : pieces) {
      Data& one = memory.emplace_back(piece.begin(), piece.end());
      sent.push_back(one);
      got.push_back(one);
    }
  }
  Data joined() const {
    Data all;
    for (const Data& one : memory)
      all.insert(all.end(), one.begin(), one.end());
    return all;
  }
};

void pieces_of(Communicator& world, int peer, bool sends, std::size_t length, std::size_t step) {
  const Data right = data_of(length, static_cast<int>(step));
  if (sends) {
    const Apart message(right, step);
    must(world.send(peer, 1, message.sent), "a send of pieces");
    must(world.isend(peer, 2, message.sent).wait(kLimit), "an isend of pieces");
    must(world.issend(peer, 3, right).wait(kLimit), "a synchronous send to pieces");
    Request again = world.send_init(peer, 4, message.sent);
    for (int round = 0; round < 3; ++round)
      must(again.start().ok() && again.wait(kLimit).ok(), "a persistent send of pieces");
    must(world.issend(peer, 5, message.sent).wait(kLimit), "an issend of pieces");
    must(world.send(peer, 6, message.sent), "a send to a short receive");
    return;
  }
  const auto empty = [&] { return Apart(Data(length), step + 5); };
  // The receiver has other pieces, or one.
  Apart other = empty();
  Status status = world.recv(peer, 1, other.got, kLimit);
  must(status, "a receive into pieces");
  must(status.bytes() == length && status.source() == peer && other.joined() == right,
       "pieces arrive otherwise");
  Data whole(length);
  must(world.recv(peer, 2, whole, kLimit), "a receive of pieces");
  must(whole == right, "pieces arrive otherwise in one");
  other = empty();
  Request receive = world.irecv(peer, 3, other.got);
  must(receive.wait(kLimit), "an irecv into pieces");
  must(other.joined() == right, "one piece arrives otherwise in several");
  other = empty();
  Request again = world.recv_init(kAnySource, 4, other.got);
  for (int round = 0; round < 3; ++round) {
    for (Data& one : other.memory)
      one.assign(one.size(), std::byte{0});
    must(again.start().ok() && again.wait(kLimit).ok(), "a persistent receive into pieces");
    must(other.joined() == right, "pieces of a persistent receive are others");
  }
  other = empty();
  std::optional<scela::ProbedMessage> taken;
  while (!taken)
    taken = world.improbe(peer, 5);
  must(world.imrecv(std::move(*taken), other.got).wait(kLimit), "imrecv into pieces");
  must(other.joined() == right, "pieces of a probed message are others");
  if (length < 2) {
    must(world.recv(peer, 6, whole, kLimit), "a receive of pieces");
    return;
  }
  // The pieces have less room than the message.
  Apart less(Data(length / 2), step);
  status = world.recv(peer, 6, less.got, kLimit);
  must_fail(status, Code::truncated, peer, "pieces that are too short");
  must(status.bytes() == length, "the length of a truncated message");
  must(
      less.joined() == Data(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length / 2)),
      "the first bytes of a truncated message");
}

void pieces(Channel& channel) {
  Communicator world = Communicator::world(channel);
  must(world.status(), "world");
  Communicator turned = world.split(0, -world.rank());
  const int half = world.size() / 2;
  for (Communicator* const part : {&world, &turned}) {
    const bool sends = part->rank() < half;
    const int peer = sends ? part->rank() + half : part->rank() - half;
    if (peer < part->size() && (sends || part->rank() < 2 * half))
      for (const std::size_t length : kLengths)
        for (const std::size_t step : {1 + length / 1000, 1 + length / 3})
          pieces_of(*part, peer, sends, length, step);
  }
  // Wrong pieces, on the channel itself.
  const int own = channel.rank();
  const std::byte some[8]{};
  std::byte room[8];
  const ConstPieces null_piece{some, {static_cast<const std::byte*>(nullptr), 4}};
  const ConstPieces endless{{some, SIZE_MAX / 2}, {some, SIZE_MAX / 2}};
  const Pieces null_room{room, {static_cast<std::byte*>(nullptr), 4}};
  must_fail(channel.send(own, 1, null_piece), Code::bad_buffer, own, "a null piece");
  must_fail(channel.isend(own, 1, endless).wait(), Code::bad_count, own, "endless pieces");
  must_fail(channel.irecv(own, 1, null_room).wait(), Code::bad_buffer, own, "a null piece's room");
  must_fail(channel.send(channel.size(), 1, ConstPieces{}), Code::bad_rank, channel.size(),
            "pieces to no rank");
  must_fail(channel.send(own, -7, ConstPieces{}), Code::bad_tag, own, "pieces with no tag");
  const std::size_t large = std::size_t{1} << 50;
  const Pieces far{{room, large}, {room, large}};
  must_fail(channel.irecv(own, 1, far).wait(), Code::resources, own, "pieces beyond memory");
  // No pieces, and pieces that follow each other.
  must(channel.isend(own, 2, ConstPieces{}).wait(), "no pieces");
  must(channel.recv(own, 2, Pieces{}), "a receive of no pieces");
  const std::span<const std::byte> halves[] = {{some, 4}, {some + 4, 4}};
  must(channel.isend(own, 3, halves).wait(), "halves");
  must(channel.recv(own, 3, room), "a receive of halves");
  must(world.barrier(), "the last barrier");
}

// ---- messages that outlive their requests ----

// Messages of each length go on without their requests.
void detached_messages(Channel& channel, Communicator* part) {
  const int next = (part->rank() + 1) % part->size();
  const int last = (part->rank() + part->size() - 1) % part->size();
  for (const std::size_t length : kLengths) {
    const Data mine = data_of(length, part->rank()), right = data_of(length, last);
    Data got(length), late(length);
    // The receive's end is learned by the message that follows it.
    must(part->irecv(last, 1, got).detach(), "detach of a receive");
    must(part->issend(next, 1, mine).detach(), "detach of a send");
    must(part->isend(next, 2, mine).detach(), "detach of a second send");
    must(part->recv(last, 2, late, kLimit), "the second message");
    must(late == right, "the second message is another");
    Apart message(mine, 100);
    must(part->isend(next, 3, message.sent).detach(), "detach of a send of pieces");
    must(part->recv(last, 3, late, kLimit), "the third message");
    must(late == right, "the third message is another");
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (got != right && std::chrono::steady_clock::now() < end)
      channel.progress();
    must(got == right, "what a detached receive got is another message");
    // Each answers when it has received all three; their buffers may go then.
    int answer = 0, heard = -1;
    Request thanks = part->isend(last, 4, bytes_of(answer));
    must(part->recv(next, 4, room_of(heard), kLimit), "the answer");
    must(thanks.wait(kLimit), "the answer's send");
  }
}

// Requests that are not under way, wrong ones, and those of operations.
void detached_others(Communicator* part) {
  const int next = (part->rank() + 1) % part->size();
  const int last = (part->rank() + part->size() - 1) % part->size();
  int number = 0, other = 0;
  Request persistent_send = part->send_init(next, 5, bytes_of(number));
  must(persistent_send.detach(), "detach of one that was not started");
  must(persistent_send.start().code() == Code::bad_request, "it is empty");
  persistent_send = part->send_init(next, 5, bytes_of(number));
  must(persistent_send.start(), "start");
  must(persistent_send.detach(), "detach of one that was started");
  must(part->recv(last, 5, room_of(other), kLimit), "what was started");
  Request gone;
  must(gone.detach(), "detach of an empty one");
  // Errors are dropped.
  must(part->isend(part->size(), 1, bytes_of(number)).detach(), "detach of a wrong one");
  must(part->isend(next, -1, bytes_of(number)).detach(), "detach of a wrong tag");
  // Collective operations need each rank.
  must(part->barrier(), "barrier");
  if (part->rank() == 0) {
    Request operation = part->start(Collective::barrier());
    must(operation.detach().code() == Code::bad_request, "detach of an operation");
    const int start = 1;
    for (int rank = 1; rank < part->size(); ++rank)
      must(part->send(rank, 6, bytes_of(start)), "the start");
    must(operation.wait(kLimit), "the operation goes on");
    must(operation.detach(), "detach of a complete operation");
  } else {
    must(part->recv(0, 6, room_of(other), kLimit), "the start");
    must(part->barrier(), "the operation");
  }
}

void detached(Channel& channel) {
  Communicator world = Communicator::world(channel);
  must(world.status(), "world");
  Communicator turned = world.split(0, -world.rank());
  for (Communicator* const part : {&world, &turned}) {
    detached_messages(channel, part);
    detached_others(part);
  }
  // These are detached when the channel closes: a receive that nothing matches, and a long send to
  // the next rank, which receives it before it closes.
  static int never = 0;
  static Data last_bytes = data_of(300'000, 9);
  Data room(last_bytes.size());
  const int next = (channel.rank() + 1) % channel.size();
  const int last = (channel.rank() + channel.size() - 1) % channel.size();
  must(channel.irecv(last, 77, room_of(never)).detach(), "detach of a receive in vain");
  must(channel.isend(next, 78, last_bytes).detach(), "detach of the last send");
  must(channel.recv(last, 78, room), "the last message");
  must(room == last_bytes, "the last message is another");
}

// ---- threads ----

void threads(Channel& channel) {
  Communicator world = Communicator::world(channel);
  must(world.status(), "world");
  Communicator turned = world.split(0, -world.rank());
  std::vector<std::thread> all;
  for (int thread = 0; thread < 3; ++thread)
    all.emplace_back([&, thread] {
      Communicator& part = thread == 0 ? world : turned;
      const int next = (part.rank() + 1) % part.size();
      const int last = (part.rank() + part.size() - 1) % part.size();
      for (int round = 0; round < 60; ++round) {
        const std::size_t length = kLengths[static_cast<std::size_t>(round) % 9];
        const Data mine = data_of(length, part.rank() + round),
                   right = data_of(length, last + round);
        const Apart message(mine, 1 + length / 5);
        Apart got(Data(length), 1 + length / 4);
        Request receive = part.irecv(last, thread, got.got);
        must(part.isend(next, thread, message.sent).wait(kLimit), "a thread's send");
        const Status status = receive.wait(kLimit);
        must(status, "a thread's receive");
        must(status.source() == last && got.joined() == right, "a thread got another message");
        // The buffer of a detached send stays until the answer to it.
        int number = round, answer = -1;
        must(part.isend(next, 10 + thread, bytes_of(number)).detach(), "a thread's detach");
        must(part.recv(kAnySource, 10 + thread, room_of(answer), kLimit), "a thread's answer");
        Request thanks = part.issend(last, 20 + thread, bytes_of(answer));
        int heard = -1;
        must(part.recv(next, 20 + thread, room_of(heard), kLimit), "a thread's last message");
        must(thanks.wait(kLimit), "a thread's thanks");
        must(heard == round, "a thread's number is another");
      }
    });
  std::vector<int> one{1}, sum{0};
  for (int round = 0; round < 30; ++round)
    must(world.run(Collective::allreduce(one, sum, scela::ReduceOp::sum)), "an operation");
  for (std::thread& thread : all)
    thread.join();
  must(world.barrier(), "the last barrier");
}

// ---- deaths ----

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

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "communicators";
  scela::ChannelOptions options;
  if (mode == "threads") options.threads = scela::Threads::multiple;
  Channel::Opened opened = Channel::open(options);
  must(opened.status, "open");
  Channel& channel = *opened.channel;
  own_rank = channel.rank();
  const int size = channel.size(), nodes = channel.nodes();
  must(size >= 4, "4 ranks are needed");
  if (mode == "communicators") communicators(channel);
  if (mode == "pieces") pieces(channel);
  if (mode == "detached") detached(channel);
  if (mode == "threads") threads(channel);
  if (mode == "death") death(channel);
  if (mode == "families") families(channel);
  opened.channel.reset();
  if (own_rank == 0)
    std::printf("messages %s: %d ranks on %d nodes\n", std::string(mode).c_str(), size, nodes);
  return 0;
}
