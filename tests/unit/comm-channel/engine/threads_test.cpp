// Several threads of each rank call at once. The ranks are threads of one process over one mapping,
// so the thread sanitizer sees all of it.
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "comm-channel/api/opening.h"
#include "tests/unit/comm-channel/shm/shm_ranks.h"

namespace scela::channel::test::threads_test {
namespace {

using namespace std::chrono_literals;
using Data = std::vector<std::byte>;

struct Job {
  explicit Job(int ranks, Threads threads = Threads::multiple) {
    ChannelOptions options;
    options.threads = threads;
    options.eager.shm = 512;
    World world;
    world.size = ranks;
    world.node_of.assign(static_cast<std::size_t>(ranks), 0);
    auto segment =
        shm::make_segment(shm::shape_for(static_cast<std::uint32_t>(ranks), options.eager.shm));
    REQUIRE(segment);
    std::vector<std::unique_ptr<shm::NodeLink>> links;
    for (int rank = 0; rank < ranks; ++rank) {
      auto link = shm::join_node(*segment, static_cast<std::uint32_t>(rank));
      REQUIRE(link);
      links.push_back(std::move(*link));
    }
    for (auto& link : links) {
      link->settle();
      channels.push_back(channel_over(world, options, Links{std::move(link), nullptr, {}}));
      ++world.rank;
    }
  }
  Channel& operator[](int rank) { return *channels[static_cast<std::size_t>(rank)]; }
  std::vector<std::unique_ptr<Channel>> channels;
};

// Returns what a thread sends in a round. Its receiver, the thread with the same number, computes
// it too.
Data data_of(int from, int thread, int round) {
  constexpr std::array<std::size_t, 6> kSizes{0, 8, 24, 500, 513, 20'000};
  Data data(kSizes[static_cast<std::size_t>(round * 5 + thread) % kSizes.size()]);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>(static_cast<std::size_t>(from * 37 + thread * 11 + round) + i);
  return data;
}

// One thread of a rank. It sends to the next rank and receives from the rank before, with a tag of
// its own.
class Caller {
 public:
  Caller(Channel& channel, int thread, std::atomic<int>& wrong)
      : channel_(channel),
        thread_(thread),
        next_((channel.rank() + 1) % channel.size()),
        before_((channel.rank() + channel.size() - 1) % channel.size()),
        wrong_(wrong) {}

  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      const Data sent = data_of(channel_.rank(), thread_, round);
      Request send = round % 2 == 0 ? channel_.isend(next_, thread_, sent)
                                    : channel_.issend(next_, thread_, sent);
      const Data expected = data_of(before_, thread_, round);
      const Data got = received(round, expected.size());
      if (got != expected) wrong_.fetch_add(1);
      // In other rounds the request is waited for where it goes out of scope.
      if (round % 4 < 2 && !send.wait().ok()) wrong_.fetch_add(1);
    }
  }

 private:
  Data received(int round, std::size_t size) {
    Data got(size);
    switch (round % 6) {
      case 0:
        if (!channel_.recv(before_, thread_, got).ok()) return {};
        return got;
      case 1: {
        Request receive = channel_.irecv(before_, thread_, got);
        while (!receive.test())
          std::this_thread::yield();
        return receive.status().ok() ? got : Data();
      }
      case 2: {
        // One of the two messages never comes. Its receive ends with its request.
        Data never(8);
        std::array<Request, 2> requests{channel_.irecv(before_, 1000 + thread_, never),
                                        channel_.irecv(before_, thread_, got)};
        return wait_any(requests) == 1 && requests[1].status().ok() ? got : Data();
      }
      case 3: {
        const Status seen = channel_.probe(kAnySource, thread_);
        std::optional<ProbedMessage> message = channel_.improbe(before_, thread_);
        if (!seen.ok() || seen.bytes() != size || !message) return {};
        return channel_.imrecv(std::move(*message), got).wait().ok() ? got : Data();
      }
      case 4: {
        Request receive = channel_.recv_init(before_, thread_, got);
        if (!receive.start().ok()) return {};
        while (receive.wait(50us).code() == Code::timed_out) {
        }
        return receive.status().ok() ? got : Data();
      }
      default: {
        // The receive is cancelled before its message is there. No thread writes to its buffer any
        // more.
        Data other(8);
        channel_.irecv(before_, 1000 + thread_, other).cancel();
        if (channel_.recv(before_, 1000 + thread_, other, kWorld, 20us).code() != Code::timed_out)
          wrong_.fetch_add(1);
        return channel_.recv(before_, thread_, got).ok() ? got : Data();
      }
    }
  }

