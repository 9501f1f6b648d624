#include "tests/contract/executors/executor_job.h"

#include <catch2/catch.hpp>
#include <mutex>
#include <thread>
#include <utility>

#include "comm-channel/api/opening.h"

namespace scela::collectives::test {

std::string_view name_of(Messages messages) {
  return messages == Messages::memory ? "memory" : "channel";
}

struct Job::Channels {
  explicit Channels(int ranks) {
    ChannelOptions options;
    options.threads = Threads::multiple;
    options.eager.shm = 512;
    channel::World world;
    world.size = ranks;
    world.node_of.assign(static_cast<std::size_t>(ranks), 0);
    const auto shape =
        channel::shm::shape_for(static_cast<std::uint32_t>(ranks), options.eager.shm);
    auto segment = channel::shm::make_segment(shape);
    REQUIRE(segment);
    std::vector<std::unique_ptr<channel::shm::NodeLink>> links;
    for (int rank = 0; rank < ranks; ++rank) {
      auto link = channel::shm::join_node(*segment, static_cast<std::uint32_t>(rank));
      REQUIRE(link);
      links.push_back(std::move(*link));
    }
    for (auto& link : links) {
      link->settle();
      all.push_back(
          channel::channel_over(world, options, channel::Links{std::move(link), nullptr, {}}));
      ++world.rank;
    }
  }
  std::vector<std::unique_ptr<Channel>> all;
};

Job::Job(ExecutorKind kind, Messages messages, int ranks) : ranks_(ranks) {
  if (messages == Messages::memory) {
    network_ = std::make_unique<MemoryNetwork>(ranks, 17);
    network_->deliver_in_waits();
  } else {
    channels_ = std::make_unique<Channels>(ranks);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (kind == ExecutorKind::thread) {
      auto made = make_thread(transport(rank));
      REQUIRE(made);
      executors_.push_back(std::move(*made));
      continue;
    }
    auto polled = make_polled(transport(rank));
    if (kind == ExecutorKind::at_once) {
      polled_.push_back(std::move(polled));
      polled = make_inline(*polled_.back());
    }
    executors_.push_back(std::move(polled));
  }
}

Job::~Job() {
  executors_.clear();
  polled_.clear();
  if (!channels_) return;
  // Each channel waits for what others still take from it.
  std::vector<std::thread> threads;
  for (auto& channel : channels_->all)
    threads.emplace_back([&channel] { channel.reset(); });
  for (std::thread& thread : threads)
    thread.join();
}

std::unique_ptr<Transport> Job::transport(int rank) {
  if (network_) return network_->transport(rank);
  return make_channel_transport(*channels_->all[static_cast<std::size_t>(rank)]);
}

std::string Job::run(const Body& body) {
  std::mutex mutex;
  std::string wrong;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks_; ++rank) {
    threads.emplace_back([&, rank] {
      std::string said = body(rank, *executors_[static_cast<std::size_t>(rank)]);
      const std::lock_guard lock(mutex);
      if (wrong.empty()) wrong = std::move(said);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return wrong;
}

}  // namespace scela::collectives::test
