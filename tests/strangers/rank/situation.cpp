#include "tests/strangers/rank/situation.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace strangers {
namespace {

// On SIGUSR1 a rank writes its number and its step.
std::atomic<int> rank_of_this{0};
std::atomic<std::uint64_t> step_of_this{0};

void say_where(int) {
  char line[96];
  const int length =
      std::snprintf(line, sizeof line, "strangers: rank %d is at step %llu\n", rank_of_this.load(),
                    static_cast<unsigned long long>(step_of_this.load()));
  if (length > 0 && ::write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
}

std::vector<int> nodes_of(const scela::Channel& channel) {
  std::vector<int> nodes;
  for (int rank = 0; rank < channel.size(); ++rank)
    nodes.push_back(channel.node_of(rank));
  return nodes;
}

}  // namespace

Situation::Situation(std::unique_ptr<scela::Channel> channel, const Plan& plan,
                     std::chrono::seconds patience)
    : channel_(std::move(channel)),
      plan_(plan),
      patience_(patience),
      scenes_(scenes_of(plan, nodes_of(*channel_))),
      rank_(channel_->rank()) {
  rank_of_this = rank_;
  std::signal(SIGUSR1, say_where);
}

void Situation::enter(const Scene& scene) {
  now_ = &scene;
  step_of_this = scene.step->number;
}

std::vector<int> Situation::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < plan_.ranks; ++rank)
    if (!now_->has_ended(rank)) ranks.push_back(rank);
  return ranks;
}

void Situation::wrong(const std::string& what) const {
  const std::string step = now_ == nullptr ? "at the end" : text_of(*now_->step);
  std::fprintf(stderr, "strangers: WRONG: rank %d: %s (%s)\n", rank_, what.c_str(), step.c_str());
  std::_Exit(3);
}

void Situation::hangs(const std::string& what) const {
  std::string ended;
  for (int rank = 0; rank < plan_.ranks; ++rank)
    if (channel_->has_exited(rank)) ended += " " + std::to_string(rank);
  std::fprintf(stderr, "strangers: HANGS: rank %d: %s; ended, as it knows:%s; channel: %s\n", rank_,
               what.c_str(), ended.c_str(), channel_->describe().c_str());
  // Stays until after the signal that asks for the step.
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + patience_);
  wrong(what);
}

}  // namespace strangers
