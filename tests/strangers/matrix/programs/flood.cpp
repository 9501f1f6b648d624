// Rank 0 sends many small messages, which rank 1 receives after one that was sent behind them.
//
//   flood COUNT free|kept [BYTES]   a communicator was freed before, or not
#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

constexpr int kFlood = 1, kBehind = 2;

void sends(Channel& channel, int count, Bytes& bytes) {
  std::vector<scela::Request> requests;
  std::vector<Bytes> kept;
  for (int i = 0; i < count; ++i) {
    std::memcpy(bytes.data(), &i, sizeof i);
    kept.push_back(bytes);
    requests.push_back(channel.isend(1, kFlood, kept.back()));
  }
  for (auto& request : requests)
    must(request.wait(kLimit), "a send");
  must(channel.send(1, kBehind, bytes), "the send behind them");
}

void receives(Channel& channel, int count, Bytes& bytes) {
  must(channel.recv(0, kBehind, bytes, kWorld, kLimit), "the message behind them");
  must(channel.counters().max_unexpected >= static_cast<std::uint64_t>(count),
       "they have not come before it");
  for (int i = 0; i < count; ++i) {
    must(channel.recv(0, kFlood, bytes, kWorld, kLimit), "one of many");
    must(std::memcmp(bytes.data(), &i, sizeof i) == 0, "another one has come");
  }
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const int count = static_cast<int>(number(argc, argv, 1, 30'000));
  const bool frees = argument(argc, argv, 2, "free") == "free";
  Bytes bytes(static_cast<std::size_t>(number(argc, argv, 3, 8)));
  Here here = open("polled");
  Communicator copy = here.world.dup();
  must(copy.barrier(), "a copy");
  if (frees) copy.free();
  copy = Communicator();
  must(here.world.barrier(), "before");
  if (here.rank() == 0) sends(*here.channel, count, bytes);
  if (here.rank() == 1) receives(*here.channel, count, bytes);
  must(here.world.barrier(), "after");
  say(here.rank(), cat(count, " messages have come in order"));
  return 0;
}
