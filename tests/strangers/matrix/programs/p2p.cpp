// Messages between all pairs of ranks, drawn by a seed that all know: five contexts, receives of
// one rank or any, of one tag or any, probed or not, sends that wait for their receives, persistent
// ones, sizes at all thresholds. Each message's bytes say which it is. Each is received once, and
// none overtakes another.
//
//   p2p SEED ROUNDS MESSAGES MAX_BYTES mixed|flood [threads]
//
// MESSAGES: of a pair, on the average. flood: sends go first.
#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

using scela::Context;
using scela::Request;
using Random = std::mt19937_64;

// The way in which messages of a context are received. exact_first: some receives name rank and
// tag, later ones neither.
enum Kind : int { exact, any, any_tag, exact_first, probed, kinds };

struct Message {
  int source = 0, target = 0, kind = 0, tag = 0, number = 0;
  std::size_t bytes = 0;
};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e37'79b9'7f4a'7c15;
  x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ x >> 27) * 0x94d0'49bb'1331'11eb;
  return x ^ x >> 31;
}

std::byte byte_of(std::uint64_t key, std::size_t i) {
  return std::byte(mix(key + i / 8) >> (i % 8 * 8) & 255);
}
std::uint64_t key_of(const Message& message, std::uint64_t seed) {
  return mix(seed ^ mix(static_cast<std::uint64_t>(message.source * 1000 + message.target)) ^
             mix(static_cast<std::uint64_t>(message.number) * 7919 + 5) ^
             static_cast<std::uint64_t>(message.kind) << 40);
}
bool has(const Bytes& bytes, std::size_t size, std::uint64_t key) {
  for (std::size_t i = 0; i < size; ++i)
    if (bytes[i] != byte_of(key, i)) return false;
  return true;
}

std::size_t size_of(Random& random, std::size_t most) {
  constexpr std::size_t kEdges[] = {
      0,    1,    23,   24,    25,    2047,  2048,  2049,  4095,   4096,    4097,
      8191, 8192, 8193, 16383, 16384, 16385, 65536, 65537, 262144, 1 << 20, (1 << 20) + 1};
  for (;;) {
    const auto choice = random() % 100;
    const std::size_t size = choice < 50   ? random() % 64
                             : choice < 75 ? random() % 5000
                                           : kEdges[random() % std::size(kEdges)];
    if (size <= most) return size;
  }
}

std::vector<Message> drawn(int source, int target, std::uint64_t seed, unsigned long each,
                           std::size_t most) {
  Random random(mix(seed ^ mix(static_cast<std::uint64_t>(source * 777 + target))));
  std::vector<Message> all(random() % (2 * each + 1));
  int number = 0;
  for (Message& one : all) {
    one = {source,   target, static_cast<int>(random() % kinds), static_cast<int>(random() % 6),
           number++, 0};
    if (one.kind != exact && random() % 50 == 0) one.tag = scela::kMaxTag;
    one.bytes = size_of(random, most);
  }
  return all;
}

struct Receive {
  int source = kAnySource, tag = kAnyTag, kind = 0;
  Bytes bytes;
  Request request;
};
struct Send {
  Message message;
  Bytes bytes;
  Request request;
};

class Round {
 public:
  Round(Channel& channel, std::uint64_t seed, int number, unsigned long each, std::size_t most)
      : channel_(channel),
        seed_(mix(seed * 1000 + static_cast<std::uint64_t>(number))),
        first_(static_cast<Context>(number * kinds)),
        random_(mix(seed_ ^ static_cast<std::uint64_t>(channel.rank()))) {
    for (int peer = 0; peer < channel.size(); ++peer) {
      const auto out = drawn(channel.rank(), peer, seed_, each, most);
      to_send_.emplace_back(out.begin(), out.end());
      to_come_.push_back(drawn(peer, channel.rank(), seed_, each, most));
      seen_.emplace_back(to_come_.back().size());
    }
    plan();
  }

  void run(bool flood) {
    while (flood && send_next()) {
    }
    while (left_to_send_ > 0 || next_ < receives_.size() || to_probe_ > 0) {
      const auto choice = random_() % 8;
      if (choice < 3) send_next();
      if (choice >= 3 && choice < 6 && next_ < receives_.size()) post(receives_[next_++]);
      if (choice == 6 && to_probe_ > 0) probe();
      if (choice == 7) channel_.progress();
    }
    for (Receive& one : receives_) {
      const Status status = one.request.wait(kLimit);
      must(status, "a receive of context ", one.kind);
      took(one, status, one.bytes);
    }
    for (Send& one : sends_)
      must(one.request.wait(kLimit), "the send of message ", one.message.number, " to rank ",
           one.message.target);
    for (std::size_t peer = 0; peer < seen_.size(); ++peer)
      for (std::size_t i = 0; i < seen_[peer].size(); ++i)
        must(seen_[peer][i], "message ", i, " of rank ", peer, " is lost");
  }

 private:
  void plan() {
    std::vector<Receive> last;
    for (const auto& from : to_come_)
      for (const Message& one : from) {
        longest_[one.kind] = std::max(longest_[one.kind], one.bytes);
        to_probe_ += one.kind == probed ? 1 : 0;
      }
    for (const auto& from : to_come_)
      for (const Message& one : from) {
        Receive receive;
        receive.kind = one.kind;
        if (one.kind == probed) continue;
        const bool early = one.kind == exact_first && random_() % 2 == 0;
        if ((one.kind == exact && one.tag < 4) || one.kind == any_tag || early)
          receive.source = one.source;
        if (one.kind == exact || early) receive.tag = one.tag;
        (one.kind == exact_first && !early ? last : receives_).push_back(std::move(receive));
      }
    std::ranges::shuffle(receives_, random_);
    for (Receive& one : last)
      receives_.push_back(std::move(one));
    for (const auto& to : to_send_)
      left_to_send_ += to.size();
  }

