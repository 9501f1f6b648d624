// Ranks of several nodes that send each other messages of mixed sizes by both of an adapter's
// ports. Rank 0 prints one line if all is well.
//
//   ports_probe both          both ports carry as much
//   ports_probe one WHY       the first is used alone, and describe() says why
//   ports_probe broken        connections of the second port break again and again
//                             (tests/interop/programs/verbs/ports_verbs.c)
//   ports_probe deaf          the second port does not answer, and no rank waits for it
//
// The k-th message of a source and tag meets the k-th receive of it, whatever ports they came by.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/core/random.h"
#include "common/core/text.h"
#include "tests/interop/programs/channel/channel_check.h"

using namespace scela;

namespace {

using Data = std::vector<std::byte>;
constexpr int kTags = 3;

struct Planned {
  int tag = 0;
  std::size_t size = 0;
  std::uint64_t seed = 0;
};

Data data_of(const Planned& planned) {
  Data data(planned.size);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>(planned.seed * 29 + i * 3 + i / 4093);
  return data;
}

// Returns the messages of one rank to another in a round, which both ranks know. Some are small,
// most are large, of any size.
std::vector<Planned> plan_of(int from, int to, int round) {
  Random random(static_cast<std::uint64_t>(((from * 1000) + to) * 1000 + round));
  std::vector<Planned> plan;
  for (std::uint64_t i = 0; i < 24; ++i) {
    const std::size_t most = std::size_t{1} << (4 + random.below(17));
    plan.push_back(
        {static_cast<int>(random.below(kTags)), random.below(most) + 1, random.below(1 << 20)});
  }
  return plan;
}

// Receives of one tag are posted in their order, and tags in any order.
struct Receiving {
  int from = 0;
  std::array<std::vector<Planned>, kTags> plan;
  std::array<std::size_t, kTags> posted{};

  bool post_next(Channel& channel, Random& random, std::vector<Request>& requests,
                 std::vector<Data>& got, std::vector<Planned>& expected) {
    const std::uint64_t first = random.below(kTags);
    for (std::uint64_t i = 0; i < kTags; ++i) {
      const std::size_t tag = (first + i) % kTags;
      if (posted[tag] == plan[tag].size()) continue;
      const Planned& planned = plan[tag][posted[tag]++];
      expected.push_back(planned);
      got.emplace_back(planned.size + random.below(100));
      requests.push_back(channel.irecv(from, planned.tag, got.back()));
      return true;
    }
    return false;
  }
};

std::vector<int> partners_of(const Channel& channel) {
  std::vector<int> partners;
  for (int rank = 0; rank < channel.size(); ++rank)
    if (channel.node_of(rank) != channel.node()) partners.push_back(rank);
  return partners;
}

void run_round(Channel& channel, int round) {
  Random random(static_cast<std::uint64_t>(channel.rank() * 100 + round));
  std::vector<Receiving> receiving;
  std::vector<Data> sent, got;
  std::vector<Planned> sending, expected;
  std::vector<int> to;
  std::vector<Request> sends, receives;
  for (const int partner : partners_of(channel)) {
    Receiving& from = receiving.emplace_back();
    from.from = partner;
    for (const Planned& planned : plan_of(partner, channel.rank(), round))
      from.plan[static_cast<std::size_t>(planned.tag)].push_back(planned);
    for (const Planned& planned : plan_of(channel.rank(), partner, round)) {
      sending.push_back(planned);
      sent.push_back(data_of(planned));
      to.push_back(partner);
    }
  }
  got.reserve(sent.size());
  const auto post = [&] {
    for (Receiving& from : receiving)
      from.post_next(channel, random, receives, got, expected);
  };
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (random.chance(2, 3)) post();
    sends.push_back(random.chance(1, 10) ? channel.issend(to[i], sending[i].tag, sent[i])
                                         : channel.isend(to[i], sending[i].tag, sent[i]));
    if (random.chance(1, 3)) channel.progress();
  }
  while (receives.size() < sent.size())
    post();
  must(wait_all(receives) && wait_all(sends), "not all messages came");
  for (const Request& request : sends)
    must(request.status());
  for (std::size_t i = 0; i < receives.size(); ++i) {
    must(receives[i].status());
    must(receives[i].status().bytes() == expected[i].size, "a message of another size");
    got[i].resize(expected[i].size);
    must(got[i] == data_of(expected[i]), "other bytes than were sent, or another message's");
  }
}

void run_rounds(Channel& channel) {
  for (int round = 0; round < 12; ++round)
    run_round(channel, round);
}

void both(Channel& channel) {
  // The second port carries nothing to a peer before that peer has joined there. That takes several
  // rounds on a busy machine.
  for (int i = 0; i < 3; ++i)
    run_rounds(channel);
  const Counters before = channel.counters();
  run_rounds(channel);
  const Counters counters = channel.counters();
  must(counters.ports == 2, "the adapter's two ports are not used");
  const std::uint64_t first = counters.port_bytes[0] - before.port_bytes[0];
  const std::uint64_t second = counters.port_bytes[1] - before.port_bytes[1];
  const double mean = static_cast<double>(first + second) / 2;
  for (const std::uint64_t bytes : {first, second})
    must(static_cast<double>(bytes) >= 0.95 * mean && static_cast<double>(bytes) <= 1.05 * mean,
         cat("ports carry ", first, " and ", second, " bytes"));
  must(counters.port_bytes[2] == 0 && counters.port_bytes[3] == 0,
       "ports carry bytes that are not there");
  must(counters.max_connections <= 2 * static_cast<std::uint64_t>(channel.nodes() - 1),
       "there are more connections than one for each node and port");
}

void one(Channel& channel, const char* why) {
  run_rounds(channel);
  const Counters counters = channel.counters();
  must(counters.ports == 1 && counters.port_bytes[0] > 0 && counters.port_bytes[1] == 0,
       "a port is used that is not to be");
  must(counters.max_connections <= static_cast<std::uint64_t>(channel.nodes() - 1),
       "there are more connections than nodes");
  must(channel.describe().find(why) != std::string::npos,
       cat("'", channel.describe(), "' does not say: ", why));
}

void broken(Channel& channel) {
  run_rounds(channel);
  const Counters counters = channel.counters();
  must(counters.resent > 0, "no connection has broken");
  must(counters.port_bytes[1] > 0, "the second port is not used");
}

void deaf(Channel& channel) {
  run_rounds(channel);
  const Counters counters = channel.counters();
  must(counters.ports == 2, "the adapter's two ports are not used");
  must(counters.port_bytes[0] > 0 && counters.port_bytes[1] == 0,
       "a port carries what nobody takes");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "both";
  const Channel::Opened opened = Channel::open();
  if (!opened.channel) failed(opened.status.message());
  Channel& channel = *opened.channel;
  if (what == "both")
    both(channel);
  else if (what == "one")
    one(channel, argc > 2 ? argv[2] : "1 port");
  else if (what == "broken")
    broken(channel);
  else if (what == "deaf")
    deaf(channel);
  else
    failed(cat("'", what, "' is nothing it does"));
  if (channel.rank() == 0)
    std::printf("ports: %s, %d ranks on %d nodes\n", what.c_str(), channel.size(), channel.nodes());
  return 0;
}
