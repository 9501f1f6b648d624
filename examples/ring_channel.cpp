// A number goes round all ranks, and each adds its own. Then every rank sends a large message to
// the next while it computes. Both use ScELA's channel: shared memory on a node, InfiniBand (or the
// software adapter) between nodes.
//
// Build it against an installed ScELA in one of two ways:
//
//   g++ -std=c++20 -o ring_channel ring_channel.cpp $(pkg-config --cflags --libs libscela)
//
//   find_package(Scela 0.2 REQUIRED)                        # CMakeLists.txt
//   add_executable(ring_channel ring_channel.cpp)
//   target_link_libraries(ring_channel PRIVATE Scela::scela)
//
// Run it with the launcher at hand:
//
//   scela-run -n 4 ./ring_channel
//   scela-run --sim-nodes 2 --ppn 2 ./ring_channel          # two nodes, simulated on this machine
//   mpiexec.hydra -n 4 ./ring_channel
//   mpirun -n 4 ./ring_channel
//
// The manual page scela_channel (man scela_channel) has every call.
#include <scela/channel.h>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

namespace {

using scela::Channel;
using scela::Request;
using scela::Status;

constexpr int kTokenTag = 1;
constexpr int kDataTag = 2;

// Prints the error of a status unless it is ok. It says what was tried, with which rank, what
// happened and what to do.
bool good(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "ring_channel: %s\n", status.message().c_str());
  return status.ok();
}

// The bytes of a message belong to the program; here they are those of one number.
bool go_round(Channel& ring, int& token) {
  const int next = (ring.rank() + 1) % ring.size();
  const int before = (ring.rank() + ring.size() - 1) % ring.size();
  const auto out = std::as_bytes(std::span(&token, 1));
  const auto in = std::as_writable_bytes(std::span(&token, 1));
  if (ring.rank() == 0 && !good(ring.send(next, kTokenTag, out))) return false;
  if (!good(ring.recv(before, kTokenTag, in))) return false;
  token += ring.rank();
  return ring.rank() == 0 || good(ring.send(next, kTokenTag, out));
}

// Both requests are under way while the sum is computed. A buffer belongs to the channel until its
// request is complete. Meanwhile the program may read a buffer that is being sent.
bool exchange(Channel& ring) {
  const int next = (ring.rank() + 1) % ring.size();
  const int before = (ring.rank() + ring.size() - 1) % ring.size();
  const std::vector<int> mine(1'000'000, ring.rank());
  std::vector<int> theirs(mine.size());
  Request requests[] = {ring.irecv(before, kDataTag, std::as_writable_bytes(std::span(theirs))),
                        ring.isend(next, kDataTag, std::as_bytes(std::span(mine)))};
  const auto sum = std::accumulate(mine.begin(), mine.end(), 0LL);
  scela::wait_all(requests);
  for (const Request& request : requests)
    if (!good(request.status())) return false;
  return sum == 1'000'000LL * ring.rank() && theirs == std::vector<int>(mine.size(), before);
}

}  // namespace

int main() {
  // Every process of the job opens its channel, which tells it its rank.
  const Channel::Opened opened = Channel::open();
  if (!opened.channel) {
    std::fprintf(stderr, "ring_channel: %s\n", opened.status.message().c_str());
    return 1;
  }
  Channel& ring = *opened.channel;
  int token = 0;
  if (!go_round(ring, token) || !exchange(ring)) return 1;
  if (ring.rank() == 0) {
    std::printf("%d went round %d ranks on %d nodes\n", token, ring.size(), ring.nodes());
  }
  // The channel ends with its object, after all sent messages have been delivered.
  return 0;
}
