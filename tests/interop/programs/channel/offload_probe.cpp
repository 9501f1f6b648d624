// Ranks of two nodes that send each other large messages by offloaded channels. Rank 0 prints one
// line if all is well.
//
//   offload_probe receiver      messages arrive while their receiver is stopped
//   offload_probe sender        messages go while their sender is stopped
//   offload_probe pauses        both, for messages of several lengths, whichever side begins
//   offload_probe short         a byte goes into a large receive
//   offload_probe cancel        a receive that is armed is cancelled, and its message is another's
//   offload_probe discard       what is in a context that is given up frees its sender
//   offload_probe tags          ten thousand tags
//   offload_probe random N      N random messages and receives meet as two plain lists say
//   offload_probe ports N       as random, by two ports, and nothing goes by channels
//   offload_probe killed        a rank that waits for a killed rank is told
//   offload_probe off           nothing goes by offloaded channels
//
// Rank r of the first half and rank r of the second half are partners, on different nodes.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "common/core/random.h"
#include "common/core/text.h"
#include "tests/interop/programs/channel/offload_pair.h"

using namespace scela;
using namespace scela::probe;
using namespace std::chrono_literals;

namespace {

// ---- one channel ----

// Returns true if the message went by the channel. If not, the adapter's word of the armed receive
// came later than the program's, and the message went as any small one.
bool send_byte(const Pair& pair, std::chrono::milliseconds before_it_is_told) {
  if (pair.sends) {
    static_cast<void>(hear<int>(pair, 3));
    const std::uint64_t before = pair.channel.counters().offloaded;
    const std::byte byte{5};
    must(pair.channel.isend(pair.partner, 2, {&byte, 1}).wait(kPatience));
    const bool by_channel = pair.channel.counters().offloaded == before + 1;
    tell(pair, 4, by_channel);
    return by_channel;
  }
  Data got(kLarge, std::byte{1});
  Request receive = pair.channel.irecv(pair.partner, 2, got);
  must(receive.wait(before_it_is_told).code() == Code::timed_out, "nothing was sent, and came");
  tell(pair, 3, 0);
  must(receive.wait(kPatience));
  must(receive.status().bytes() == 1 && receive.status().tag() == 2 && got[0] == std::byte{5} &&
           got[1] == std::byte{1},
       "a byte came as something else");
  return hear<bool>(pair, 4);
}

// Tries until the adapter's word is the faster one, with more time for it each time.
void short_message(const Pair& pair) {
  constexpr std::chrono::milliseconds kLongest = 1s;
  std::chrono::milliseconds given = 2ms;
  const auto over = std::chrono::steady_clock::now() + *kPatience;
  open_channel(pair, 2);
  while (!send_byte(pair, given)) {
    must(std::chrono::steady_clock::now() < over,
         "no byte goes by the channel, though its buffer waits");
    given = std::min(2 * given, kLongest);
    open_channel(pair, 2);
  }
  // Without a receive the message is taken at once, as small messages are.
  const std::byte byte{6};
  std::byte got{};
  if (pair.sends) {
    must(pair.channel.isend(pair.partner, 2, {&byte, 1}).wait(kPatience));
    return tell(pair, 5, 0);
  }
  static_cast<void>(hear<int>(pair, 5));
  must(pair.channel.recv(pair.partner, 2, {&got, 1}, kWorld, kPatience));
  must(got == byte, "a message that came early is not there");
}

void cancel(const Pair& pair) {
  open_channel(pair, 2);
  const Data sent = data_of(1, kLarge);
  if (pair.sends) {
    static_cast<void>(hear<int>(pair, 3));
    must(pair.channel.isend(pair.partner, 2, sent).wait(kPatience));
    return;
  }
  Data first(kLarge), second(kLarge);
  Request armed = pair.channel.irecv(pair.partner, 2, first);
  must(!armed.cancel(), "a receive that is armed is cancelled without its sender");
  must(armed.wait(kPatience).code() == Code::cancelled, "a cancelled receive ends otherwise");
  must(pair.channel.recv(pair.partner, 2, second, kWorld, 1ms).code() == Code::timed_out,
       "a receive of nothing ends otherwise");
  tell(pair, 3, 0);
  must(pair.channel.recv(pair.partner, 2, second, kWorld, kPatience));
  must(second == sent && first == Data(kLarge), "the message went to the cancelled receive");
}

// Messages that have come beside a channel and messages in it are thrown away alike. If messages
// are kept again, they go by a channel as before.
void discard(const Pair& pair) {
  constexpr Context kGivenUp = 7;
  constexpr int kAfterwards = 8;
  const Data sent = data_of(1, kLarge);
  open_channel(pair, 2, kLarge, kGivenUp);
  if (pair.sends) {
    Request beside = pair.channel.isend(pair.partner, 3, sent, kGivenUp);
    Request inside = pair.channel.isend(pair.partner, 2, sent, kGivenUp);
    tell(pair, 3, 0);
    must(beside.wait(kPatience));
    must(inside.wait(kPatience));
    for (int i = 0; i < kAfterwards; ++i)
      must(pair.channel.isend(pair.partner, 2, sent, kGivenUp).wait(kPatience));
    tell(pair, 4, 0);
    static_cast<void>(hear<int>(pair, 5));
  } else {
    static_cast<void>(hear<int>(pair, 3));
    pair.channel.close_contexts(kGivenUp);
    static_cast<void>(hear<int>(pair, 4));
    must(!pair.channel.iprobe(pair.partner, 3, kGivenUp), "a message that was given up is there");
    pair.channel.open_contexts(kGivenUp);
    tell(pair, 5, 0);
  }
  open_channel(pair, 2, kLarge, kGivenUp);
}

void killed(const Pair& pair) {
  open_channel(pair, 2);
  open_channel({pair.channel, pair.partner, !pair.sends}, 5);
  if (pair.channel.rank() != 0) {
    static_cast<void>(hear<int>(pair, 3));
    ::kill(::getpid(), SIGKILL);
  }
  Data got(kLarge);
  const Data sent = data_of(1, kLarge);
  Request receive = pair.channel.irecv(pair.partner, 5, got);
  Request send = pair.channel.isend(pair.partner, 2, sent);
  tell(pair, 3, 0);
  for (Request* const request : {&receive, &send}) {
    const Status status = request->wait(kPatience);
    must(status.rank() == pair.partner, cat("another error: ", status.message()));
    must(status.code() == Code::peer_ended, cat("another error: ", status.message()));
  }
  must(pair.channel.counters().offload_queue_pairs == 0, "queue pairs to a dead rank are left");
}

// ---- many ----

void tags(const Pair& pair) {
  constexpr int kTags = 10'000, kAtOnce = 50;
  constexpr std::size_t kSize = 16 * 1024;
  std::vector<Data> data(kAtOnce);
  for (int first = 0; first < kTags; first += kAtOnce) {
    for (int turn = first < 1000 ? 0 : 1; turn < 2; ++turn) {
      std::vector<Request> requests;
      for (int i = 0; i < kAtOnce; ++i) {
        Data& mine = data[static_cast<std::size_t>(i)];
        mine = pair.sends ? data_of(static_cast<std::size_t>(first + i), kSize) : Data(kSize);
        requests.push_back(pair.sends ? pair.channel.isend(pair.partner, first + i, mine)
                                      : pair.channel.irecv(pair.partner, first + i, mine));
      }
      must(wait_all(requests, kPatience), "not all messages came");
      for (int i = 0; i < kAtOnce; ++i) {
        must(requests[static_cast<std::size_t>(i)].status());
        must(data[static_cast<std::size_t>(i)] ==
                 data_of(static_cast<std::size_t>(first + i), kSize),
             "other bytes than were sent");
      }
    }
  }
  // After all earlier tags, the next tag that comes often still gets a channel.
  open_channel(pair, kTags);
  const Counters counters = pair.channel.counters();
  must(counters.max_offload_queue_pairs <= 16 + 4 + 1,
       cat(counters.max_offload_queue_pairs, " queue pairs for offloaded channels"));
}

constexpr std::size_t kLongest = 20'000;

struct Planned {
  int tag = 0;
  std::size_t size = 0;  // for a receive: of its buffer
  bool any_source = false, any_tag = false;
  int partner = -1;  // in the other list
};

// One round: the messages, the receives, and which of them meet. There is one sender, so it does
// not matter which side is first.
struct Plan {
  std::vector<Planned> messages, receives;

