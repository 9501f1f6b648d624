#include "tests/strangers/scenes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace strangers {
namespace {

constexpr int kFragileContexts = 1 << 20;

// The state as the plan goes on.
struct World {
  std::vector<int> nodes;
  std::map<int, Groups> communicators;
  std::vector<Leaver> leavers;

  int ranks() const { return static_cast<int>(nodes.size()); }
  bool is_whole() const { return leavers.empty(); }
  bool leaves(int rank) const {
    return std::any_of(leavers.begin(), leavers.end(),
                       [&](const Leaver& each) { return each.rank == rank; });
  }
  bool has_ended(int rank, std::uint64_t number) const {
    return std::any_of(leavers.begin(), leavers.end(),
                       [&](const Leaver& each) { return each.rank == rank && each.at <= number; });
  }
  bool has_leavers(const Groups& groups) const {
    for (const Group& group : groups)
      if (std::any_of(group.begin(), group.end(), [&](int rank) { return leaves(rank); }))
        return true;
    return false;
  }
};

bool is_rank(const World& world, int rank) {
  return rank >= 0 && rank < world.ranks() &&
         std::none_of(world.leavers.begin(), world.leavers.end(),
                      [&](const Leaver& each) { return each.rank == rank && each.recovered; });
}

Groups split(const World& world, const Groups& groups, const Step& step) {
  const auto of_rank = [&](const std::vector<int>& list, int rank) {
    return list.empty() ? 0 : list[static_cast<std::size_t>(rank) % list.size()];
  };
  Groups made;
  for (const Group& group : groups) {
    std::map<int, Group> colors;
    for (const int rank : group) {
      const int color = step.kind == Kind::node ? world.nodes[static_cast<std::size_t>(rank)]
                                                : of_rank(step.list, rank);
      if (color >= 0) colors[color].push_back(rank);
    }
    for (auto& [color, ranks] : colors) {
      if (step.kind == Kind::split)
        std::stable_sort(ranks.begin(), ranks.end(), [&](int left, int right) {
          return of_rank(step.keys, left) < of_rank(step.keys, right);
        });
      made.push_back(std::move(ranks));
    }
  }
  return made;
}

Groups leaders(const World& world, const Groups& groups) {
  Groups made;
  for (const Group& group : groups) {
    Group first;
    std::vector<int> seen;
    for (const int rank : group) {
      const int node = world.nodes[static_cast<std::size_t>(rank)];
      if (std::find(seen.begin(), seen.end(), node) != seen.end()) continue;
      seen.push_back(node);
      first.push_back(rank);
    }
    made.push_back(std::move(first));
  }
  return made;
}

// The list's numbers are places in each group, those that a smaller group has not left out.
Groups subgroup(const Groups& groups, const std::vector<int>& list) {
  Groups made;
  for (const Group& group : groups) {
    Group chosen;
    for (const int place : list)
      if (place >= 0 && static_cast<std::size_t>(place) < group.size())
        chosen.push_back(group[static_cast<std::size_t>(place)]);
    if (!chosen.empty()) made.push_back(std::move(chosen));
  }
  return made;
}

Groups shrunk(const World& world, const Groups& groups, std::uint64_t number) {
  Groups made;
  for (const Group& group : groups) {
    Group left;
    for (const int rank : group)
      if (!world.has_ended(rank, number)) left.push_back(rank);
    if (!left.empty()) made.push_back(std::move(left));
  }
  return made;
}

Groups made_by(const World& world, const Step& step, const Groups& groups) {
  switch (step.kind) {
    case Kind::world: {
      Group all(static_cast<std::size_t>(world.ranks()));
      std::iota(all.begin(), all.end(), 0);
      return {all};
    }
    case Kind::dup:
      return groups;
    case Kind::split:
    case Kind::node:
      return split(world, groups, step);
    case Kind::leaders:
      return leaders(world, groups);
    case Kind::subgroup:
      return subgroup(groups, step.list);
    case Kind::shrink:
      return shrunk(world, groups, step.number);
    default:
      return {};
  }
}

bool takes_place(const World& world, const Step& step, const Groups* groups, bool fragile) {
  switch (step.kind) {
    case Kind::world:
      return world.is_whole() && !world.communicators.contains(step.as);
    case Kind::dup:
    case Kind::split:
    case Kind::subgroup:
    case Kind::node:
    case Kind::leaders:
      return groups != nullptr && !world.has_leavers(*groups) &&
             !world.communicators.contains(step.as);
    case Kind::shrink:
      return groups != nullptr && !world.communicators.contains(step.as);
    case Kind::free:
      return groups != nullptr && !world.has_leavers(*groups);
    case Kind::collective:
    case Kind::agree:
      return groups != nullptr;
    case Kind::message:
      return is_rank(world, step.from) && is_rank(world, step.to);
    case Kind::burst:
    case Kind::cancel:
    case Kind::reserve:
      return !fragile;
    case Kind::wait:
      return true;
    case Kind::end: {
      int staying = 0;
      for (int rank = 0; rank < world.ranks(); ++rank)
        staying += !world.leaves(rank);
      return step.rank >= 0 && step.rank < world.ranks() && !world.leaves(step.rank) && staying > 1;
    }
    case Kind::recover:
      return fragile;
  }
  return false;
}

// Lets the others recover from the ranks that have ended by now. Removes all communicators that
// those are in, and returns them.
std::vector<int> recover(World& world, std::uint64_t number) {
  std::vector<int> freed;
  for (const auto& [id, groups] : world.communicators)
    for (const Group& group : groups)
      if (std::any_of(group.begin(), group.end(),
                      [&](int rank) { return world.has_ended(rank, number); })) {
        freed.push_back(id);
        break;
      }
  for (const int id : freed)
    world.communicators.erase(id);
  for (Leaver& each : world.leavers)
    each.recovered = each.recovered || each.at <= number;
  return freed;
}

}  // namespace

