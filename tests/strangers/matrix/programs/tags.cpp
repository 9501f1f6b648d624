// Legal programs at numbers that a communicator could run out of, and channels that close too
// early.
//
//   tags early EXECUTOR COUNT     one rank waits at once for an operation that the others wait for
//                                 at the end
//   tags late EXECUTOR COUNT      as early; the others wait for it amid COUNT broadcasts
//   tags many EXECUTOR COUNT      so many operations are under way at once
//   tags prepared EXECUTOR COUNT  so many are prepared; every other one is let go before it is
//                                 started
//   tags threads EXECUTOR COUNT   four threads, each with a communicator of its own
//   tags contexts                 eight threads reserve contexts
//   tags closing | closing-one    both close, or one does, with a send that nothing receives
#include <algorithm>
#include <atomic>

#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

// `middle`: the place at which the others wait for the first operation; count: at the end.
void early(Here& here, int count, int middle) {
  const bool root = here.rank() == 0;
  Numbers first(10, root ? 7 : 0);
  Request old = here.world.start(Collective::bcast(first, 0));
  if (root) must(old.wait(kLimit), "the first one");
  for (int i = 0; i < count; ++i) {
    if (i == middle && !root) must(old.wait(kLimit), "the first one");
    Numbers value{root ? i : -1};
    must(here.world.run(Collective::bcast(value, 0)), "operation ", i);
    must(value[0] == i, "operation ", i, ": its root sent ", i, ", and ", value[0], " has come");
    if (i % 2 == 1) must(here.world.barrier(), "barrier ", i);
  }
  if (middle >= count && !root) must(old.wait(kLimit), "the first one");
  must(first == Numbers(10, 7), "the first one has another result");
}

void many(Here& here, std::size_t count) {
  Numbers own(count), sums(count);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < count; ++i) {
    own[i] = static_cast<int>(i) + here.rank();
    requests.push_back(here.world.start(Collective::allreduce(
        std::span(own).subspan(i, 1), std::span(sums).subspan(i, 1), ReduceOp::sum)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    must(requests[i].wait(kLimit), "operation ", i);
    const int right = static_cast<int>(i) * here.size() + here.size() * (here.size() - 1) / 2;
    must(sums[i] == right, "operation ", i, ": another sum, ", sums[i]);
  }
  must(here.world.barrier(), "a barrier after them");
}

void prepared(Here& here, int count) {
  Numbers own{here.rank()}, sum(1);
  std::vector<Request> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(here.world.prepare(Collective::allreduce(own, sum, ReduceOp::sum)));
    if (i % 2 == 1) {
      requests.pop_back();
      continue;
    }
    must(requests.back().start(), "start ", i);
    must(requests.back().wait(kLimit), "wait ", i);
    must(sum[0] == here.size() * (here.size() - 1) / 2, "another sum");
  }
}

void threads(Here& here, int count) {
  std::vector<Communicator> own;
  for (int i = 0; i < 4; ++i)
    own.push_back(here.new_world());
  const auto work = [&](int thread) {
    for (int i = 0; i < count; ++i) {
      Numbers given(1 + static_cast<std::size_t>(i) % 50, here.rank() + i + thread),
          sums(given.size());
      must(own[static_cast<std::size_t>(thread)].run(
               Collective::allreduce(given, sums, ReduceOp::sum)),
           "thread ", thread, ", operation ", i);
      const int right = here.size() * (i + thread) + here.size() * (here.size() - 1) / 2;
      must(sums == Numbers(given.size(), right), "thread ", thread, ", operation ", i,
           ": another sum");
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back(work, i);
  for (std::thread& thread : all)
    thread.join();
}

void contexts(Channel& channel) {
  constexpr std::size_t kEach = 100'000;
  std::vector<std::vector<scela::Context>> got(8);
  std::vector<std::thread> all;
  for (auto& own : got)
    all.emplace_back([&channel, &own] {
      for (std::size_t i = 0; i < kEach; ++i)
        own.push_back(channel.reserve_contexts(1));
    });
  for (std::thread& thread : all)
    thread.join();
  std::vector<scela::Context> seen;
  for (const auto& own : got)
    seen.insert(seen.end(), own.begin(), own.end());
  std::ranges::sort(seen);
  must(seen.front() != kWorld, "a context was refused");
  must(std::ranges::adjacent_find(seen) == seen.end(), "a context was given twice");
}

// The send is ended by the other's closing, or by its end.
void closing(bool both) {
  auto channel = opened();
  const int rank = channel->rank(), other = 1 - rank;
  Bytes large(1u << 20);
  int word = 0;
  scela::Request send;
  if (both || rank == 0) send = channel->isend(other, 1, large);
  if (!both && rank == 0) must(channel->send(1, 2, bytes_of(word)), "the word before it closes");
  if (!both && rank == 1)
    must(channel->recv(0, 2, bytes_of(word), kWorld, kLimit), "the word before it closes");
  channel.reset();
  if (both || rank == 0) {
    const Status status = send.status();
    must(status.code() == Code::closed || status.code() == Code::peer_ended,
         "the send ends so: ", status.message());
    must(status.rank() == other, "it names another rank");
  }
  say(rank, both || rank == 0 ? cat("the send names rank ", other) : "closed");
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const std::string what = argument(argc, argv, 1, "early");
  if (what.starts_with("closing")) {
    closing(what == "closing");
    return 0;
  }
  Here here = open(argument(argc, argv, 2, "polled"), what == "contexts" || what == "threads");
  const int count = static_cast<int>(number(argc, argv, 3, 1100));
  if (what == "early") early(here, count, count);
  if (what == "late") early(here, count, count / 2);
  if (what == "many") many(here, static_cast<std::size_t>(count));
  if (what == "prepared") prepared(here, count);
  if (what == "threads") threads(here, count);
  if (what == "contexts") contexts(*here.channel);
  must(here.world.barrier(), "at the end");
  say(here.rank(), cat(what, " ", count, " went well"));
  return 0;
}
