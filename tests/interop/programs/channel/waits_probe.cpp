// One wait for messages and collective operations together, by the functions that libscela exports.
// Rank 0 prints one line if all is well.
//
//   waits_probe at-once|polled|thread   how the operations are run
//   waits_probe both                    some by polling, some by a thread, in one wait
#include <scela/channel.h>
#include <scela/communicator.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using scela::Channel;
using scela::Collective;
using scela::Communicator;
using scela::Request;

namespace {

constexpr int kRounds = 200;
constexpr int kTag = 3;
constexpr int kAnswer = 4;

[[noreturn]] void failed(const std::string& why) {
  std::fprintf(stderr, "waits_probe: %s\n", why.c_str());
  std::_Exit(3);
}
void must(bool holds, const std::string& what) {
  if (!holds) failed(what);
}
void must(const scela::Status& status) {
  if (!status.ok()) failed(status.message());
}

Communicator over(Channel& channel, scela::ProgressMode progress) {
  scela::CommunicatorOptions options;
  options.progress = progress;
  Communicator world = Communicator::world(channel, options);
  must(world.status());
  return world;
}

struct Job {
  Channel& channel;
  Communicator& world;
  bool begins;  // start() does not wait for the others

  int rank() const { return channel.rank(); }
  int next() const { return (channel.rank() + 1) % channel.size(); }
  int before() const { return (channel.rank() + channel.size() - 1) % channel.size(); }
  Request receive(int from, int tag, int& number) {
    return channel.irecv(from, tag, std::as_writable_bytes(std::span(&number, 1)));
  }
  void send(int to, int tag, int number) {
    must(channel.send(to, tag, std::as_bytes(std::span(&number, 1))));
  }
};

// Each rank but 0 enters the operation when rank 0 has told it that its message was found.
void message_first(Job& job, int round) {
  std::array<int, 1> own{job.rank() + round};
  std::array<int, 1> sum{};
  int got = 0;
  if (job.rank() != 0) {
    job.send(0, kTag, round);
    must(job.channel.recv(0, kAnswer, std::as_writable_bytes(std::span(&got, 1))));
    must(job.world.run(Collective::allreduce(own, sum, scela::ReduceOp::sum)));
    return;
  }
  Request all = job.world.start(Collective::allreduce(own, sum, scela::ReduceOp::sum));
  for (int other = 1; other < job.channel.size(); ++other) {
    Request message = job.receive(other, kTag, got);
    Request* const both[] = {&all, &message};
    must(scela::wait_any(both) == 1, "the message was not found, though nothing else was over");
    must(message.wait());
    must(got == round, "another message");
    job.send(other, kAnswer, round);
  }
  Request* const last[] = {nullptr, &all};
  must(scela::wait_any(last) == 1, "the operation was not found");
  must(all.wait());
  const int ranks = job.channel.size();
  must(sum[0] == ranks * (ranks - 1) / 2 + ranks * round, "another sum");
}

// The message comes when rank 0 says that it has found the operation over.
void operation_first(Job& job, int round) {
  std::array<int, 1> word{job.rank() == job.channel.size() - 1 ? round : -1};
  const int root = job.channel.size() - 1;
  int got = 0;
  if (job.rank() != 0) {
    must(job.world.run(Collective::bcast(word, root)));
    must(job.channel.recv(0, kAnswer, std::as_writable_bytes(std::span(&got, 1))));
    job.send(0, kTag, round);
    return;
  }
  Request message = job.receive(scela::kAnySource, kTag, got);
  Request all = job.world.start(Collective::bcast(word, root));
  Request* const both[] = {&message, &all};
  must(scela::wait_any(both) == 1, "the operation was not found, though no message could come");
  must(all.wait());
  must(word[0] == round, "another word");
  must(scela::wait_any(both, std::chrono::nanoseconds(0)) == 2,
       "an operation that was waited for was found again");
  for (int other = 1; other < job.channel.size(); ++other)
    job.send(other, kAnswer, round);
  must(scela::wait_any(both) == 0, "the message was not found");
  must(message.wait());
  for (int other = 2; other < job.channel.size(); ++other)
    must(job.channel.recv(scela::kAnySource, kTag, std::as_writable_bytes(std::span(&got, 1))));
}

// A rank that waited for one after the other would wait for ever: the message comes after the
// operation.
void in_any_order(Job& job, int round) {
  std::vector<int> own(1000, job.rank() + round);
  std::vector<int> all(own.size() * static_cast<std::size_t>(job.channel.size()));
  int got = -1;
  if (job.rank() % 2 == 1) {
    must(job.world.run(Collective::allgather(own, all)));
    job.send(job.before(), kTag, round);
    return;
  }
  const bool comes = job.next() % 2 == 1;
  Request message = comes ? job.receive(job.next(), kTag, got) : Request();
  Request gather = job.world.start(Collective::allgather(own, all));
  Request* const both[] = {&message, &gather};
  must(scela::wait_all(both), "not all were over without a limit");
  must(gather.wait());
  must(!comes || (message.status().ok() && got == round), "another message");
  must(all.back() == job.channel.size() - 1 + round, "other numbers");
}

// Several messages and operations are waited for, in both directions. Each is found once.
void many(Job& job, int round) {
  constexpr std::size_t kEach = 5;
  std::array<int, kEach> got{};
  std::array<std::array<int, 1>, kEach> own{};
  std::array<std::array<int, 1>, kEach> sums{};
  std::vector<Request> messages;
  std::vector<Request> operations;
  std::vector<Request> sends;
  for (std::size_t i = 0; i < kEach; ++i)
    messages.push_back(job.receive(job.before(), 10 + static_cast<int>(i), got[i]));
  for (std::size_t i = 0; i < kEach; ++i) {
    own[i] = {job.rank() * static_cast<int>(i) + round};
    operations.push_back(
        job.world.start(Collective::allreduce(own[i], sums[i], scela::ReduceOp::sum)));
    sends.push_back(job.channel.isend(job.next(), 10 + static_cast<int>(i),
                                      std::as_bytes(std::span(&own[i], 1))));
  }
  std::vector<Request*> left;
  for (std::size_t i = 0; i < kEach; ++i) {
    left.push_back(&operations[i]);
    left.push_back(&messages[i]);
  }
  for (std::size_t found = 0; found < 2 * kEach; ++found) {
    const std::size_t at = scela::wait_any(left);
    must(at < left.size() && left[at] != nullptr, "something was found twice, or nothing was");
    must(left[at]->wait());
    left[at] = nullptr;
  }
  must(scela::wait_any(left) == left.size(), "there is nothing left");
  const int ranks = job.channel.size();
  for (std::size_t i = 0; i < kEach; ++i) {
    const int times = static_cast<int>(i);
    must(sums[i][0] == ranks * (ranks - 1) / 2 * times + ranks * round, "another sum");
    must(got[i] == job.before() * times + round, "another message");
  }
  must(scela::wait_all(sends), "sends are not over");
}

// A wait in vain leaves its request going on. A request that cannot be over is passed over.
void limits(Job& job) {
  int got = 0;
  Request never = job.receive(job.rank(), 99, got);
  Request idle = job.channel.recv_init(job.rank(), 98, {});
  Request prepared = job.world.prepare(Collective::barrier());
  Request* const nothing[] = {nullptr, &idle, &prepared};
  must(scela::wait_any(nothing) == 3, "what was not started was found");
  must(scela::wait_all(nothing), "what was not started was waited for");
  Request* const some[] = {&never, &prepared};
  must(scela::wait_any(some, std::chrono::milliseconds(1)) == 2, "found, though nothing came");
  must(!scela::wait_all(some, std::chrono::milliseconds(1)), "over, though nothing came");
  // A call that all ranks refuse is the end of that communicator.
  scela::Communicator another = job.world.dup();
  Request refused = another.start(Collective::bcast(scela::Buffer(), -1));
  Request* const wrong[] = {&never, &refused};
  must(scela::wait_any(wrong) == 1, "what was refused was not found");
  must(refused.wait().code() == scela::Code::bad_root, "it was not refused");
  must(prepared.start().ok(), "a barrier cannot be started");
  must(scela::wait_any(some) == 1, "the barrier was not found");
  must(prepared.wait());
  job.send(job.rank(), 99, 1);
  must(scela::wait_all(some), "not over, though it came");
}

// Operations of two communicators with different executors, and a message, are in one wait.
void both(Channel& channel) {
  Communicator polled = over(channel, scela::ProgressMode::polled);
  Communicator thread = over(channel, scela::ProgressMode::thread);
  Job job{channel, polled, true};
  for (int round = 0; round < kRounds; ++round) {
    std::array<int, 1> one{round};
    std::array<int, 1> two{2 * round};
    std::array<int, 1> sum_of_one{};
    std::array<int, 1> sum_of_two{};
    int got = -1;
    Request message = job.receive(job.before(), kTag, got);
    // Ranks take turns in another order: their messages must not meet.
    std::array<Request, 2> requests;
    for (const int which : {job.rank() % 2, 1 - job.rank() % 2})
      requests[static_cast<std::size_t>(which)] =
          which == 0 ? polled.start(Collective::allreduce(one, sum_of_one, scela::ReduceOp::sum))
                     : thread.start(Collective::allreduce(two, sum_of_two, scela::ReduceOp::sum));
    Request* all[] = {&requests[0], &message, &requests[1]};
    int operations = 0;
    for (int found = 0; found < 3; ++found) {
      const std::size_t at = scela::wait_any(all);
      must(at < 3, "nothing was found");
      must(all[at] != nullptr, "something was found twice");
      must(all[at]->wait());
      if (all[at] != &message && ++operations == 2) job.send(job.next(), kTag, round);
      all[at] = nullptr;
    }
    must(got == round, "another message");
    must(sum_of_one[0] == channel.size() * round && sum_of_two[0] == channel.size() * 2 * round,
         "other sums");
  }
}

void all(Channel& channel, scela::ProgressMode by) {
  Communicator world = over(channel, by);
  Job job{channel, world, by != scela::ProgressMode::at_once};
  for (int round = 0; round < kRounds; ++round) {
    if (job.begins) message_first(job, round);
    operation_first(job, round);
    in_any_order(job, round);
    many(job, round);
    must(world.barrier());
  }
  limits(job);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view by = argc == 2 ? argv[1] : "";
  if (by != "at-once" && by != "polled" && by != "thread" && by != "both")
    failed("usage: waits_probe at-once|polled|thread|both");
  scela::ChannelOptions options;
  if (by == "thread" || by == "both") options.threads = scela::Threads::multiple;
  const Channel::Opened opened = Channel::open(options);
  if (!opened.channel) failed(opened.status.message());
  Channel& channel = *opened.channel;
  if (by == "both")
    both(channel);
  else
    all(channel, by == "at-once"  ? scela::ProgressMode::at_once
                 : by == "polled" ? scela::ProgressMode::polled
                                  : scela::ProgressMode::thread);
  if (channel.rank() == 0)
    std::printf("waits %s: %d ranks on %d nodes\n", std::string(by).c_str(), channel.size(),
                channel.nodes());
  return 0;
}