  Context context(int kind) const { return first_ + static_cast<Context>(kind); }

  bool send_next() {
    if (left_to_send_ == 0) return false;
    std::size_t peer = random_() % to_send_.size();
    while (to_send_[peer].empty())
      peer = (peer + 1) % to_send_.size();
    --left_to_send_;
    Send& send = sends_.emplace_back();
    send.message = to_send_[peer].front();
    to_send_[peer].pop_front();
    const std::uint64_t key = key_of(send.message, seed_);
    for (std::size_t i = 0; i < send.message.bytes; ++i)
      send.bytes.push_back(byte_of(key, i));
    const Message& what = send.message;
    const auto way = random_() % 10;
    if (way < 2) {
      send.request = channel_.issend(what.target, what.tag, send.bytes, context(what.kind));
    } else if (way == 2) {
      send.request = channel_.send_init(what.target, what.tag, send.bytes, context(what.kind));
      must(send.request.start(), "a persistent send does not start");
    } else {
      send.request = channel_.isend(what.target, what.tag, send.bytes, context(what.kind));
    }
    return true;
  }

  void post(Receive& one) {
    one.bytes.resize(longest_[one.kind]);
    one.request = channel_.irecv(one.source, one.tag, one.bytes, context(one.kind));
  }

  void probe() {
    Receive one;
    one.kind = probed;
    Bytes bytes(longest_[probed]);
    Status seen, got;
    if (random_() % 2 == 0) {
      const auto status = channel_.iprobe(kAnySource, kAnyTag, context(probed));
      if (!status) return;
      seen = *status;
      got = channel_.recv(seen.source(), seen.tag(), bytes, context(probed), kLimit);
    } else {
      auto message = channel_.improbe(kAnySource, kAnyTag, context(probed));
      if (!message) return;
      seen = message->status();
      got = channel_.imrecv(std::move(*message), bytes).wait(kLimit);
    }
    must(got, "the receive of a message that was probed");
    must(got.bytes() == seen.bytes() && got.source() == seen.source() && got.tag() == seen.tag(),
         "another message than was probed");
    took(one, got, bytes);
    --to_probe_;
  }

  // Finds the message: the earliest that has not come, and has these bytes. Receives are looked at
  // in the order in which they were posted, so a later one of a pair takes a later message, unless
  // another tag kept the first from it.
  void took(const Receive& receive, const Status& status, const Bytes& bytes) {
    must(status.source() >= 0 && status.source() < channel_.size() &&
             (receive.source < 0 || status.source() == receive.source) &&
             (receive.tag < 0 || status.tag() == receive.tag),
         "a message of rank ", status.source(), " with tag ", status.tag(), " meets a receive of ",
         receive.source, " with tag ", receive.tag);
    const auto& from = to_come_[static_cast<std::size_t>(status.source())];
    auto& seen = seen_[static_cast<std::size_t>(status.source())];
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Message& one = from[i];
      if (seen[i] || one.kind != receive.kind || one.tag != status.tag() ||
          one.bytes != status.bytes() || !has(bytes, status.bytes(), key_of(one, seed_)))
        continue;
      seen[i] = true;
      int& last =
          last_[{status.source(), receive.kind, receive.tag == kAnyTag ? kAnyTag : one.tag}];
      must(last <= one.number, "message ", one.number, " of rank ", status.source(),
           " comes after message ", last);
      last = one.number;
      return;
    }
    failed(cat(status.bytes(), " bytes of rank ", status.source(), " with tag ", status.tag(),
               ", context ", receive.kind, ", are no message's"));
  }

  Channel& channel_;
  const std::uint64_t seed_;
  const Context first_;
  Random random_;
  std::vector<std::deque<Message>> to_send_;
  std::vector<std::vector<Message>> to_come_;
  std::vector<std::vector<bool>> seen_;
  std::size_t left_to_send_ = 0, next_ = 0, longest_[kinds] = {};
  int to_probe_ = 0;
  std::vector<Receive> receives_;
  std::deque<Send> sends_;
  std::map<std::tuple<int, int, int>, int>
      last_;  // by source, kind and tag of receives: the last one's number
};

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const auto seed = static_cast<std::uint64_t>(number(argc, argv, 1, 1));
  const int rounds = static_cast<int>(number(argc, argv, 2, 3));
  const auto each = static_cast<unsigned long>(number(argc, argv, 3, 50));
  const auto most = static_cast<std::size_t>(number(argc, argv, 4, 1 << 20));
  auto channel = opened(argument(argc, argv, 6, "") == "threads");
  for (int i = 0; i < rounds; ++i) {
    Round round(*channel, seed, i, each, most);
    round.run(argument(argc, argv, 5, "mixed") == "flood");
  }
  const auto counters = channel->counters();
  must(counters.rnr_events == 0, "a message met no buffer");
  must(counters.resent == 0, "a message was sent again");
  say(channel->rank(),
      cat(rounds, " rounds of seed ", seed, ": all messages have come once, in order"));
  return 0;
}
