// Messages of several pieces.
#include "tests/interop/programs/channel/messages_check.h"

namespace messages {

namespace {

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

}  // namespace

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

}  // namespace messages
