// Ranks that know how much they send, and look whether the channel's counters say so.
#include <vector>

#include "common/core/text.h"
#include "tests/interop/programs/channel/channel_check.h"

using namespace scela;

namespace {

using Data = std::vector<std::byte>;

constexpr std::size_t kSmall = 100, kLarge = 200'000;
constexpr std::uint64_t kMessages = 6, kBytes = 5 * kSmall + kLarge;

// Five small messages and a large one to every rank, oneself too.
void exchange(Channel& channel) {
  std::vector<Data> got;
  const Data small(kSmall), large(kLarge);
  std::vector<Request> requests;
  got.reserve(static_cast<std::size_t>(channel.size()) * kMessages);
  for (int peer = 0; peer < channel.size(); ++peer)
    for (std::uint64_t i = 0; i < kMessages; ++i)
      requests.push_back(channel.irecv(peer, 1, got.emplace_back(i == 0 ? kLarge : kSmall)));
  for (int peer = 0; peer < channel.size(); ++peer)
    for (std::uint64_t i = 0; i < kMessages; ++i)
      requests.push_back(channel.isend(peer, 1, i == 0 ? large : small));
  must(wait_all(requests), "not all messages came");
  for (const Request& request : requests)
    must(request.status());
}

void equal(std::uint64_t found, std::uint64_t expected, const char* what) {
  must(found == expected, cat(what, ": ", found, ", not ", expected));
}

void check_messages(const Channel& channel) {
  const auto ranks = static_cast<std::uint64_t>(channel.size());
  const Counters all = channel.counters();
  equal(all.messages_sent, ranks * kMessages, "messages sent");
  equal(all.messages_received, ranks * kMessages, "messages received");
  equal(all.bytes_sent, ranks * kBytes, "bytes sent");
  equal(all.bytes_received, ranks * kBytes, "bytes received");
  for (int peer = 0; peer < channel.size(); ++peer) {
    const PeerCounters one = channel.counters(peer);
    equal(one.messages_sent, kMessages, "messages sent to a peer");
    equal(one.messages_received, kMessages, "messages received from a peer");
    equal(one.bytes_sent, kBytes, "bytes sent to a peer");
    equal(one.bytes_received, kBytes, "bytes received from a peer");
  }
  equal(channel.counters(channel.size()).bytes_sent, 0, "bytes sent to nobody");
  equal(channel.counters(-1).bytes_received, 0, "bytes received from nobody");
}

// Checks that there is a connection for each other node, however many ranks it has, and none on one
// node. A rank that leaves first closes what others have to it, so there may be fewer now than
// before.
void check_resources(const Channel& channel) {
  const Counters all = channel.counters();
  const auto others = static_cast<std::uint64_t>(channel.nodes() - 1);
  must(all.connections <= others && all.send_queue_pairs <= others, "more than there ever were");
  equal(all.max_connections, others, "connections at a time");
  must(all.max_queue_pairs >= all.send_queue_pairs + all.receive_queue_pairs,
       "queue pairs at a time");
  equal(all.rnr_events, 0, "messages that met no buffer");
  must((all.max_queue_pairs > others) == (others > 0), "queue pairs to receive by");
  must((all.receive_buffers > 0) == (others > 0), "receive buffers");
  must((all.registered_bytes > 0) == (others > 0), "registered bytes");
  must((all.shared_bytes > 0) == (channel.size() > channel.nodes()), "shared bytes");
}

}  // namespace

int main() {
  const Channel::Opened opened = Channel::open();
  if (!opened.channel) failed(opened.status.message());
  Channel& channel = *opened.channel;
  exchange(channel);
  check_messages(channel);
  check_resources(channel);
  if (channel.rank() == 0)
    std::printf("counters of %d ranks on %d nodes\n", channel.size(), channel.nodes());
  return 0;
}