  Plan(std::uint64_t seed, bool any_tag, bool first_by_channel) {
    Random random(seed);
    constexpr int kRound = 100;
    for (int i = 0; i < kRound; ++i) {
      const auto tag = static_cast<int>(random.below(3));
      const bool small = random.chance(1, 5);
      messages.push_back(
          {tag, small ? random.below(100) : kLongest - 100 * random.below(4), false, false, -1});
    }
    if (first_by_channel) messages.front().size = kLongest;
    for (int i = 0; i < kRound; ++i) {
      Planned receive = messages[static_cast<std::size_t>(i)];
      if (random.chance(1, 10)) receive.tag = static_cast<int>(random.below(3));
      receive.size = random.chance(1, 40) ? 50 : kLongest;
      receive.any_source = random.chance(1, 60);
      receive.any_tag = any_tag && i > kRound / 2 && random.chance(1, 10);
      receives.push_back(receive);
    }
    for (std::size_t r = 0; r < receives.size(); ++r)
      for (std::size_t m = 0; m < messages.size(); ++m)
        if (messages[m].partner < 0 &&
            (receives[r].any_tag || receives[r].tag == messages[m].tag)) {
          messages[m].partner = static_cast<int>(r);
          receives[r].partner = static_cast<int>(m);
          break;
        }
  }
};

void check_receive(const Planned& receive, const Plan& plan, const Status& status, const Data& got,
                   std::size_t round) {
  const Planned& message = plan.messages[static_cast<std::size_t>(receive.partner)];
  const bool truncated = message.size > receive.size;
  if (!truncated) must(status);
  must(!truncated || status.code() == Code::truncated, "a truncated message is not told");
  must(status.tag() == message.tag && status.bytes() == message.size, "another message came");
  const std::size_t number = round * 1000 + static_cast<std::size_t>(receive.partner);
  for (std::size_t i = 0; i < std::min(message.size, receive.size); ++i)
    if (got[i] != byte_of(number, i)) failed("another message's bytes came");
}

// Lets a round's first message go by a channel, whichever side is faster: a channel is open before,
// and the receiver asks for nothing until the message has gone.
void open_for_round(const Pair& pair, const Plan& plan, Context context) {
  open_channel(pair, plan.messages.front().tag, kLongest, context);
  if (!pair.sends) static_cast<void>(hear<int>(pair, 6));
}
void has_gone_by_channel(const Pair& pair, std::uint64_t before) {
  must(pair.channel.counters().offloaded == before + 1,
       "the first message does not go by the channel that is there");
  tell(pair, 6, 0);
}

void send_round(const Pair& pair, const Plan& plan, std::size_t round, Random& random,
                bool first_by_channel) {
  const auto context = static_cast<Context>(round + 10);
  std::vector<Data> data;
  std::vector<Request> requests;
  for (std::size_t i = 0; i < plan.messages.size(); ++i)
    data.push_back(data_of(round * 1000 + i, plan.messages[i].size));
  const std::uint64_t before = pair.channel.counters().offloaded;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const int tag = plan.messages[i].tag;
    const bool is_to_go = first_by_channel && i == 0;
    const bool synchronous = random.chance(1, 30) && !is_to_go;
    requests.push_back(synchronous ? pair.channel.issend(pair.partner, tag, data[i], context)
                                   : pair.channel.isend(pair.partner, tag, data[i], context));
    if (is_to_go) has_gone_by_channel(pair, before);
    for (std::uint64_t polls = random.below(20); polls > 0; --polls)
      pair.channel.progress();
  }
  must(wait_all(requests, kPatience), "not all messages went");
  for (const Request& request : requests)
    must(request.status());
}

