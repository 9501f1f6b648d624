// A number goes round all ranks, and each adds its own; then every rank sends a large message to
// the next while it computes. By ScELA's channel: shared memory on a node, InfiniBand (or the
// software adapter) between nodes.
//
// Built against an installed ScELA, in one of two ways:
//
//   g++ -std=c++20 -o ring_channel ring_channel.cpp $(pkg-config --cflags --libs libscela)
//
//   find_package(Scela 0.1 REQUIRED)                        # CMakeLists.txt
//   add_executable(ring_channel ring_channel.cpp)
//   target_link_libraries(ring_channel PRIVATE Scela::scela)
//
// and run by whichever launcher there is:
//
//   scela-run -n 4 ./ring_channel
//   scela-run --sim-nodes 2 --ppn 2 ./ring_channel          # two nodes, which this machine plays
//   mpiexec.hydra -n 4 ./ring_channel
//   mpirun -n 4 ./ring_channel
//
// man scela_channel has every call.
#include <scela/channel.h>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

namespace channel = scela::channel;

namespace {

constexpr int kTokenTag = 1;
constexpr int kDataTag = 2;

// An error says what was tried, with whom, what happened and what to do.
bool good(const channel::Status& status) {
  if (!status) std::fprintf(stderr, "ring_channel: %s\n", status.error.text().c_str());
  return static_cast<bool>(status);
}

// The message's bytes are the program's: here those of one number.
bool go_round(channel::Channel& ring, int& token) {
  const int next = (ring.rank() + 1) % ring.size();
  const int before = (ring.rank() + ring.size() - 1) % ring.size();
  const auto out = std::as_bytes(std::span(&token, 1));
  const auto in = std::as_writable_bytes(std::span(&token, 1));
  if (ring.rank() == 0 && !good(ring.send(next, kTokenTag, out))) return false;
  if (!good(ring.recv(before, kTokenTag, in))) return false;
  token += ring.rank();
  return ring.rank() == 0 || good(ring.send(next, kTokenTag, out));
}

// Both requests are under way while the sum is computed. A buffer is the channel's until its
// request is complete, and may be read meanwhile where it is sent from.
bool exchange(channel::Channel& ring) {
  const int next = (ring.rank() + 1) % ring.size();
  const int before = (ring.rank() + ring.size() - 1) % ring.size();
  const std::vector<int> mine(1'000'000, ring.rank());
  std::vector<int> theirs(mine.size());
  channel::Request requests[] = {
      ring.irecv(before, kDataTag, std::as_writable_bytes(std::span(theirs))),
      ring.isend(next, kDataTag, std::as_bytes(std::span(mine)))};
  const auto sum = std::accumulate(mine.begin(), mine.end(), 0LL);
  channel::wait_all(requests);
  for (const channel::Request& request : requests)
    if (!good(request.status())) return false;
  return sum == 1'000'000LL * ring.rank() && theirs == std::vector<int>(mine.size(), before);
}

}  // namespace

int main() {
  // Every process of the job opens its channel, which tells it who it is.
  const channel::Channel::Opened opened = channel::Channel::open();
  if (!opened.channel) {
    std::fprintf(stderr, "ring_channel: %s\n", opened.error.text().c_str());
    return 1;
  }
  channel::Channel& ring = *opened.channel;
  int token = 0;
  if (!go_round(ring, token) || !exchange(ring)) return 1;
  if (ring.rank() == 0) {
    std::printf("%d went round %d ranks on %d nodes\n", token, ring.size(), ring.nodes());
  }
  return 0;  // the channel ends with its object, after what was sent has been delivered
}
