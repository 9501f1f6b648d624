#include "tests/sim/generator/shrink.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace scela::sim {

namespace {

// Every receive has its send, every get that waits its put and a fence after it: without them a
// program waits for ever by its own fault, which is another failure than the one that is looked
// for.
bool is_complete(const Schedule& s) {
  std::map<std::tuple<Rank, Rank, std::int32_t>, int> messages;
  for (std::size_t i = 0; i < s.ops.size(); ++i) {
    const Op& op = s.ops[i];
    if (op.kind == OpKind::send) ++messages[{op.rank, op.peer, op.code}];
    if (op.kind == OpKind::receive && --messages[{op.peer, op.rank, op.code}] < 0) return false;
    if (op.kind != OpKind::get || !op.wait) continue;
    if (!op.async) return false;
    bool put = false;
    bool fenced = false;
    for (const Op& other : s.ops) {
      if (!fenced && other.kind == OpKind::join && other.rank == op.rank) return false;
      put = put || (other.kind == OpKind::put && other.id == op.ref);
      fenced = fenced || (put && other.kind == OpKind::collective &&
                          other.what == nla::CollectiveKind::fence && other.set.contains(op.rank) &&
                          other.set.contains(op.peer));
    }
    if (!fenced) return false;
  }
  return true;
}

class Shrinker {
 public:
  Shrinker(const Schedule& schedule, const std::function<bool(const Schedule&)>& fails, int budget)
      : best_(schedule), fails_(fails), budget_(budget) {}

  Schedule run() {
    for (bool better = true; better && budget_ > 0;) {
      better = drop_all();
      better |= drop_some(&Schedule::faults);
      better |= drop_some(&Schedule::stimuli);
      better |= drop_some(&Schedule::windows);
      better |= drop_some(&Schedule::starts);
      better |= drop_some(&Schedule::leftovers);
      better |= drop_some(&Schedule::ops);
      better |= fewer_ranks();
      better |= fewer_hosts();
      better |= simpler();
    }
    return best_;
  }