void receive_round(const Pair& pair, const Plan& plan, std::size_t round, Random& random) {
  const auto context = static_cast<Context>(round + 10);
  std::vector<Data> data;
  std::vector<Request> requests;
  for (const Planned& receive : plan.receives)
    data.emplace_back(receive.size);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Planned& receive = plan.receives[i];
    requests.push_back(pair.channel.irecv(receive.any_source ? kAnySource : pair.partner,
                                          receive.any_tag ? kAnyTag : receive.tag, data[i],
                                          context));
    if (random.chance(1, 50))
      static_cast<void>(
          pair.channel.iprobe(pair.partner, static_cast<int>(random.below(3)), context));
    if (random.chance(1, 8)) {
      const std::size_t one = random.below(requests.size());
      if (plan.receives[one].partner >= 0)
        must(requests[one].wait(kPatience).code() != Code::timed_out, "a message does not come");
    }
    for (std::uint64_t polls = random.below(15); polls > 0; --polls)
      pair.channel.progress();
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (plan.receives[i].partner < 0) continue;
    must(requests[i].wait(kPatience).code() != Code::timed_out,
         cat("round ", round, ": receive ", i, " gets nothing"));
    check_receive(plan.receives[i], plan, requests[i].status(), data[i], round);
  }
  // Receives without a planned message are cancelled, and messages without a planned receive are
  // received.
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (plan.receives[i].partner >= 0) continue;
    requests[i].cancel();
    must(requests[i].wait(kPatience).code() == Code::cancelled,
         cat("round ", round, ": receive ", i, " gets a message that is another's"));
  }
  for (std::size_t i = 0; i < plan.messages.size(); ++i) {
    if (plan.messages[i].partner >= 0) continue;
    Data got(plan.messages[i].size);
    const Status status =
        pair.channel.recv(pair.partner, plan.messages[i].tag, got, context, kPatience);
    must(status);
    must(got == data_of(round * 1000 + i, got.size()), "a message that is left is another");
  }
}

