// Rank 1 ends, and all others hear so from the launcher alone: ranks of the other node have never
// had a connection to it. Rank 0 prints one line if all is well.
//
//   deaths_probe exit|_exit|kill          rank 1 ends in the middle of its work
//   deaths_probe exit|_exit|kill times    the others say how long it took until they knew
//   deaths_probe left                     rank 1 has closed its channel, then the others ask
//   deaths_probe met                      the same, after all have exchanged messages with rank 1
//   deaths_probe well                     rank 1 has closed its channel, and no rank is told of a
//                                         failure
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collectives/include/scela/communicator.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"
#include "tests/interop/programs/channel/channel_check.h"

using namespace std::chrono_literals;
using scela::cat;
using scela::Channel;
using scela::Code;
using scela::Collective;
using scela::Communicator;
using scela::ReduceOp;
using scela::Status;

namespace {

using Data = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;  // one for all processes of a machine

constexpr int kDying = 1;
constexpr auto kPatience = 20s;  // only a hang takes it

std::span<std::byte> bytes_of(Clock::rep& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Returns the time at which rank 1 was about to end. Rank 0, which shares its node, passes it on.
Clock::rep last_sign(Channel& channel) {
  Clock::rep at = 0;
  must(channel.recv(channel.rank() == 0 ? kDying : 0, 1, bytes_of(at)));
  for (int rank = 2; channel.rank() == 0 && rank < channel.size(); ++rank)
    must(channel.send(rank, 1, bytes_of(at)));
  return at;
}

void end_by(std::string_view way, Channel& channel) {
  Clock::rep now = Clock::now().time_since_epoch().count();
  must(channel.send(0, 1, bytes_of(now)));
  if (way == "exit") std::exit(0);  // NOLINT(concurrency-mt-unsafe): the channel stays open
  if (way == "_exit") ::_exit(0);
  ::kill(::getpid(), SIGKILL);
}

// Uses only what the launcher tells: nothing is waited for from that rank, so nothing is asked
// about it.
bool is_told(Channel& channel) {
  const auto enough = Clock::now() + kPatience;
  while (!channel.has_exited(kDying) && Clock::now() < enough)
    if (!channel.progress()) std::this_thread::yield();
  return channel.has_exited(kDying);
}

void must_name(const Status& status) {
  must(status.code() == Code::peer_ended && status.rank() == kDying,
       cat("what waits for a dead rank ends otherwise: ", status.message()));
}

void go_on(Communicator& world) {
  const auto agreed = world.agree(true);
  must(agreed.status.ok() && agreed.flag && agreed.exited == std::vector{kDying},
       cat("they have not agreed on the dead rank: ", agreed.status.message()));
  Communicator less = world.shrink();
  must(less.size() == world.size() - 1, cat("shrink: ", less.status().message()));
  const std::vector<int> one{1};
  std::vector<int> all(1);
  const Status status = less.run(Collective::allreduce(one, all, ReduceOp::sum));
  must(status.ok() && all[0] == less.size(),
       cat("an allreduce without the dead: ", status.message()));
}

// Makes sure that there was a connection, each way.
void meet(Channel& channel) {
  Data word(1);
  for (int rank = 0; rank < channel.size(); ++rank) {
    if (rank == kDying || (channel.rank() != kDying && channel.rank() != rank)) continue;
    const int peer = channel.rank() == kDying ? rank : kDying;
    if (peer == kDying) must(channel.send(peer, 4, word));
    must(channel.recv(peer, 4, word));
    if (peer != kDying) must(channel.send(peer, 4, word));
  }
}

void dies(Channel& channel, std::string_view way, bool times) {
  Communicator world = Communicator::world(channel);
  must(world.status());
  const bool leaves = way == "left" || way == "met";
  if (way == "met") meet(channel);
  if (channel.rank() == kDying) {
    if (leaves) return;
    end_by(way, channel);
  }
  const Clock::rep died = leaves ? Clock::now().time_since_epoch().count() : last_sign(channel);
  Data got(8);
  must(leaves || is_told(channel), "it is not told of the death");
  must_name(channel.recv(kDying, 2, got, scela::kWorld, kPatience));
  const auto took = Clock::now().time_since_epoch() - Clock::duration(died);
  if (times)
    std::printf("rank %d knows after %.1f ms\n", channel.rank(),
                std::chrono::duration<double, std::milli>(took).count());
  must_name(channel.send(kDying, 2, got));
  must_name(channel.probe(kDying, 3));
  must(channel.has_exited(kDying), "it is not known to have ended");
  go_on(world);
}

// If the launcher told of the end of rank 1, that would come first: it was over before rank 3 died.
void ends_well(std::unique_ptr<Channel>& channel) {
  Data word(1);
  const int rank = channel->rank();
  if (rank == kDying) return channel.reset();
  if (rank == 0) {
    while (!channel->has_exited(kDying))
      channel->progress();
    must(channel->send(3, 1, word));
  }
  if (rank == 3) {
    must(channel->recv(0, 1, word));
    ::kill(::getpid(), SIGKILL);
  }
  if (rank == 2) {
    const Status status = channel->recv(3, 2, word, scela::kWorld, kPatience);
    must(status.code() == Code::peer_ended || status.code() == Code::ok, status.message());
    must(channel->has_exited(3), "a dead rank is not known to have ended");
    must(!channel->has_exited(kDying), "a rank that has ended well is told of as a failure");
    must(channel->send(0, 3, word));
  }
  if (rank == 0) must(channel->recv(2, 3, word));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  must(how == "exit" || how == "_exit" || how == "kill" || how == "left" || how == "met" ||
           how == "well",
       "usage: deaths_probe exit|_exit|kill|left|met|well [times]");
  auto opened = Channel::open();
  if (!opened.channel) failed(opened.status.message());
  const int rank = opened.channel->rank(), size = opened.channel->size();
  const int nodes = opened.channel->nodes();
  must(size == 4, "it is for 4 ranks");
  if (how == "well")
    ends_well(opened.channel);
  else
    dies(*opened.channel, how, argc > 2);
  if (rank == 0)
    std::printf("deaths: %s, %d ranks on %d nodes\n", std::string(how).c_str(), size, nodes);
  return 0;
}
