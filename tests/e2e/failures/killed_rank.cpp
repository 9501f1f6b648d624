// Ranks one of which ends while they connect: the others go on with each other, and name that one.
//
//   killed_rank VICTIM SECONDS turns|at_once
//
// With "turns" each two ranks first exchange a word, one pair after the other. So rank 2 is the
// first of its node that rank 0 connects to, and rank 3 joins. Then all ranks exchange messages of
// several sizes at once, and a last word. By that word a rank knows if the victim lives. Then all
// ranks that live exchange messages of all sizes again.
//
// A wait of more than SECONDS is a hang. A rank writes these lines behind "rank R: ":
//
//   waits in exchange N for rank P   again and again as long as it does; for the victim only
//                                    when it waits for no other rank
//   all have come to the end         after the last word, if no error has named the victim
//   rank V has ended: ...            the first error that names the victim
//   error: ...                       each other error
//   all is well                      at the end, if there was no such error
//   comes to the end                 the victim, before others can know
//
// A rank exits with 0 if all is well, and else with 3. It exits with 4 if it waits for too long or
// has got other bytes than were sent.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm-channel/include/scela/channel.h"

using namespace scela;

namespace {

using Data = std::vector<std::byte>;

// Small ones, one that is offered, and one that takes long enough to be offloaded.
constexpr std::size_t kSizes[] = {8, 3'000, 100'000, 1'000'003};

class Rank {
 public:
  Rank(Channel& channel, int victim, std::chrono::seconds limit)
      : channel_(channel),
        self_(channel.rank()),
        victim_(victim),
        limit_(limit),
        lives_(static_cast<std::size_t>(channel.size()), true) {}

  void take_turns() {
    for (int first = 0; first < channel_.size(); ++first)
      for (int second = first + 1; second < channel_.size(); ++second) {
        ++tag_;
        if (self_ == first && send_to(second)) receive_from(second);
        if (self_ == second && receive_from(first)) send_to(first);
      }
  }

  void exchange_all_sizes() {
    for (const std::size_t size : kSizes)
      exchange(size);
  }

  // A rank that sends no last word has ended.
  void last_word() {
    if (self_ == victim_) say("comes to the end");
    exchange(1);
    if (victim_named_) {
      lives_[static_cast<std::size_t>(victim_)] = false;
      if (!channel_.has_exited(victim_)) errors_.insert("the channel does not know who has ended");
    } else {
      say("all have come to the end");
    }
  }

  int say_how() const {
    for (const std::string& error : errors_)
      say("error: " + error);
    if (errors_.empty()) say("all is well");
    return errors_.empty() ? 0 : 3;
  }

 private:
  struct Exchange {
    int peer = -1;
    Data sent, got;
    Request send, receive;
  };

  static Data data_of(int from, int to, int tag, std::size_t size) {
    Data data(size);
    for (std::size_t i = 0; i < size; ++i)
      data[i] = static_cast<std::byte>(static_cast<std::size_t>(from * 17 + to * 5 + tag) + i * 3);
    return data;
  }

  void say(const std::string& what) const {
    std::printf("rank %d: %s\n", self_, what.c_str());
    std::fflush(stdout);
  }

  void exchange(std::size_t size) {
    ++tag_;
    std::vector<Exchange> all;
    for (int peer = 0; peer < channel_.size(); ++peer)
      if (lives_[static_cast<std::size_t>(peer)])
        all.push_back({peer, data_of(self_, peer, tag_, size), Data(size), {}, {}});
    for (Exchange& one : all)
      one.receive = channel_.irecv(one.peer, tag_, one.got);
    for (Exchange& one : all)
      one.send = channel_.isend(one.peer, tag_, one.sent);
    for (Exchange& one : all)
      if (one.peer != victim_) complete(one);
    for (Exchange& one : all)
      if (one.peer == victim_) complete(one);
  }

  void complete(Exchange& one) {
    is_good(wait(one.send, one.peer), one.peer);
    if (is_good(wait(one.receive, one.peer), one.peer)) check(one.got, one.peer);
  }

  // Waits, and reports again and again that it does: the test lets a stopped victim go on only when
  // it knows that the others wait.
  Status wait(Request& request, int peer) const {
    constexpr auto kLook = std::chrono::milliseconds(100);
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      Status status = request.wait(kLook);
      if (status.code() != Code::timed_out || std::chrono::steady_clock::now() - begin > limit_)
        return status;
      say("waits in exchange " + std::to_string(tag_) + " for rank " + std::to_string(peer));
    }
  }

  bool send_to(int peer) {
    const Data word = data_of(self_, peer, tag_, 8);
    return is_good(channel_.isend(peer, tag_, word).wait(limit_), peer);
  }

  bool receive_from(int peer) {
    Data got(8);
    const bool good = is_good(channel_.recv(peer, tag_, got, kWorld, limit_), peer);
    if (good) check(got, peer);
    return good;
  }

  void check(const Data& got, int from) const {
    if (got == data_of(from, self_, tag_, got.size())) return;
    say("other bytes came than were sent");
    std::_Exit(4);
  }

  bool is_good(const Status& status, int peer) {
    if (status.ok()) return true;
    if (status.code() == Code::timed_out) {
      say("it waits for too long for rank " + std::to_string(peer));
      std::fputs((channel_.describe() + '\n').c_str(), stderr);
      std::_Exit(4);
    }
    if (status.code() != Code::peer_ended || status.rank() != victim_ || self_ == victim_) {
      errors_.insert(status.message());
    } else if (!std::exchange(victim_named_, true)) {
      say("rank " + std::to_string(victim_) + " has ended: " + status.message());
    }
    return false;
  }

  Channel& channel_;
  const int self_, victim_;
  const std::chrono::seconds limit_;
  std::vector<bool> lives_;
  int tag_ = 0;
  bool victim_named_ = false;
  std::set<std::string> errors_;
};

// Tells the library with the verbs that end the process that connecting begins.
void tell_opened() {
  const char* const name = std::getenv("SCELA_CHANNEL_VERBS");
  void* const library = name != nullptr ? ::dlopen(name, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  void* const found = library != nullptr ? ::dlsym(library, "failing_verbs_opened") : nullptr;
  if (found != nullptr) reinterpret_cast<void (*)()>(found)();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto opened = Channel::open();
  if (!opened.channel) {
    const char* rank = std::getenv("PMI_RANK");
    if (rank == nullptr) rank = std::getenv("PMIX_RANK");
    std::printf("rank %s: not opened: %s\n", rank != nullptr ? rank : "?",
                opened.status.message().c_str());
    return 3;
  }
  tell_opened();
  Rank rank(*opened.channel, std::atoi(argv[1]), std::chrono::seconds(std::atoi(argv[2])));
  if (std::string_view(argv[3]) == "turns") rank.take_turns();
  rank.exchange_all_sizes();
  rank.last_word();
  rank.exchange_all_sizes();
  return rank.say_how();
}
