// A child process of rank 0 uses its channel: it is refused, and no message of rank 0 is lost.
//
//   fork2 exit|_exit     how the child ends
#include <sys/wait.h>

#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

constexpr int kBefore = 3, kAll = 6;

[[noreturn]] void child(Channel& channel, const std::string& how) {
  int value = 1000;
  must_say(channel.send(1, 1, bytes_of(value)), Code::closed, -1, "in a child process (fork)");
  if (how == "exit")
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): what the parent has registered runs here
  ::_exit(0);
}

void sends(Channel& channel, int from, int to) {
  for (int i = from; i < to; ++i)
    must(channel.send(1, 1, bytes_of(i)), "send ", i);
}

void receives(Channel& channel) {
  int value = -1;
  for (int i = 0; i < kAll; ++i) {
    must(channel.recv(0, 1, bytes_of(value), kWorld, kLimit), "receive ", i);
    must(value == i, value, " has come instead of ", i);
  }
  must_say(channel.recv(0, 1, bytes_of(value), kWorld, kLimit), Code::peer_ended, 0, "");
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  auto channel = opened();
  const int rank = channel->rank();
  if (rank == 0) {
    sends(*channel, 0, kBefore);
    const pid_t process = ::fork();
    if (process == 0) child(*channel, argument(argc, argv, 1, "_exit"));
    int status = -1;
    must(::waitpid(process, &status, 0) == process && status == 0, "the child ends otherwise");
    sends(*channel, kBefore, kAll);
  } else {
    receives(*channel);
  }
  channel.reset();
  say(rank, "the child had no part in it");
  return 0;
}
