// Wrong calls of the channel.
#include <algorithm>
#include <atomic>

#include <sys/mman.h>

#include "tests/strangers/matrix/programs/misuse.h"

namespace matrix {

void arguments(Here& here) {
  Channel& channel = *here.channel;
  const int own = here.rank();
  Bytes bytes(64);
  for (const int peer : {-3, -1, here.size(), 1 << 30})
    must_say(channel.send(peer, 0, bytes), Code::bad_rank, peer, cat("send to rank ", peer));
  for (const int peer : {-3, -2, here.size()})
    must_say(channel.recv(peer, 0, bytes, kWorld, kLimit), Code::bad_rank, peer,
             cat("receive from rank ", peer));
  for (const int tag : {-1, -2, -3})
    must_say(channel.send(own, tag, bytes), Code::bad_tag, own, cat("with tag ", tag));
  must_say(channel.recv(own, -3, bytes, kWorld, kLimit), Code::bad_tag, own, "with tag -3");
  must(channel.node_of(99) == -1 && !channel.has_exited(99), "there is a rank 99");
  must(channel.counters(99).bytes_sent == 0 && channel.counters(-1).bytes_sent == 0,
       "a rank that there is not has counters");
  const int next = (own + 1) % here.size();
  for (const std::size_t size : {1u, 100u, 10'000u, 1u << 20}) {
    const std::span<std::byte> null(static_cast<std::byte*>(nullptr), size);
    must_say(channel.isend(next, 1, null).wait(kLimit), Code::bad_buffer, next,
             "their address is null");
    must_say(channel.recv(kAnySource, 1, null, kWorld, kLimit), Code::bad_buffer, -1,
             "their address is null");
  }
  must(channel.send(own, 2, {}), "a message of no bytes at no address");
  must(channel.recv(own, 2, {}, kWorld, kLimit), "a message of no bytes at no address");
}

void requests_of_messages(Here& here) {
  Channel& channel = *here.channel;
  const int own = here.rank();
  Bytes bytes(64);
  Request plain = channel.irecv(own, 1, bytes);
  must(channel.send(own, 1, Bytes(4)), "to itself");
  for (int i = 0; i < 2; ++i)
    must(plain.wait(kLimit).bytes() == 4, "a request that is waited for twice has another result");
  must_say(plain.start(), Code::bad_request, -1, "not persistent");
  Request none;
  must(none.wait(kLimit), "the wait for nothing");
  must_say(none.start(), Code::bad_request, -1, "not persistent");
  must(!none.cancel(), "nothing was cancelled");
  Request persistent = channel.recv_init(own, 2, bytes);
  must(persistent.test(), "one that was not started is under way");
  must_say(persistent.wait(kLimit), Code::bad_request, -1, "was not started");
  must(persistent.start(), "it cannot be started");
  must_say(persistent.start(), Code::bad_request, -1, "under way");
  must(persistent.cancel(), "a receive that nothing matches cannot be cancelled");
  must_say(persistent.wait(kLimit), Code::cancelled, own, "it was cancelled");
}

// Sends messages that are longer than their receives' buffers.
void lengths(Here& here) {
  const int next = (here.rank() + 1) % here.size(),
            before = (here.rank() + here.size() - 1) % here.size();
  for (const std::size_t size : {10u, 5'000u, 20'000u, 1u << 20}) {
    const Bytes sent(size, std::byte{7});
    Bytes got(size / 2 + 8, std::byte{1});
    Request send = here.channel->isend(next, 3, sent);
    const Status status =
        here.channel->recv(before, 3, std::span(got).first(size / 2), kWorld, kLimit);
    must_say(status, Code::truncated, before, cat("it has ", size, " bytes"));
    must(status.bytes() == size, "another length is told");
    const auto is = [](std::byte value) {
      return [value](std::byte byte) { return byte == value; };
    };
    must(std::ranges::all_of(std::span(got).first(size / 2), is(std::byte{7})),
         "its first bytes are others");
    must(std::ranges::all_of(std::span(got).subspan(size / 2), is(std::byte{1})),
         "bytes behind the buffer were written");
    must(send.wait(kLimit), "the send of a message that is too long");
  }
}

// Sends memory that was given back before: an error on both sides.
void unmapped(Here& here, std::size_t bytes) {
  void* gone = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(gone != MAP_FAILED && ::munmap(gone, bytes) == 0, "no memory to give back");
  if (here.rank() == 0)
    must_say(here.channel->send(1, 1, std::span(static_cast<const std::byte*>(gone), bytes)),
             Code::bad_buffer, 1, "");
  Bytes got(bytes);
  if (here.rank() == 1)
    must(!here.channel->recv(0, 1, got, kWorld, kLimit).ok(), "what is not there has come");
}

// Uses Threads::multiple, with eight threads of each rank.
void threads(Here& here) {
  constexpr int kThreads = 8, kMessages = 2000;
  const int next = (here.rank() + 1) % here.size(),
            before = (here.rank() + here.size() - 1) % here.size();
  const auto work = [&](int thread) {
    for (int i = 0; i < kMessages; ++i) {
      int given = thread * 100'000 + i, got = -1;
      Request receive = here.channel->irecv(before, thread, bytes_of(got));
      Request send = here.channel->isend(next, thread, bytes_of(given));
      must(receive.wait(kLimit), "a receive");
      must(send.wait(kLimit), "a send");
      must(got == given, got, " has come instead of ", given);
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < kThreads; ++i)
    all.emplace_back(work, i);
  for (std::thread& thread : all)
    thread.join();
}

void twice(Here& /*here*/) {
  const auto second = Channel::open();
  must(second.channel == nullptr, "a process has two channels");
  must_say(second.status, Code::bad_argument, -1, "this process has one already");
}

}  // namespace matrix
