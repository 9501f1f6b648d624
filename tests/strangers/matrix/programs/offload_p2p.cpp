// A large message, one side of which is stopped after it has begun.
//
//   offload_p2p goes|waits RANK BYTES WARM [write]
//
// RANK is the rank that is stopped; rank 0 sends. WARM: so many messages of the tag go before.
// goes: the other side ends meanwhile, with the right bytes in the receiver's memory. waits: it
// ends when the stopped rank goes on. write: the sender writes, when the receiver is ready.
#include <sys/uio.h>

#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

struct Where {
  pid_t process = 0;
  std::uint64_t buffer = 0;
};

Where other_of(Channel& channel, const Bytes& buffer) {
  Where own{::getpid(), reinterpret_cast<std::uint64_t>(buffer.data())}, other;
  const int partner = 1 - channel.rank();
  auto receive = channel.irecv(partner, 9, bytes_of(other));
  must(channel.send(partner, 9, bytes_of(own)), "where it is");
  must(receive.wait(kLimit), "where it is");
  return other;
}

void beside(Channel& channel, bool goes, Bytes& data, const Bytes& right, const Where& other) {
  const bool sends = channel.rank() == 0;
  await_stop(other.process);
  auto request = sends ? channel.isend(1, 5, data) : channel.irecv(0, 5, data);
  const Status status =
      request.wait(goes ? std::chrono::nanoseconds(kLimit) : std::chrono::nanoseconds(kShort));
  must(is_stopped(other.process), "the other has not stayed stopped");
  if (goes) must(status, "it is held up by a stopped partner");
  if (!goes) must_say(status, Code::timed_out, 1 - channel.rank(), "timed out");
  if (goes && sends) {
    Bytes seen(right.size());
    const iovec to{seen.data(), seen.size()};
    const iovec from{reinterpret_cast<void*>(other.buffer), seen.size()};
    must(::process_vm_readv(other.process, &to, 1, &from, 1, 0) ==
                 static_cast<ssize_t>(seen.size()) &&
             seen == right,
         "the stopped receiver's memory has other bytes");
    must(channel.nodes() == 1 || channel.counters().offloaded > 0, "no message was offloaded");
  }
  must(::kill(other.process, SIGCONT) == 0, "the other cannot go on");
  must(request.wait(kLimit), "after the other goes on");
  must(data == right, "other bytes have come");
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const bool goes = argument(argc, argv, 1, "goes") == "goes";
  const long victim = number(argc, argv, 2, 1), warm = number(argc, argv, 4, 24);
  const auto size = static_cast<std::size_t>(number(argc, argv, 3, 512 << 10));
  scela::ChannelOptions options;
  if (argument(argc, argv, 5, "") == "write") options.rendezvous = scela::Rendezvous::write;
  auto opened = Channel::open(options);
  if (!opened.channel) failed(opened.status.message());
  Channel& channel = *opened.channel;
  const bool sends = channel.rank() == 0;
  Bytes data(size), right(size);
  for (long i = 0; i < warm; ++i)
    must(sends ? channel.send(1, 5, data) : channel.recv(0, 5, data, kWorld, kLimit),
         "a message before");
  for (std::size_t i = 0; i < size; ++i)
    right[i] = std::byte((i * 7 + 3 + i / 256) & 255);
  if (sends) data = right;
  const Where other = other_of(channel, data);
  if (channel.rank() == victim) {
    auto request = sends ? channel.isend(1, 5, data) : channel.irecv(0, 5, data);
    ::raise(SIGSTOP);
    must(request.wait(kLimit), "the message of the stopped rank");
    must(data == right, "the message of the stopped rank has other bytes");
  } else {
    beside(channel, goes, data, right, other);
  }
  say(channel.rank(), cat("all bytes right, rank ", victim, " was stopped"));
  return 0;
}
