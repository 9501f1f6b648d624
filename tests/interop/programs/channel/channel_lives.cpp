// Objects and processes that outlive others: ranks others that never wait, requests their channel,
// a child its parent's channel. Also messages that are longer than one request of an adapter.
//
//   channel_lives polled      the last rank is killed while the others look, and never wait
//   channel_lives solitude    all others are killed while rank 0 receives from any source
//   channel_lives requests    requests and a probed message are destroyed after their channel
//   channel_lives child       a child process ends as its parent would
//   channel_lives second      a process opens two channels
//   channel_lives wrong       questions about ranks that do not exist, and limits beyond all
//   channel_lives gone        rank 0 sends first when all others have ended well
//   channel_lives parted      as gone, but they had spoken before
//   channel_lives moved       the last two are killed while bytes move to and from them
//   channel_lives huge        1 GiB and a page
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "tests/interop/programs/channel/channel_check.h"

using namespace scela;

namespace {

using Data = std::vector<std::byte>;
using Opened = Channel::Opened;
constexpr int kReadyTag = 1, kTag = 3;
constexpr std::chrono::nanoseconds kNothing{0};

void meet(Channel& channel) {
  Data byte(1);
  for (int rank = 1; rank < channel.size(); ++rank) {
    if (channel.rank() == rank) must(channel.send(0, kReadyTag, byte));
    if (channel.rank() == 0) must(channel.recv(rank, kReadyTag, byte));
  }
  for (int rank = 1; rank < channel.size(); ++rank) {
    if (channel.rank() == 0) must(channel.send(rank, kReadyTag, byte));
    if (channel.rank() == rank) must(channel.recv(0, kReadyTag, byte));
  }
}

void must_have_ended(const Status& status, int peer) {
  must(status.rank() == peer && status.code() == Code::peer_ended,
       cat("looking for a killed rank ends otherwise: ", status.message()));
}

void polled(Opened& opened) {
  Channel& channel = *opened.channel;
  const int last = channel.size() - 1;
  meet(channel);
  if (channel.rank() == last) ::raise(SIGKILL);
  Data byte(1);
  std::optional<Status> seen;
  if (channel.rank() == 0) {
    Request request = channel.irecv(last, kTag, byte);
    while (!request.test()) {
    }
    must_have_ended(request.status(), last);
  } else if (channel.rank() == 1) {
    while (!(seen = channel.iprobe(last, kTag))) {
    }
    must_have_ended(*seen, last);
    std::optional<ProbedMessage> message = channel.improbe(last, kTag);
    must(message.has_value(), "a killed rank's message may yet come");
    must_have_ended(channel.imrecv(std::move(*message), byte).wait(), last);
  } else {
    Request request = channel.irecv(last, kTag, byte);
    Status status;
    while ((status = request.wait(kNothing)).code() == Code::timed_out) {
    }
    must_have_ended(status, last);
  }
}

void solitude(Opened& opened) {
  Channel& channel = *opened.channel;
  meet(channel);
  if (channel.rank() != 0) ::raise(SIGKILL);
  Data byte(1);
  const Status status = channel.recv(kAnySource, kTag, byte);
  must(status.code() == Code::peer_ended, "nobody is left, and a receive ends otherwise");
  must(channel.probe(kAnySource, kTag).code() == Code::peer_ended, "a probe ends otherwise");
  // A message of a rank to itself needs no other rank.
  Request own = channel.irecv(kAnySource, kTag, byte);
  must(channel.send(0, kTag, byte));
  must(own.wait());
}

// While a process lives it has a lock of the program's file, with all others.
int lock_of_life() {
  static const scela::Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  return file.get();
}

void send_to_the_gone(Channel& channel, bool strict) {
  must(::flock(lock_of_life(), LOCK_EX) == 0, "wait for the end of all others");
  Data small(8), large(1'000'000);
  std::vector<Request> sends;
  for (int rank = 1; rank < channel.size(); ++rank)
    sends.push_back(rank % 2 == 0 ? channel.issend(rank, kTag, small)
                                  : channel.isend(rank, kTag, large));
  for (int rank = 1; rank < channel.size(); ++rank) {
    const Status status = sends[static_cast<std::size_t>(rank) - 1].wait();
    must_have_ended(status, rank);
    must(!strict || status.code() == Code::peer_ended,
         cat("a rank that has ended well is not said to have: ", status.message()));
    must(channel.has_exited(rank), cat("rank ", rank, " has not ended"));
  }
}

void gone(Opened& opened) {
  if (opened.channel->rank() == 0) send_to_the_gone(*opened.channel, true);
}

void parted(Opened& opened) {
  meet(*opened.channel);
  if (opened.channel->rank() == 0) send_to_the_gone(*opened.channel, false);
}

// Large enough that a rank that sees the first byte sees it while the others are under way.
constexpr std::size_t kMoved = std::size_t{32} << 20;

// So many times a whole message may come before the rank sees its first byte.
constexpr int kTries = 20;

bool has_begun(const Data& bytes) {
  const volatile std::byte& first = bytes.front();
  return first != std::byte{0};
}

// Returns memory that the system takes some time to free, so that the memory is gone for a while
// before the process is.
Data much() {
  must(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, "memory in small pages");
  return Data(std::size_t{256} << 20, std::byte{1});
}

// The last rank receives, and is killed when the first bytes have come. The one before it sends,
// and is killed by the rank that has got the first bytes.
void moved(Opened& opened) {
  Channel& channel = *opened.channel;
  const int rank = channel.rank(), last = channel.size() - 1;
  const Data slow = rank >= last - 1 ? much() : Data();
  meet(channel);
  Data bytes(kMoved, std::byte{9});
  Status status;
  pid_t pid = ::getpid();
  if (rank == last - 1) must(channel.send(1, kTag, std::as_bytes(std::span(&pid, 1))));
  if (rank == 1) must(channel.recv(last - 1, kTag, std::as_writable_bytes(std::span(&pid, 1))));
  for (int i = 0; status.ok(); ++i) {
    if (rank == 0) status = channel.send(last, kTag, bytes);
    if (rank == last - 1) must(channel.send(1, kTag, bytes));
    if (rank != last && rank != 1) continue;
    bytes.front() = std::byte{0};
    Request request = channel.irecv(rank == last ? 0 : last - 1, kTag, bytes);
    while (!request.test())
      if (pid != 0 && (has_begun(bytes) || i >= kTries)) ::kill(std::exchange(pid, 0), SIGKILL);
    status = request.status();
  }
  must_have_ended(status, rank == 0 ? last : last - 1);
}

void requests(Opened& opened) {
  Channel& channel = *opened.channel;
  Data small(8), large(100'000), late(8), sent(100'000, std::byte{5});
  const int rank = channel.rank(), next = (rank + 1) % channel.size();
  std::vector<Request> left;
  left.push_back(channel.irecv(rank, kTag, small));
  left.push_back(channel.isend(rank, kTag, small));
  left.push_back(channel.irecv(kAnySource, kTag + 1, late));
  left.push_back(channel.recv_init(next, kTag, late));
  left.push_back(channel.irecv(kAnySource, kTag + 2, large));
  left.push_back(channel.isend(next, kTag + 2, sent));
  must(left[4].wait());
  must(channel.send(rank, kTag + 3, small));
  std::optional<ProbedMessage> probed = channel.improbe(rank, kTag + 3);
  must(probed.has_value(), "a message that is there is not");
  meet(channel);
  opened.channel.reset();
  must(left[0].wait());
  must(left[5].wait());
  must(large == sent, "other bytes than were sent");
  must(left[2].test() && left[2].status().code() == Code::closed,
       cat("a receive without its channel ends otherwise: ", left[2].status().message()));
  must(left[3].start().ok() && left[3].wait().code() == Code::closed, "a start without a channel");
}

void child(Opened& opened) {
  Channel& channel = *opened.channel;
  Data byte(1);
  {
    const Request open = channel.irecv(kAnySource, kTag, byte);
    const pid_t pid = ::fork();
    if (pid == 0) {
      opened.channel.reset();
      std::_Exit(0);
    }
    int status = 0;
    must(pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0, "a child that ends");
  }
  meet(channel);
}

void second(Opened& opened) {
  const Opened another = Channel::open();
  must(!another.channel && another.status.code() == Code::bad_argument &&
           another.status.message().find("has one already") != std::string::npos,
       cat("a second channel: ", another.status.message()));
  meet(*opened.channel);
}

void wrong(Opened& opened) {
  Channel& channel = *opened.channel;
  const int none = channel.size();
  must(!channel.has_exited(-1) && !channel.has_exited(none) && !channel.has_exited(1 << 30),
       "nobody has ended");
  must(channel.node_of(-1) == -1 && channel.node_of(none) == -1, "nobody has a node");
  Data byte(1);
  std::optional<ProbedMessage> message = channel.improbe(none, kTag);
  must(message && message->status().code() == Code::bad_rank, "a probe of nobody");
  must(channel.imrecv(std::move(*message), byte).wait().code() == Code::bad_rank,
       "a receive of no message");
  must(channel.imrecv(std::move(*message), byte).wait().code() == Code::bad_request,
       "a receive of what was received");
  Request own = channel.irecv(channel.rank(), kTag, byte);
  must(channel.send(channel.rank(), kTag, byte));
  must(own.wait(std::chrono::nanoseconds::max()));
  Request other = channel.irecv((channel.rank() + 1) % none, kTag, byte);
  meet(channel);  // so it is not there yet
  must(channel.send((channel.rank() + none - 1) % none, kTag, byte));
  must(wait_all({&other, 1}, std::chrono::nanoseconds::max()), "a limit beyond all clocks is over");
}

void huge(Opened& opened) {
  Channel& channel = *opened.channel;
  constexpr std::size_t kPage = 4096, kSize = (std::size_t{1} << 30) + kPage;
  void* const there =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(there != MAP_FAILED, "memory");
  const std::span<std::byte> bytes(static_cast<std::byte*>(there), kSize);
  if (channel.rank() == 0) {
    bytes[0] = bytes[kSize - kPage - 1] = bytes[kSize - kPage] = bytes[kSize - 1] = std::byte{9};
    must(channel.send(channel.size() - 1, kTag, bytes));
  } else if (channel.rank() == channel.size() - 1) {
    const Status status = channel.recv(0, kTag, bytes);
    must(status);
    must(status.bytes() == kSize, "another length than was sent");
    for (const std::size_t at : {std::size_t{0}, kSize - kPage - 1, kSize - kPage, kSize - 1})
      must(bytes[at] == std::byte{9}, cat("byte ", at, " did not come"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  must(::flock(lock_of_life(), LOCK_SH) == 0, "a lock");
  Opened opened = Channel::open();
  if (!opened.channel) failed(opened.status.message());
  const int rank = opened.channel->rank(), size = opened.channel->size();
  constexpr std::pair<const char*, void (*)(Opened&)> kParts[] = {
      {"polled", polled}, {"solitude", solitude}, {"requests", requests}, {"child", child},
      {"second", second}, {"wrong", wrong},       {"huge", huge},         {"gone", gone},
      {"parted", parted}, {"moved", moved}};
  const auto* const part =
      std::ranges::find_if(kParts, [&](const auto& one) { return what == one.first; });
  if (part == std::end(kParts)) failed(cat("'", what, "' is nothing it does"));
  part->second(opened);
  if (rank == 0) std::printf("lives: %s, %d ranks\n", part->first, size);
  return 0;
}
