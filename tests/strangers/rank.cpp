#include "tests/strangers/rank.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace strangers {
namespace {

using scela::Channel;

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

std::vector<int> nodes_of(const Channel& channel) {
  std::vector<int> nodes;
  for (int rank = 0; rank < channel.size(); ++rank)
    nodes.push_back(channel.node_of(rank));
  return nodes;
}

}  // namespace

Rank::Rank(std::unique_ptr<Channel> channel, const Plan& plan, std::chrono::seconds patience)
    : channel_(std::move(channel)),
      plan_(plan),
      patience_(patience),
      scenes_(scenes_of(plan, nodes_of(*channel_))),
      rank_(channel_->rank()) {
  rank_of_this = rank_;
  std::signal(SIGUSR1, say_where);
  expect_messages();
}

void Rank::wrong(const std::string& what) const {
  const std::string step = now_ == nullptr ? "at the end" : text_of(*now_->step);
  std::fprintf(stderr, "strangers: WRONG: rank %d: %s (%s)\n", rank_, what.c_str(), step.c_str());
  std::_Exit(3);
}

// Looks at the others before this process ends.
void Rank::hangs(const std::string& what) const {
  std::string ended;
  for (int rank = 0; rank < plan_.ranks; ++rank)
    if (channel_->has_exited(rank)) ended += " " + std::to_string(rank);
  std::fprintf(stderr, "strangers: HANGS: rank %d: %s; ended, as it knows:%s; channel: %s\n", rank_,
               what.c_str(), ended.c_str(), channel_->describe().c_str());
  // Stays until after the signal that asks for the step.
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + patience_);
  wrong(what);
}

std::vector<int> Rank::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < plan_.ranks; ++rank)
    if (!now_->has_ended(rank)) ranks.push_back(rank);
  return ranks;
}

int Rank::play() {
  for (const Scene& scene : scenes_) {
    now_ = &scene;
    step_of_this = scene.step->number;
    if (scene.has_ended(rank_)) {
      const auto leaver = std::find_if(scene.leavers.begin(), scene.leavers.end(),
                                       [&](const Leaver& each) { return each.rank == rank_; });
      return end_by(leaver->ending);
    }
    if (scene.takes_place) carry_out(scene);
  }
  finish_all();
  for (const auto& [context, waiting] : posted_)
    expect(waiting.empty(), "a receive in context " + std::to_string(context) + " was not judged");
  std::printf("strangers: rank %d went well\n", rank_);
  std::fflush(stdout);
  for (auto& [id, member] : members_)
    if (mix(static_cast<std::uint64_t>(id)) % 2 == 0) member.communicator.free();
  members_.clear();
  channel_.reset();
  return 0;
}

void Rank::carry_out(const Scene& scene) {
  switch (scene.step->kind) {
    case Kind::message:
      return message(scene);
    case Kind::burst:
      return burst(scene);
    case Kind::collective:
      return collective(scene);
    case Kind::wait:
      return wait(scene);
    case Kind::cancel:
      return cancel(scene);
    case Kind::reserve:
      return reserve(scene);
    case Kind::agree:
      return agree(scene);
    case Kind::end:
      return meet();
    case Kind::recover:
      return recover(scene);
    case Kind::free: {
      const auto found = members_.find(scene.step->of);
      if (found == members_.end()) return;
      if (mix(scene.step->number) % 4 != 0) found->second.communicator.free();
      members_.erase(found);
      return;
    }
    default:
      return make(scene);
  }
}

Begun& Rank::begin(const Scene& scene) {
  begun_.push_back(std::make_unique<Begun>());
  begun_.back()->scene = &scene;
  return *begun_.back();
}

bool Rank::others_need_calls(int family) const {
  return std::any_of(begun_.begin(), begun_.end(), [&](const auto& each) {
    return each->needs_calls && !each->over && !each->done && each->family != family;
  });
}

void Rank::finish(Begun& begun) {
  if (begun.done) return;
  if (others_need_calls(begun.is_operation ? begun.family : -1)) {
    const auto until = std::chrono::steady_clock::now() + patience_;
    while (!begun.over) {
      std::vector<Begun*> under_way{&begun};
      for (const auto& each : begun_)
        if (each.get() != &begun && each->needs_calls && !each->over && !each->done)
          under_way.push_back(each.get());
      std::vector<scela::Request*> requests;
      for (Begun* each : under_way)
        requests.push_back(&each->request);
      const std::size_t found = scela::wait_any(requests, until - std::chrono::steady_clock::now());
      if (found == requests.size())
        hangs("not over within the limit: " + text_of(*begun.scene->step));
      under_way[found]->over = true;
    }
  }
  conclude(begun);
}

void Rank::conclude(Begun& begun) {
  if (begun.done) return;
  begun.done = begun.over = true;
  begun.judge(begun);
}

void Rank::finish_all() {
  for (std::size_t i = 0; i < begun_.size(); ++i)
    finish(*begun_[i]);
  forget_done();
}

void Rank::finish_other_families(int family) {
  for (std::size_t i = 0; i < begun_.size(); ++i)
    if (begun_[i]->needs_calls && begun_[i]->family != family) finish(*begun_[i]);
  forget_done();
}

void Rank::forget_done() {
  std::erase_if(begun_, [](const auto& each) { return each->done; });
}

// Looks at everything once, as a program that polls does.
void Rank::move_all() {
  for (const auto& each : begun_)
    if (!each->over && !each->done && each->needs_calls) each->over = each->request.test();
  channel_->progress();
  std::this_thread::yield();
}

}  // namespace strangers
