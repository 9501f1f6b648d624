// A rank dies, leaves or stays right after the first message that it was sent. The ranks beside it
// and on the other node go on with each other, over the connection that it has made.
//
//   xrc2 kill|leave|stay     two nodes of two ranks; rank 2 is the one
#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

constexpr int kMessages = 20;

struct Talk {
  Channel& channel;
  Bytes word = Bytes(64);

  void send(int to, int tag) {
    must(channel.send(to, tag, word), "send to rank ", to, " with tag ", tag);
  }
  void recv(int from, int tag) {
    must(channel.recv(from, tag, word, kWorld, kLimit), "receive of rank ", from, " with tag ",
         tag);
  }
};

// Rank 0 speaks first with the rank that dies, then with the one beside it.
void first(Talk& talk) {
  talk.send(2, 1);
  talk.send(3, 1);
  talk.recv(3, 9);
  for (int i = 0; i < kMessages; ++i) {
    talk.send(3, 2);
    talk.recv(3, 3);
  }
  talk.recv(3, 8);
}

void beside(Talk& talk, const std::string& how) {
  talk.recv(0, 1);
  talk.recv(2, 7);
  while (how != "stay" && !talk.channel.has_exited(2))
    if (!talk.channel.progress()) std::this_thread::yield();
  talk.send(0, 9);
  for (int i = 0; i < kMessages; ++i) {
    talk.recv(0, 2);
    talk.send(0, 3);
  }
  talk.send(0, 8);
  if (how == "stay") talk.send(2, 8);
}

void young(Talk& talk, const std::string& how) {
  talk.recv(0, 1);
  talk.send(3, 7);
  if (how == "kill") ::kill(::getpid(), SIGKILL);
  if (how == "stay") talk.recv(3, 8);
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const std::string how = argument(argc, argv, 1, "kill");
  auto channel = opened();
  must(channel->size() == 4 && channel->nodes() == 2, "it is for two nodes of two ranks");
  Talk talk{*channel};
  const int rank = channel->rank();
  if (rank == 0) first(talk);
  if (rank == 2) young(talk, how);
  if (rank == 3) beside(talk, how);
  must(channel->counters().rnr_events == 0, "a message met no buffer");
  say(rank, cat("all has come, rank 2: ", how));
  return 0;
}
