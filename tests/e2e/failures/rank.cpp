// Ranks that go on while their adapter fails. All send each other messages of several sizes, and
// none ends before it has what it waits for, or an error. Both sides try again what fails for want
// of memory, and a rank for which that does not help ends.
//
//   failing_rank SECONDS   after which a wait is a hang
//
// A rank for which all went right ends with 0 and says "rank R: all is well". A rank that was told
// of errors says each of them once, as "rank R: error: ", and ends with 3. A rank that waits for
// too long, or has got other bytes than were sent, says so and ends with 4.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "comm-channel/include/scela/channel.h"

using namespace scela;

namespace {

using Data = std::vector<std::byte>;

// Small ones, one that is offered, and one that takes long enough to be offloaded.
constexpr std::size_t kSizes[] = {8, 3'000, 100'000, 1'000'003};
constexpr int kRounds = 3;

class Rank {
 public:
  Rank(Channel& channel, std::chrono::seconds limit) : channel_(channel), limit_(limit) {}

  // Returns false if the rank cannot go on.
  bool exchange(std::size_t size) {
    ++tag_;
    bool goes_on = true;
    const int ranks = channel_.size(), self = channel_.rank();
    std::vector<Data> sent, got(static_cast<std::size_t>(ranks), Data(size));
    std::vector<Request> receives, sends;
    for (int peer = 0; peer < ranks; ++peer) {
      receives.push_back(channel_.irecv(peer, tag_, got[static_cast<std::size_t>(peer)]));
      sent.push_back(data_of(self, peer, size));
    }
    for (int peer = 0; peer < ranks; ++peer)
      sends.push_back(channel_.isend(peer, tag_, sent[static_cast<std::size_t>(peer)]));
    for (int peer = 0; peer < ranks; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      for (int tries = 0; goes_on && end(sends[at], peer) == Code::resources; ++tries) {
        sends[at] = channel_.isend(peer, tag_, sent[at]);
        goes_on = tries < kTries;
      }
      Code came = end(receives[at], peer);
      for (int tries = 0; goes_on && came == Code::resources; ++tries) {
        receives[at] = channel_.irecv(peer, tag_, got[at]);
        came = end(receives[at], peer);
        goes_on = tries < kTries;
      }
      if (came == Code::ok && got[at] != data_of(peer, self, size)) {
        say("other bytes came than were sent", peer);
        std::_Exit(4);
      }
    }
    return goes_on;
  }

  int say_how() const {
    for (const std::string& error : errors_)
      std::printf("rank %d: error: %s\n", channel_.rank(), error.c_str());
    if (errors_.empty()) std::printf("rank %d: all is well\n", channel_.rank());
    std::fflush(stdout);
    return errors_.empty() ? 0 : 3;
  }

 private:
  static Data data_of(int from, int to, std::size_t size) {
    Data data(size);
    for (std::size_t i = 0; i < size; ++i)
      data[i] = static_cast<std::byte>(static_cast<std::size_t>(from * 17 + to * 5) + i * 3);
    return data;
  }

  void say(const char* what, int peer) const {
    std::printf("rank %d: %s, with rank %d\n", channel_.rank(), what, peer);
    std::fflush(stdout);
  }

  Code end(Request& request, int peer) {
    const Status status = request.wait(limit_);
    if (status.ok()) return Code::ok;
    if (status.code() == Code::timed_out) {
      say("it waits for too long", peer);
      std::_Exit(4);
    }
    errors_.insert(status.message());
    return status.code();
  }

  static constexpr int kTries = 3;

  Channel& channel_;
  int tag_ = 0;
  const std::chrono::seconds limit_;
  std::set<std::string> errors_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::chrono::seconds limit(argc > 1 ? std::atoi(argv[1]) : 60);
  const auto opened = Channel::open();
  if (!opened.channel) {
    const char* const rank = std::getenv("PMI_RANK");
    std::printf("rank %s: error: %s\n", rank != nullptr ? rank : "?",
                opened.status.message().c_str());
    return 3;
  }
  Rank rank(*opened.channel, limit);
  bool goes_on = true;
  for (int round = 0; round < kRounds; ++round)
    for (const std::size_t size : kSizes)
      goes_on = goes_on && rank.exchange(size);
  return rank.say_how();
}
