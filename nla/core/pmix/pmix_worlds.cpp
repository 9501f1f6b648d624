#include "nla/core/pmix/pmix_worlds.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::nla {

pmix::msg::World PmixWorlds::describe(std::size_t number) const {
  const RankSet ranks = job_.ranks_of_world(number);
  pmix::msg::World world;
  world.nspace = job_.name_of_world(number);
  world.first = ranks.front();
  world.map = job_.map_of_world(number).blocks();
  const RankSet here = job_.map.ranks_of(node_);
  world.neighbours =
      static_cast<std::uint32_t>(here.intersection(RankSet::run(0, world.first)).size());
  if (number > 0 && !job_.worlds[number - 1].hosts.empty()) world.hosts = job_.hosts;
  const std::int64_t universe = job_.universe_size();
  const auto size = static_cast<std::int64_t>(ranks.size());
  if (universe >= 0) world.universe = static_cast<std::uint32_t>(std::max(universe, size));
  if (number > 0) world.parent = job_.worlds[number - 1].parent;
  world.stops = job_.stops_of_world(number);
  const bool is_last = number == job_.worlds.size();
  const std::size_t end = is_last ? job_.apps.size() : job_.first_app_of_world(number + 1);
  for (std::size_t i = job_.first_app_of_world(number); i < end; ++i) {
    const App& app = job_.apps[i];
    std::string words;
    for (const std::string& word : app.argv)
      words += cat(words.empty() ? "" : " ", word);
    world.programs.push_back(
        {app.ranks, std::move(words), app.wdir.empty() ? job_.wdir : app.wdir});
  }
  return world;
}

void PmixWorlds::tell_new() {
  for (std::size_t next = ready_ + awaited_.size(); next <= job_.worlds.size(); ++next) {
    awaited_.push_back(job_.map.ranks_of(node_).intersection(job_.ranks_of_world(next)));
    tell_(describe(next));
  }
}

bool PmixWorlds::receive(pmix::msg::Environment& message) {
  if (awaited_.empty() || !awaited_.front().contains(message.rank)) return false;
  awaited_.front().remove(RankSet::single(message.rank));
  environments_[message.rank] = std::move(message.variables);
  return true;
}

bool PmixWorlds::receive(pmix::msg::Ready& /*message*/) {
  if (awaited_.empty() || !awaited_.front().empty()) return false;
  awaited_.pop_front();
  ++ready_;
  return true;
}

const std::vector<std::string>& PmixWorlds::environment(Rank rank) const {
  static const std::vector<std::string> none;
  const auto at = environments_.find(rank);
  return at == environments_.end() ? none : at->second;
}

}  // namespace scela::nla
