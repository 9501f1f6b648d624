// Processes that open their channels again and again, and how they end after that.
//
//   channel_reopened N exit        each opens and closes N channels and returns from main
//   channel_reopened N quick       the same, but ends by _exit(0), without any handler of exit
//   channel_reopened N killed      the last rank is killed while the channel is open the last time
//   channel_reopened N unfinished  the last rank ends by _exit(0) while it is open the last time
//
// Each opening sends a message between every two ranks, with contents of that opening. A rank
// fails if each opening after the tenth has left more heap than what the ranks have put.
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "tests/interop/programs/channel/channel_check.h"

using namespace scela;

namespace {

constexpr int kTag = 7, kWarm = 10;
// Bytes of heap that an opening may leave: libpmix keeps what ranks have put as long as the process
// is connected. It would lose 157 kB if the process finalized it each time.
constexpr std::size_t heap_of_opening(int ranks) {
  return 3072 + 1024 * static_cast<std::size_t>(ranks);
}

std::vector<std::byte> word(int from, int opening) {
  std::vector<std::byte> bytes(3000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(from * 31 + opening * 3));
  return bytes;
}

void exchange(Channel& channel, int opening) {
  const int rank = channel.rank(), size = channel.size();
  const std::vector<std::byte> own = word(rank, opening);
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank + size - step) % size;
    std::vector<std::byte> got(own.size());
    Request receive = channel.irecv(from, kTag, got);
    must(channel.send(to, kTag, own));
    must(receive.wait());
    must(got == word(from, opening), cat("wrong bytes of rank ", from, " in opening ", opening));
  }
}

// The survivors of the last opening: the last rank ends while they wait for it.
void see_the_end_of_the_last(Channel& channel, const std::string& end) {
  const int last = channel.size() - 1;
  if (channel.rank() == last && end == "killed") ::raise(SIGKILL);
  if (channel.rank() == last) ::_exit(0);
  std::vector<std::byte> byte(1);
  const Status status = channel.recv(last, kTag + 1, byte);
  must(status.code() == Code::peer_ended && status.rank() == last,
       cat("a receive from the rank that has ended: ", status.message()));
}

std::size_t heap() {
  return ::mallinfo2().uordblks;
}

}  // namespace

int main(int argc, char** argv) {
  const int openings = argc > 1 ? std::atoi(argv[1]) : 0;
  const std::string end = argc > 2 ? argv[2] : "";
  must(openings > kWarm + 1 &&
           (end == "exit" || end == "quick" || end == "killed" || end == "unfinished"),
       "usage: channel_reopened N exit|quick|killed|unfinished, N from 12");
  int rank = 0, size = 0;
  // If a rank dies in the last opening, libpmix keeps what it was told of it: the heap is that
  // before.
  const bool dies = end == "killed" || end == "unfinished";
  const int measured = dies ? openings - 1 : openings;
  std::size_t heap_when_warm = 0;
  std::size_t now = 0;
  for (int opening = 1; opening <= openings; ++opening) {
    Channel::Opened opened = Channel::open();
    if (!opened.channel) failed(cat("opening ", opening, ": ", opened.status.message()));
    rank = opened.channel->rank();
    size = opened.channel->size();
    exchange(*opened.channel, opening);
    if (opening == openings && dies) see_the_end_of_the_last(*opened.channel, end);
    opened.channel.reset();
    if (opening == kWarm) heap_when_warm = heap();
    if (opening == measured) now = heap();
  }
  const std::size_t grown = now > heap_when_warm ? now - heap_when_warm : 0;
  const std::size_t each = grown / static_cast<std::size_t>(measured - kWarm);
  must(each <= heap_of_opening(size), cat("each opening leaves ", each, " bytes of heap"));
  if (rank == 0) std::printf("reopened: %d times, %s, %d ranks\n", openings, end.c_str(), size);
  if (rank == 0) std::printf("reopened: each leaves %zu bytes of heap\n", each);
  std::fflush(stdout);
  if (end == "quick") ::_exit(0);
  return 0;
}
