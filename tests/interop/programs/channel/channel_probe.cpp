// Ranks that send each other messages by the channel, under any launcher. Rank 0 prints one line if
// all is well.
//
//   channel_probe all         every rank to every rank, every size, every kind of call
//   channel_probe threads     three threads of each rank at once
//   channel_probe ring        a token goes round, a thousand times
//   channel_probe woken       a token goes round, and it wakes the ranks that sleep meanwhile
//   channel_probe limits      waits that end before anything comes
//   channel_probe order       many messages of every pair at once, each one's in their order
//   channel_probe broken      as order, and connections have broken meanwhile (SCELA_HCA_FAULTS)
//   channel_probe few         all with all by one connection (SCELA_CHANNEL_MAX_LINKS=1)
//   channel_probe links       all with all, and no connection more than that takes
//   channel_probe killed      rank 1 is killed while the others wait for it
//   channel_probe polled      as killed, but the others never wait: they ask again and again
//   channel_probe engine      the adapter's engine of the last node is killed
//   channel_probe node        the agent of the last node is killed
//   channel_probe arguments   arguments that cannot be
//   channel_probe described   the description of what carries messages
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"
#include "common/os/syscall.h"

using namespace scela;

namespace {

[[noreturn]] void failed(const std::string& why) {
  std::fprintf(stderr, "channel_probe: %s\n", why.c_str());
  std::_Exit(3);
}
void must(const Status& status) {
  if (!status.ok()) failed(status.message());
}
void must(bool holds, const char* what) {
  if (!holds) failed(what);
}

using Data = std::vector<std::byte>;
Data data_of(int from, int to, std::size_t size) {
  Data data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] =
        static_cast<std::byte>(static_cast<std::size_t>(from * 17 + to * 5) + i * 3 + i / 251);
  return data;
}