 private:
  bool attempt(const Schedule& candidate) {
    if (budget_ <= 0 || candidate == best_) return false;
    if (!candidate.is_consistent() || (complete_ && !is_complete(candidate))) return false;
    --budget_;
    if (!fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }

  template <class F>
  bool change(F&& f) {
    Schedule candidate = best_;
    f(candidate);
    return attempt(candidate);
  }

  bool drop_all() {
    bool better = change([](Schedule& s) { s.ops.clear(); });
    better |= change([](Schedule& s) { s.faults.clear(); });
    better |= change([](Schedule& s) { s.stimuli.clear(); });
    better |= change([](Schedule& s) { s.starts.clear(); });
    better |= change([](Schedule& s) { s.leftovers.clear(); });
    better |= change([](Schedule& s) {
      s.windows.clear();
      s.terminal_ranks = RankSet();
    });
    better |= change([](Schedule& s) { s.not_started = RankSet(); });
    better |= change([](Schedule& s) { s.stubborn = RankSet(); });
    return better;
  }

  // Runs of items, long ones first.
  template <class T>
  bool drop_some(std::vector<T> Schedule::*items) {
    bool better = false;
    for (std::size_t length = (best_.*items).size(); length > 0; length /= 2) {
      for (std::size_t at = 0; at < (best_.*items).size();) {
        const bool dropped = change([&](Schedule& s) {
          auto& list = s.*items;
          const auto first = list.begin() + static_cast<std::ptrdiff_t>(at);
          const std::size_t count = std::min(length, list.size() - at);
          list.erase(first, first + static_cast<std::ptrdiff_t>(count));
        });
        better |= dropped;
        if (!dropped) at += length;
      }
    }
    return better;
  }

  // Removes ranks [first, first + count). Those above move down, and collectives keep their other
  // members.
  static void drop_ranks(Schedule& s, Rank first, Rank count) {
    const RankSet out = RankSet::run(first, count);
    const auto moved = [&](Rank rank) { return rank < first ? rank : rank - count; };
    const auto keep = [&](const RankSet& set) {
      RankSet left;
      set.minus(out).for_each([&](Rank rank) { left.add(moved(rank)); });
      return left;
    };
    std::erase_if(s.ops, [&](const Op& op) {
      if (op.kind == OpKind::collective) {
        return op.set.minus(out).empty() || (op.odd && out.contains(op.peer));
      }
      return out.contains(op.rank) || (has_peer(op) && out.contains(op.peer));
    });
    for (Op& op : s.ops) {
      const bool bare = op.kind != OpKind::collective;
      op.set = keep(op.set);
      if (bare || op.set.contains(moved(op.rank))) op.rank = moved(op.rank);
      if (!bare && !op.set.contains(op.rank) && is_rooted(op.what)) op.rank = op.set.front();
      op.peer = has_peer(op) ? moved(op.peer) : 0;
    }
    s.stdin_ranks = keep(s.stdin_ranks);
    s.terminal_ranks = keep(s.terminal_ranks);
    s.not_started = keep(s.not_started);
    s.stubborn = keep(s.stubborn);
    std::erase_if(s.leftovers, [&](const Leftover& l) { return out.contains(l.rank); });
    for (Leftover& leftover : s.leftovers)
      leftover.rank = moved(leftover.rank);
  }

  static bool has_peer(const Op& op) {
    return op.kind == OpKind::get || op.kind == OpKind::send || op.kind == OpKind::receive ||
           op.odd;
  }

  static bool is_rooted(nla::CollectiveKind what) {
    return what == nla::CollectiveKind::gather || what == nla::CollectiveKind::broadcast ||
           what == nla::CollectiveKind::scatter;
  }

  // Position i of Schedule::place loses `count` ranks from its `offset`-th on.
  static void cut_place(Schedule& s, std::size_t i, std::uint32_t offset, std::uint32_t count) {
    Rank first = offset;
    for (std::size_t k = 0; k < i; ++k)
      first += s.place[k].second;
    drop_ranks(s, first, count);
    s.place[i].second -= count;
    if (s.place[i].second == 0) s.place.erase(s.place.begin() + static_cast<std::ptrdiff_t>(i));
  }

  bool fewer_ranks() {
    bool better = false;
    for (std::size_t i = 0; i < best_.place.size();) {
      const bool dropped = best_.place.size() > 1 &&
                           change([&](Schedule& s) { cut_place(s, i, 0, s.place[i].second); });
      better |= dropped;
      if (!dropped) ++i;
    }
    for (std::size_t i = 0; i < best_.place.size(); ++i) {
      for (std::uint32_t offset = 0; offset < best_.place[i].second;) {
        const bool dropped =
            best_.place[i].second > 1 && change([&](Schedule& s) { cut_place(s, i, offset, 1); });
        better |= dropped;
        if (!dropped) ++offset;
      }
    }
    return better;
  }

  // Takes hosts [first, first + count) out, with their ranks; those above move down.
  static void drop_hosts(Schedule& s, std::uint32_t first, std::uint32_t count) {
    const auto is_out = [&](std::uint32_t host) { return host >= first && host - first < count; };
    const auto move = [&](std::uint32_t& host) {
      if (host != kRootHost && host >= first) host -= count;
    };
    for (std::size_t i = s.place.size(); i-- > 0;) {
      if (is_out(s.place[i].first)) cut_place(s, i, 0, s.place[i].second);
    }
    std::erase_if(s.starts, [&](const HostStart& start) { return is_out(start.host); });
    std::erase_if(s.faults, [&](const Fault& fault) { return is_out(fault.host); });
    for (auto& entry : s.place)
      move(entry.first);
    for (HostStart& start : s.starts)
      move(start.host);
    for (Fault& fault : s.faults)
      move(fault.host);
    s.hosts -= count;
  }

  bool fewer_hosts() {
    bool better = false;
    for (std::uint32_t count = best_.hosts / 2; count > 0; count /= 2) {
      for (std::uint32_t first = 0; first + count <= best_.hosts && count < best_.hosts;) {
        const bool dropped = change([&](Schedule& s) {
          drop_hosts(s, first, count);
          if (s.place.empty()) s.place.emplace_back(0, 1);
        });
        better |= dropped;
        if (!dropped) first += count;
      }
    }
    return better;
  }

  bool simpler() {
    bool better = change([](Schedule& s) { s.pace.tail = 0; });
    better |= change([](Schedule& s) { s.pace.notice_max = 0; });
    better |= change([](Schedule& s) { s.pace.think_max = 0; });
    better |= change([](Schedule& s) { s.trace = false; });
    better |= change([](Schedule& s) { s.codec_every = 0; });
    better |= change([](Schedule& s) {
      s.stdin_bytes = 0;
      s.stdin_ranks = RankSet();
    });
    for (std::size_t i = 0; i < best_.ops.size(); ++i) {
      if (best_.ops[i].size > 0 && best_.ops[i].kind != OpKind::spawn)
        better |= change([&](Schedule& s) { s.ops[i].size = 0; });
      if (best_.ops[i].ref > 0 && best_.ops[i].kind == OpKind::spawn)
        better |= change([&](Schedule& s) { --s.ops[i].ref; });
      if (best_.ops[i].async) better |= change([&](Schedule& s) { s.ops[i].async = false; });
      if (best_.ops[i].uneven) better |= change([&](Schedule& s) { s.ops[i].uneven = false; });
    }
    return better;
  }

  Schedule best_;
  bool complete_ = is_complete(best_);
  const std::function<bool(const Schedule&)>& fails_;
  int budget_;
};

}  // namespace

Schedule shrink(const Schedule& schedule, const std::function<bool(const Schedule&)>& fails,
                int budget) {
  return Shrinker(schedule, fails, budget).run();
}

}  // namespace scela::sim