const Group* group_of(const Groups& groups, int rank) {
  for (const Group& group : groups)
    if (place_in(group, rank) >= 0) return &group;
  return nullptr;
}

int place_in(const Group& group, int rank) {
  const auto found = std::find(group.begin(), group.end(), rank);
  return found == group.end() ? -1 : static_cast<int>(found - group.begin());
}

bool Scene::has_ended(int rank) const {
  return std::any_of(leavers.begin(), leavers.end(), [&](const Leaver& each) {
    return each.rank == rank && each.at <= step->number;
  });
}

bool Scene::endangers(int rank) const {
  return std::any_of(leavers.begin(), leavers.end(),
                     [&](const Leaver& each) { return each.rank == rank; });
}

bool Scene::endangers(const Group& group) const {
  return std::any_of(group.begin(), group.end(), [&](int rank) { return endangers(rank); });
}

int Scene::context() const {
  return step->context + (fragile ? kFragileContexts : 0);
}

std::vector<Scene> scenes_of(const Plan& plan, const std::vector<int>& nodes) {
  World world{nodes, {}, {}};
  std::vector<Scene> scenes;
  scenes.reserve(plan.steps.size());
  for (const Step& step : plan.steps) {
    Scene scene;
    scene.step = &step;
    scene.fragile = std::any_of(world.leavers.begin(), world.leavers.end(),
                                [](const Leaver& each) { return !each.recovered; });
    const auto found = world.communicators.find(step.of);
    const Groups* const groups = found == world.communicators.end() ? nullptr : &found->second;
    scene.takes_place = takes_place(world, step, groups, scene.fragile);
    if (scene.takes_place) {
      if (groups != nullptr) scene.groups = *groups;
      if (makes_communicator(step.kind)) {
        scene.makes = made_by(world, step, scene.groups);
        world.communicators[step.as] = scene.makes;
      }
      if (step.kind == Kind::free) world.communicators.erase(step.of);
      if (step.kind == Kind::end) world.leavers.push_back({step.rank, step.ending, step.at, false});
      if (step.kind == Kind::recover) scene.frees = recover(world, step.number);
    }
    scene.leavers = world.leavers;
    scenes.push_back(std::move(scene));
  }
  return scenes;
}

int ends_of(const std::vector<Scene>& scenes) {
  if (scenes.empty()) return 0;
  const auto& leavers = scenes.back().leavers;
  return static_cast<int>(std::count_if(leavers.begin(), leavers.end(), [&](const Leaver& each) {
    return each.at <= scenes.back().step->number;
  }));
}

}  // namespace strangers