constexpr std::array<std::size_t, 8> kSizes{0, 1, 8, 100, 4096, 4097, 70'000, 1'000'003};

// No rank waits for another: all messages are begun, then all are waited for.
void every_pair(Channel& channel, std::size_t size) {
  const int ranks = channel.size(), self = channel.rank();
  std::vector<Data> sent, got(static_cast<std::size_t>(ranks), Data(size));
  std::vector<Request> requests;
  for (int peer = 0; peer < ranks; ++peer)
    requests.push_back(channel.irecv(peer, 3, got[static_cast<std::size_t>(peer)]));
  for (int peer = 0; peer < ranks; ++peer)
    sent.push_back(data_of(self, peer, size));
  for (int peer = 0; peer < ranks; ++peer)
    requests.push_back(channel.isend(peer, 3, sent[static_cast<std::size_t>(peer)]));
  must(wait_all(requests), "not all messages came");
  for (int peer = 0; peer < ranks; ++peer) {
    const Request& request = requests[static_cast<std::size_t>(peer)];
    must(request.status());
    must(request.status().source() == peer && request.status().bytes() == size,
         "a message of another rank or size");
    must(got[static_cast<std::size_t>(peer)] == data_of(peer, self, size),
         "other bytes than were sent");
  }
}

// A message is looked at, taken, and received with exactly its size.
void probed(Channel& channel) {
  const int next = (channel.rank() + 1) % channel.size();
  const int before = (channel.rank() + channel.size() - 1) % channel.size();
  const Data sent = data_of(channel.rank(), next, 5'000);
  Request send = channel.isend(next, 4, sent);
  const Status seen = channel.probe(kAnySource, 4);
  must(seen);
  must(seen.source() == before && seen.bytes() == 5'000, "probe saw another message");
  std::optional<ProbedMessage> message = channel.improbe(before, 4);
  must(message.has_value(), "what was probed is not there");
  must(!channel.iprobe(before, 4).has_value(), "a message that was taken is seen again");
  Data got(message->status().bytes());
  must(channel.imrecv(std::move(*message), got).wait());
  must(got == data_of(before, channel.rank(), 5'000), "other bytes than were sent");
  must(send.wait());
}

void persistent(Channel& channel) {
  const int next = (channel.rank() + 1) % channel.size();
  const int before = (channel.rank() + channel.size() - 1) % channel.size();
  int out = 0, in = -1;
  Request send = channel.send_init(next, 5, std::as_bytes(std::span(&out, 1)));
  Request receive = channel.recv_init(before, 5, std::as_writable_bytes(std::span(&in, 1)));
  for (int round = 0; round < 20; ++round) {
    out = round;
    must(receive.start().ok() && send.start().ok(), "a persistent request does not start");
    must(receive.wait());
    must(send.wait());
    must(in == round, "a persistent receive got another round's message");
  }
}

void any(Channel& channel) {
  const int ranks = channel.size();
  if (channel.rank() != 0) {
    must(channel.send(0, 6, std::as_bytes(std::span("x", 1))));
    return;
  }
  std::vector<char> bytes(static_cast<std::size_t>(ranks));
  std::vector<Request> requests;
  for (int peer = 1; peer < ranks; ++peer)
    requests.push_back(channel.irecv(
        peer, 6, std::as_writable_bytes(std::span(&bytes[static_cast<std::size_t>(peer)], 1))));
  for (int left = ranks - 1; left > 0; --left) {
    const std::size_t at = wait_any(requests);
    must(at < requests.size(), "no request is complete");
    must(requests[at].status());
    requests[at] = Request();
  }
  must(wait_any(requests) == requests.size(), "requests of nothing are complete");
}

void all(Channel& channel) {
  for (const std::size_t size : kSizes)
    every_pair(channel, size);
  probed(channel);
  persistent(channel);
  any(channel);
  every_pair(channel, 8);
}

void threads(Channel& channel) {
  const int next = (channel.rank() + 1) % channel.size();
  const int before = (channel.rank() + channel.size() - 1) % channel.size();
  std::vector<std::thread> workers;
  for (int tag = 0; tag < 3; ++tag)
    workers.emplace_back([&channel, next, before, tag] {
      const std::size_t size = tag == 2 ? 20'000 : 64;
      Data got(size);
      for (int round = 0; round < 300; ++round) {
        const Data sent = data_of(round, tag, size);
        Request send = channel.isend(next, tag, sent);
        must(channel.recv(before, tag, got));
        must(got == sent, "another thread's message, or another round's");
        must(send.wait());
      }
    });
  for (std::thread& worker : workers)
    worker.join();
}

void ring(Channel& channel) {
  const int next = (channel.rank() + 1) % channel.size();
  const int before = (channel.rank() + channel.size() - 1) % channel.size();
  for (int round = 0; round < 1'000; ++round) {
    int token = round;
    const auto bytes = std::as_writable_bytes(std::span(&token, 1));
    if (channel.rank() == 0) must(channel.send(next, 1, bytes));
    must(channel.recv(before, 1, bytes));
    must(token == round, "another round's token");
    if (channel.rank() != 0) must(channel.send(next, 1, bytes));
  }
}

// Several ranks share a node, and the first of each gets the token from another node. A rank that
// sleeps must wake because the token comes, and not because its longest sleep is over. That must
// happen so often that it is no chance, in as many rounds as that takes. On a busy machine the
// longest sleep may be over first.
struct Token {
  int wanting = 0;  // how many have not been woken often enough
  bool last = false;
};
void woken(Channel& channel) {
  constexpr int kMaxRounds = 200;
  constexpr std::uint64_t kOften = 30;
  const int next = (channel.rank() + 1) % channel.size();
  const int before = (channel.rank() + channel.size() - 1) % channel.size();
  const bool from_elsewhere = channel.node() != channel.node_of(before);
  Token token{1, false};
  const auto bytes = std::as_writable_bytes(std::span(&token, 1));
  for (int round = 0; !token.last; ++round) {
    must(round < kMaxRounds, "who sleeps is not woken by what comes from another node");
    if (channel.rank() == 0) {
      token = {0, token.wanting == 0};
      must(channel.send(next, 1, bytes));
    }
    must(channel.recv(before, 1, bytes));
    token.wanting += from_elsewhere && channel.counters().sleeps_woken < kOften ? 1 : 0;
    if (channel.rank() != 0) must(channel.send(next, 1, bytes));
  }
}

void limits(Channel& channel) {
  using namespace std::chrono_literals;
  Data got(8, std::byte{1});
  must(channel.recv(kAnySource, 1, got, kWorld, 20ms).code() == Code::timed_out,
       "a receive of nothing ends otherwise");
  must(channel.probe(kAnySource, 1, kWorld, 1ms).code() == Code::timed_out,
       "a probe for nothing ends otherwise");
  {
    Request receive = channel.irecv(kAnySource, 1, got);
    must(receive.wait(5ms).code() == Code::timed_out, "a wait for nothing ends otherwise");
    must(!receive.test(), "a wait that was over has ended its request");
    must(receive.cancel(), "a receive of nothing cannot be cancelled");
    must(receive.wait().code() == Code::cancelled, "a cancelled receive ends otherwise");
  }
  // No receive from above is left that could take these messages.
  every_pair(channel, 8);
}

// The k-th message of each pair begins with k.
void order(Channel& channel) {
  constexpr int kRounds = 4, kAtOnce = 40;
  constexpr std::array<std::size_t, 5> kLengths{8, 300, 4'000, 8, 30'000};
  const int ranks = channel.size(), self = channel.rank();
  std::uint32_t first = 0;
  for (int round = 0; round < kRounds; ++round, first += kAtOnce) {
    std::vector<Request> requests;
    std::vector<Data> got, sent;
    for (int peer = 0; peer < ranks; ++peer)
      for (int i = 0; i < kAtOnce; ++i) {
        got.emplace_back(kLengths[static_cast<std::size_t>(i) % kLengths.size()]);
        requests.push_back(channel.irecv(peer, 8, got.back()));
      }
    for (std::uint32_t i = 0; i < kAtOnce; ++i)
      for (int peer = 0; peer < ranks; ++peer) {
        sent.push_back(data_of(self, peer, kLengths[i % kLengths.size()]));
        const std::uint32_t number = first + i;
        std::memcpy(sent.back().data(), &number, sizeof number);
        requests.push_back(channel.isend(peer, 8, sent.back()));
      }
    must(wait_all(requests), "not all messages came");
    for (const Request& request : requests)
      must(request.status());
    for (int peer = 0; peer < ranks; ++peer)
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        const Data& one = got[static_cast<std::size_t>(peer) * kAtOnce + i];
        const std::uint32_t number = first + i;
        Data right = data_of(peer, self, one.size());
        std::memcpy(right.data(), &number, sizeof number);
        must(one == right, "a message is lost, doubled, or before its time");
      }
  }
}

void broken(Channel& channel) {
  order(channel);
  must(channel.counters().rnr_events > 0, "no connection has broken");
}

// Returns true if the adapter has no XRC: each two ranks have a connection, not each rank and node.
bool of_ranks(const Channel& channel) {
  return channel.describe().find("RC with a shared receive queue") != std::string::npos;
}

void few(Channel& channel) {
  // RC serves both ways: the rank that is asked accepts, and makes room then.
  const auto are_few = [&channel, most = of_ranks(channel) ? channel.size() - 1 : 1] {
    must(channel.counters().connections <= static_cast<std::uint64_t>(most),
         "there are more connections than there may be");
  };
  for (const std::size_t size : {8, 5'000, 100'000}) {
    every_pair(channel, size);
    are_few();
  }
  order(channel);
  are_few();
}

void links(Channel& channel) {
  every_pair(channel, 8);
  every_pair(channel, 100'000);
  const bool pairs = of_ranks(channel);
  int there = 0;
  for (int peer = 0; peer < channel.size(); ++peer)
    there += channel.node_of(peer) != channel.node();
  const int expected = pairs ? there : channel.nodes() - 1;
  const Counters counters = channel.counters();
  if (counters.max_connections != static_cast<std::uint64_t>(expected))
    failed(cat("there were ", counters.max_connections, " connections, and not ", expected));
  must(counters.rnr_events == 0, "a message met no buffer");
  must(!pairs || counters.receive_queue_pairs == 0, "RC has queue pairs that only receive");
}

// The rank that is to be killed first learns that all others have what was sent before.
void all_tell(Channel& channel, int whom) {
  Data word(1);
  for (int peer = 0; peer < channel.size() && channel.rank() == whom; ++peer)
    if (peer != whom) must(channel.recv(peer, 10, word));
  if (channel.rank() != whom) must(channel.send(whom, 10, word));
}

void must_name(const Status& status, int peer) {
  if (status.code() != Code::peer_ended || status.rank() != peer ||
      status.message() != cat("rank ", peer, " has ended"))
    failed(cat("waiting for a killed rank ends otherwise: ", status.message()));
}

void killed(Channel& channel) {
  every_pair(channel, 8);
  all_tell(channel, 1);
  if (channel.rank() == 1) ::kill(::getpid(), SIGKILL);
  Data got(8);
  const Data large(100'000);
  for (const Status& status :
       {channel.recv(1, 1, got), channel.send(1, 2, large), channel.probe(1, 3)})
    must_name(status, 1);
  must(channel.has_exited(1), "a killed rank has not ended");
}

// Each call that does not wait is used alone, by another rank: a rank that asks only in that way is
// told as well. No rank waits, so none finds out for the others.
void polled(Channel& channel) {
  every_pair(channel, 8);
  all_tell(channel, 1);
  if (channel.rank() == 1) ::kill(::getpid(), SIGKILL);
  using namespace std::chrono_literals;
  Data got(8);
  Status status;
  switch (channel.rank()) {
    case 0: {
      Request receive = channel.irecv(1, 1, got);
      while (!receive.test())
        std::this_thread::yield();
      status = receive.status();
      break;
    }
    case 2: {
      Request receive = channel.irecv(1, 1, got);
      do {
        status = receive.wait(0ns);
      } while (status.code() == Code::timed_out);
      break;
    }
    default: {
      std::optional<ProbedMessage> message;
      while (!(message = channel.improbe(1, 1)))
        std::this_thread::yield();
      must_name(message->status(), 1);
      must_name(channel.iprobe(1, 1).value_or(Status()), 1);
      status = channel.imrecv(std::move(*message), got).wait();
    }
  }
  must_name(status, 1);
}

// Returns a process of that name that the agent of this rank has started.
pid_t sibling(std::string_view name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string stat = scela::read_small_file((entry.path() / "stat").c_str());
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos || stat.find(cat("(", name, ")")) == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(stat.c_str() + end + 1, " %c %d", &state, &parent) == 2 &&
        parent == ::getppid())
      return std::atoi(entry.path().filename().c_str());
  }
  failed(cat("there is no ", name, " here"));
}

// The ranks of the last node, which is as large as the first, lose their links to the others, and
// the others lose theirs to them. Each rank that waits is told of it by name, and no other rank is
// told.
void lost_to_each_other(Channel& channel) {
  const int last = channel.nodes() - 1;
  Data got(8);
  const Data small(8), large(100'000);
  for (int peer = 0; peer < channel.size(); ++peer) {
    if (channel.node_of(peer) == channel.node()) continue;
    if (channel.node() != last && channel.node_of(peer) != last) continue;
    for (const Status& status :
         {channel.recv(peer, 1, got), channel.send(peer, 2, large), channel.probe(peer, 3)}) {
      if (status.ok() || status.rank() != peer || status.message().find(cat("rank ", peer)) != 0)
        failed(cat("waiting for who is lost ends otherwise: ", status.message()));
    }
    must(channel.has_exited(peer), "who is lost has not ended");
  }
}

void every_pair_of_node(Channel& channel) {
  for (int peer = 0; peer < channel.size(); ++peer) {
    if (channel.node_of(peer) != channel.node()) continue;
    const Data sent = data_of(channel.rank(), peer, 70'000);
    Data got(sent.size());
    Request send = channel.isend(peer, 9, sent);
    must(channel.recv(peer, 9, got));
    must(send.wait());
    must(got == data_of(peer, channel.rank(), sent.size()), "other bytes than were sent");
  }
}

void engine(Channel& channel) {
  every_pair(channel, 8);
  all_tell(channel, channel.size() - 1);
  if (channel.rank() == channel.size() - 1) ::kill(sibling("scela-hca"), SIGKILL);
  lost_to_each_other(channel);
  every_pair_of_node(channel);
}

void node(Channel& channel) {
  every_pair(channel, 8);
  all_tell(channel, channel.size() - 1);
  if (channel.rank() == channel.size() - 1) ::kill(::getppid(), SIGKILL);
  lost_to_each_other(channel);
  every_pair_of_node(channel);
}

void arguments(Channel& channel) {
  Data bytes(8);
  const int size = channel.size();
  const auto must_be = [](const Status& status, Code code, const char* word) {
    must(status.code() == code, "what cannot be is taken, or the error has another code");
    must(status.message().find(word) != std::string::npos, "the error does not say what is wrong");
  };
  must_be(channel.send(size, 1, bytes), Code::bad_rank, "rank");
  must_be(channel.send(-1, 1, bytes), Code::bad_rank, "rank");
  must_be(channel.send(0, -1, bytes), Code::bad_tag, "tag");
  must_be(channel.recv(size, 1, bytes), Code::bad_rank, "rank");
  must_be(channel.recv(-5, 1, bytes), Code::bad_rank, "rank");
  must_be(channel.recv(0, -5, bytes), Code::bad_tag, "tag");
  must_be(channel.probe(size, 1), Code::bad_rank, "rank");
  Request once = channel.isend(channel.rank(), 1, bytes);
  must(once.start().code() == Code::bad_request, "a request that is not persistent starts again");
  must(channel.recv(channel.rank(), 1, bytes));
}

void described(Channel& channel) {
  every_pair(channel, 8);
  if (channel.rank() == 0) std::printf("%s\n", channel.describe().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  ChannelOptions options;
  if (what == "threads") options.threads = Threads::multiple;
  const Channel::Opened opened = Channel::open(options);
  if (!opened.channel) failed(opened.status.message());
  Channel& channel = *opened.channel;
  constexpr std::pair<const char*, void (*)(Channel&)> kParts[] = {
      {"all", all},       {"threads", threads}, {"ring", ring},           {"woken", woken},
      {"limits", limits}, {"killed", killed},   {"arguments", arguments}, {"order", order},
      {"broken", broken}, {"few", few},         {"engine", engine},       {"node", node},
      {"links", links},   {"polled", polled},   {"described", described}};
  for (const auto& [name, part] : kParts)
    if (what == name) {
      part(channel);
      if (channel.rank() == 0)
        std::printf("channel: %s, %d ranks on %d nodes\n", name, channel.size(), channel.nodes());
      return 0;
    }
  failed(cat("'", what, "' is nothing it does"));
}
