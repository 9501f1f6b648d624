// A program that knows only what ScELA exports, as a stranger's program does (docs/testing.md).
//
//   stranger draw SEED RANKS OPERATIONS ENDS EXECUTOR...   prints a plan
//   stranger play PLAN PATIENCE                            a rank's part of it, under any launcher
//   stranger ends PLAN                                     how many of its ranks end before it does
//
// PATIENCE: seconds after which what is not over is taken for a hang.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/strangers/draw.h"
#include "tests/strangers/rank/rank.h"

namespace {

int fail(const std::string& why) {
  std::fprintf(stderr, "strangers: WRONG: %s\n", why.c_str());
  return 2;
}

int draw(const std::vector<std::string>& words) {
  strangers::Wishes wishes;
  wishes.seed = std::stoull(words[1]);
  wishes.ranks = std::stoi(words[2]);
  wishes.operations = std::stoi(words[3]);
  wishes.ends = std::stoi(words[4]);
  wishes.executors.clear();
  for (std::size_t i = 5; i < words.size(); ++i) {
    const std::string_view names[] = {"at_once", "polled", "thread", "engine"};
    const auto found = std::find(std::begin(names), std::end(names), words[i]);
    if (found == std::end(names)) return fail("no executor: " + words[i]);
    wishes.executors.push_back(static_cast<scela::ProgressMode>(found - std::begin(names)));
  }
  std::fputs(strangers::text_of(strangers::draw(wishes)).c_str(), stdout);
  return 0;
}

int play(const strangers::Plan& plan, const std::string& patience) {
  scela::ChannelOptions options;
  for (const strangers::Step& step : plan.steps)
    if (step.kind == strangers::Kind::world && step.by == scela::ProgressMode::thread)
      options.threads = scela::Threads::multiple;
  auto opened = scela::Channel::open(options);
  if (!opened.channel) return fail("the channel does not open: " + opened.status.message());
  if (opened.channel->size() != plan.ranks) return fail("the plan is of another number of ranks");
  return strangers::Rank(std::move(opened.channel), plan, std::chrono::seconds(std::stoi(patience)))
      .play();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= 6 && words[0] == "draw") return draw(words);
  const bool plays = words.size() == 3 && words[0] == "play";
  if (!plays && !(words.size() == 2 && words[0] == "ends"))
    return fail(
        "usage: stranger draw SEED RANKS OPERATIONS ENDS EXECUTOR... | play PLAN PATIENCE | ends "
        "PLAN");
  std::ifstream file(words[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::string why;
  const auto plan = strangers::parse(text, why);
  if (!plan) return fail(words[1] + ": " + why);
  if (plays) return play(*plan, words[2]);
  const std::vector<int> nodes(static_cast<std::size_t>(plan->ranks));
  std::printf("%d\n", strangers::ends_of(strangers::scenes_of(*plan, nodes)));
  return 0;
}