std::size_t operations = 2'000;

// In some rounds at least one message goes by a channel. In the others that depends on which side
// is faster, as with programs.
void random_operations(const Pair& pair, bool by_channels) {
  Random random(static_cast<std::uint64_t>(pair.channel.rank()) + 77);
  for (std::size_t round = 0; round * 100 < operations; ++round) {
    const bool first_by_channel = by_channels && round % 3 == 0;
    const Plan plan(round * 2 + 1, round % 4 == 3, first_by_channel);
    if (first_by_channel) open_for_round(pair, plan, static_cast<Context>(round + 10));
    if (pair.sends)
      send_round(pair, plan, round, random, first_by_channel);
    else
      receive_round(pair, plan, round, random);
  }
}

void random_by_channels(const Pair& pair) {
  random_operations(pair, true);
}

void random_by_ports(const Pair& pair) {
  random_operations(pair, false);
  const Counters counters = pair.channel.counters();
  must(counters.offloaded == 0, "messages go by offloaded channels");
  must(counters.ports == 2, "the adapter's two ports are not used");
}

void off(const Pair& pair) {
  Data data = data_of(1, kLarge);
  for (int i = 0; i < 20; ++i)
    must(pair.sends ? pair.channel.send(pair.partner, 2, data)
                    : pair.channel.recv(pair.partner, 2, data, kWorld, kPatience));
  must(pair.channel.counters().offloaded == 0 &&
           pair.channel.counters().max_offload_queue_pairs == 0,
       "messages go by offloaded channels");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (argc > 2) operations = std::strtoul(argv[2], nullptr, 10);
  const Channel::Opened opened = Channel::open();
  if (!opened.channel) failed(opened.status.message());
  Channel& channel = *opened.channel;
  const int half = channel.size() / 2;
  must(half > 0 && channel.size() % 2 == 0 && channel.nodes() == 2, "it needs two nodes");
  const bool first = channel.rank() < half;
  const Pair pair{channel, first ? channel.rank() + half : channel.rank() - half, first};
  constexpr std::pair<const char*, void (*)(const Pair&)> kParts[] = {
      {"receiver", receiver},     {"sender", sender},  {"pauses", pauses},
      {"short", short_message},   {"cancel", cancel},  {"tags", tags},
      {"killed", killed},         {"off", off},        {"random", random_by_channels},
      {"ports", random_by_ports}, {"discard", discard}};
  for (const auto& [name, part] : kParts)
    if (what == name) {
      part(pair);
      if (channel.rank() == 0) std::printf("offload: %s, %d ranks\n", name, channel.size());
      return 0;
    }
  failed(cat("'", what, "' is nothing it does"));
}
