// Programs that are stopped while their messages go or arrive (offload_probe).
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string>

#include "common/core/text.h"
#include "common/os/process/process_tree.h"
#include "tests/interop/programs/channel/offload_pair.h"
#include "tests/support/eventually.h"

namespace scela::probe {
namespace {

struct Stopped {
  pid_t process = 0;
  // its bytes; a word that it sets when it runs
  std::uint64_t buffer = 0, flag = 0;
};

bool is_stopped(pid_t process) {
  ProcessFacts facts;
  return facts_of(process, facts) && facts.state == 'T';
}
void await_stop(pid_t process) {
  must(scela::test::eventually([&] { return is_stopped(process); }), "the partner does not stop");
}
void must_be_stopped(pid_t process) {
  must(is_stopped(process), "the partner was not stopped all the time");
}

Data bytes_at(pid_t process, std::uint64_t address, std::size_t size) {
  Data data(size);
  const iovec here{data.data(), size};
  const iovec there{reinterpret_cast<void*>(address), size};
  must(::process_vm_readv(process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size),
       "the partner's memory cannot be read");
  return data;
}

constexpr int kMessages = 8;  // in a row

struct Begun {
  std::vector<Data> data;
  std::vector<Request> requests;
};
Begun begin(const Pair& pair, std::size_t size) {
  Begun begun;
  for (std::size_t i = 0; i < kMessages; ++i)
    begun.data.push_back(pair.sends ? data_of(i + 1, size) : Data(size));
  for (Data& data : begun.data)
    begun.requests.push_back(pair.sends ? pair.channel.isend(pair.partner, 2, data)
                                        : pair.channel.irecv(pair.partner, 2, data));
  return begun;
}
void end(const Pair& pair, std::size_t size, Begun& begun, const std::string& otherwise) {
  must(wait_all(begun.requests, kPatience), otherwise);
  for (std::size_t i = 0; i < kMessages; ++i) {
    must(begun.requests[i].status());
    must(pair.sends || begun.data[i] == data_of(i + 1, size), "other bytes than were sent");
  }
}

// One rank is stopped between the calls that begin its messages and the one that ends them, and
// calls nothing in between. `late`: the other rank has begun before.
void pauses_here(const Pair& pair, std::size_t size, bool late) {
  if (late) static_cast<void>(hear<int>(pair, 6));
  Begun begun = begin(pair, size);
  ::raise(SIGSTOP);
  end(pair, size, begun, "a message does not end");
  tell(pair, 7, 0);
}
void pauses_there(const Pair& pair, std::size_t size, bool late, pid_t other) {
  Begun begun;
  if (late) {
    begun = begin(pair, size);
    tell(pair, 6, 0);
  }
  await_stop(other);
  if (!late) begun = begin(pair, size);
  end(pair, size, begun,
      cat(pair.sends ? "sends" : "receives", " of ", size, " bytes, begun ",
          late ? "before" : "after", " the partner's, wait for it while it is stopped"));
  must_be_stopped(other);
  must(::kill(other, SIGCONT) == 0, "the partner cannot go on");
  static_cast<void>(hear<int>(pair, 7));
}

}  // namespace

// The sender's requests complete, and the bytes are in the receiver's memory, while it is stopped
// between two calls of the channel.
void receiver(const Pair& pair) {
  open_channel(pair, 2);
  if (pair.sends) {
    const auto other = hear<Stopped>(pair, 3);
    await_stop(other.process);
    std::vector<Data> sent;
    std::vector<Request> sends;
    for (int i = 0; i < kMessages; ++i)
      sent.push_back(data_of(static_cast<std::size_t>(i) + 1, kLarge));
    for (const Data& data : sent)
      sends.push_back(pair.channel.isend(pair.partner, 2, data));
    must(wait_all(sends, kPatience), "messages do not arrive while their receiver is stopped");
    for (const Request& send : sends)
      must(send.status());
    const Data got = bytes_at(other.process, other.buffer, kMessages * kLarge);
    must_be_stopped(other.process);
    for (std::size_t i = 0; i < kMessages; ++i)
      must(std::equal(sent[i].begin(), sent[i].end(),
                      got.begin() + static_cast<std::ptrdiff_t>(i * kLarge)),
           "the stopped receiver's buffer has other bytes");
    must(::kill(other.process, SIGCONT) == 0, "the partner cannot go on");
    return;
  }
  Data got(kMessages * kLarge);
  std::vector<Request> receives;
  for (std::size_t i = 0; i < kMessages; ++i)
    receives.push_back(
        pair.channel.irecv(pair.partner, 2, std::span(got).subspan(i * kLarge, kLarge)));
  tell(pair, 3, Stopped{::getpid(), reinterpret_cast<std::uint64_t>(got.data()), 0});
  ::raise(SIGSTOP);
  // The rank has not called the channel since, and all bytes are here.
  for (std::size_t i = 0; i < kMessages; ++i)
    for (std::size_t at = 0; at < kLarge; ++at)
      if (got[i * kLarge + at] != byte_of(i + 1, at)) failed("other bytes than were sent");
  must(wait_all(receives, kPatience), "a receive does not end");
}

// The receiver gets the messages of a program that was stopped right after it sent them.
void sender(const Pair& pair) {
  open_channel(pair, 2);
  if (pair.sends) {
    std::vector<Data> sent;
    for (int i = 0; i < kMessages; ++i)
      sent.push_back(data_of(static_cast<std::size_t>(i) + 1, kLarge));
    std::atomic<std::uint32_t> goes_on = 0;
    // This first message must not stay queued in this process.
    tell(pair, 3, Stopped{::getpid(), 0, reinterpret_cast<std::uint64_t>(&goes_on)});
    std::vector<Request> sends;
    for (const Data& data : sent)
      sends.push_back(pair.channel.isend(pair.partner, 2, data));
    ::raise(SIGSTOP);
    goes_on = 1;
    must(wait_all(sends, kPatience), "a send does not end");
    return;
  }
  const auto other = hear<Stopped>(pair, 3);
  await_stop(other.process);
  for (std::size_t i = 0; i < kMessages; ++i) {
    Data got(kLarge);
    must(pair.channel.recv(pair.partner, 2, got, kWorld, kPatience));
    must(got == data_of(i + 1, kLarge), "other bytes than were sent");
  }
  must_be_stopped(other.process);
  must(bytes_at(other.process, other.flag, 4) == Data(4), "the sender was not stopped");
  must(::kill(other.process, SIGCONT) == 0, "the partner cannot go on");
}

void pauses(const Pair& pair) {
  // So many messages of each length may go otherwise, until both sides have agreed on it.
  constexpr int kOthers = 24;
  tell(pair, 3, ::getpid());
  const auto other = hear<pid_t>(pair, 3);
  for (const std::size_t size : {12u << 10, 16u << 10, 64u << 10, 512u << 10, 16u << 10}) {
    Data data = data_of(0, size);
    for (int i = 0; i < kOthers; ++i)
      must(pair.sends ? pair.channel.send(pair.partner, 2, data)
                      : pair.channel.recv(pair.partner, 2, data, kWorld, kPatience));
    for (const bool sender_pauses : {false, true})
      for (const bool late : {false, true})
        if (sender_pauses == pair.sends)
          pauses_here(pair, size, late);
        else
          pauses_there(pair, size, late, other);
  }
}

}  // namespace scela::probe