  Channel& channel_;
  const int thread_, next_, before_;
  std::atomic<int>& wrong_;
};

void run_all(Job& job, int threads_of_each, int rounds) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const auto& channel : job.channels)
    for (int thread = 0; thread < threads_of_each; ++thread)
      threads.emplace_back([&, thread] { Caller(*channel, thread, wrong).run(rounds); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("channel threads: messages of several threads of each rank stay apart") {
  Job job(2);
  run_all(job, 3, 120);
  for (const auto& channel : job.channels) {
    CHECK(channel->counters().messages_received == 3 * 120);
    CHECK(channel->counters().unexpected == 0);
  }
}

TEST_CASE("channel threads: several threads of one rank send to themselves and each other") {
  Job job(1);
  run_all(job, 3, 120);
}

TEST_CASE("channel threads: a send that is let go is over when another thread has moved it") {
  constexpr int kMessages = 200;
  Job job(2);
  std::atomic<bool> enough{false};
  std::thread mover([&] {
    while (!enough) {
      job[0].progress();
      std::this_thread::yield();
    }
  });
  std::atomic<int> received{0};
  std::thread receiver([&] {
    Data got(8);
    for (int i = 0; i < kMessages; ++i)
      if (job[1].recv(0, 1, got).ok() && got[0] == static_cast<std::byte>(i)) ++received;
  });
  int early = 0;
  for (int i = 0; i < kMessages; ++i) {
    Data data(8, static_cast<std::byte>(i));
    { const Request left = job[0].issend(1, 1, data); }
    data.assign(8, std::byte{0xee});  // the channel does not need it any more
    if (job[0].counters().messages_sent != static_cast<std::uint64_t>(i) + 1) ++early;
  }
  receiver.join();
  enough = true;
  mover.join();
  CHECK(early == 0);
  CHECK(received == kMessages);
}

// Ranks that outnumber their processors yield first, and each yield counts. A rank that never
// sleeps never looks for deaths.
TEST_CASE("channel threads: a thread that waits in vain falls asleep") {
  const auto ranks = static_cast<int>(std::thread::hardware_concurrency()) + 1;
  Job job(ranks);
  Data got(8);
  Status status;
  std::thread waiting([&] { status = job[0].recv(1, 1, got); });
  // The rank has yielded so often that it would only be awake if it did not count.
  const auto over = std::chrono::steady_clock::now() + 20s;
  while (job[0].counters().sleeps == 0 && std::chrono::steady_clock::now() < over)
    std::this_thread::sleep_for(10ms);
  CHECK(job[0].counters().sleeps > 0);
  CHECK(job[1].send(0, 1, got).ok());
  waiting.join();
  CHECK(status.ok());
}

TEST_CASE("channel threads: ranks with one thread each, which no lock guards") {
  Job job(3, Threads::single);
  run_all(job, 1, 120);
}

// Messages go in pieces here, so that a receive's limit may pass when its message has begun to
// come.
TEST_CASE("channel threads: a receive that timed out takes no message from the next one") {
  shm::test::Child child([] {
    if (!shm::test::refuse({SYS_process_vm_readv}, EPERM)) return 2;
    constexpr int kMessages = 30;
    Job job(2, Threads::single);
    std::atomic<int> sent{0};
    std::thread sender([&] {
      Data data(20'000);
      while (sent < kMessages) {
        data[0] = static_cast<std::byte>(sent.load());
        if (!job[0].send(1, 1, data).ok()) std::_Exit(3);
        ++sent;
      }
    });
    Data got(20'000);
    for (int received = 0; received < kMessages;) {
      const bool taken = sent > received;  // an earlier receive took it
      const Status status = job[1].recv(0, 1, got, kWorld, 0ns);
      if (status.ok() ? got[0] != static_cast<std::byte>(received++) : taken) std::_Exit(1);
    }
    sender.join();
    return 0;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("channel threads: a thread that waits in vain again and again gets its message at last") {
  for (const Threads threads : {Threads::single, Threads::multiple}) {
    Job job(2, threads);
    const Data sent(8, std::byte{7});
    Data got(8);
    REQUIRE(job[0].send(1, 1, sent).ok());
    Request receive = job[1].irecv(0, 1, got);
    bool came = false;
    for (int i = 0; i < 3 && !came; ++i)
      came = receive.wait(0ns).ok();
    CHECK(came);
    CHECK(got == sent);
  }
}

}  // namespace scela::channel::test::threads_test
