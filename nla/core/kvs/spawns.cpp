#include "nla/core/kvs/spawns.h"

#include <algorithm>
#include <cerrno>

#include "common/core/text.h"
#include "nla/core/wire/message_pieces.h"

namespace scela::nla {

namespace {

// The most bytes of one request, which travels as one message. A program with more arguments can
// have them in a file.
constexpr std::size_t kMaxRequest = kMaxPiece;
constexpr char kRootCutOff[] = "the way to the root of the tree was lost";

std::size_t size_of(const KeyValues& pairs) {
  std::size_t size = 0;
  for (const auto& [key, value] : pairs)
    size += key.size() + value.size() + 8;
  return size;
}

std::size_t size_of(const SpawnRequest& request) {
  std::size_t size = size_of(request.preput);
  for (const RankSet* ranks : {&request.stops.on_exec, &request.stops.in_init})
    size += 8 * ranks->ranges().size();
  for (const SpawnProgram& program : request.programs) {
    size += size_of(program.infos) + 32;
    for (const auto* words : {&program.argv, &program.env}) {
      for (const std::string& word : *words)
        size += word.size() + 4;
    }
  }
  return size;
}

}  // namespace

void Spawns::ask(Rank rank, RequestId id, const ask::Spawn& wanted) {
  const auto refused = [&](std::string why) {
    context_.act(action::Reply{rank, id, Response{false, std::move(why), false, {}}});
  };
  if (has_no_parent()) return refused(kRootCutOff);
  if (size_of(wanted.request) > kMaxRequest) {
    return refused(cat("a request to spawn takes ", kMaxRequest, " bytes at most"));
  }
  waiting_.emplace(rank, id);
  context_.send_up(msg::SpawnAsked{rank, id, wanted.request});
}

bool Spawns::receive(const Child& from, const msg::SpawnAsked& message) {
  const auto empty = [](const SpawnProgram& program) { return program.argv.empty(); };
  if (!from.ranks.contains(message.rank) || size_of(message.request) > kMaxRequest ||
      std::any_of(message.request.programs.begin(), message.request.programs.end(), empty)) {
    return false;
  }
  if (context_.is_root()) {
    context_.act(action::Spawn{message.rank, message.id, message.request});
  } else if (has_no_parent()) {
    context_.send(from.link, msg::SpawnAnswer{message.rank, message.id, false, kRootCutOff, {}});
  } else {
    context_.send_up(message);
  }
  return true;
}

bool Spawns::receive(const msg::SpawnAnswer& message) {
  // The asker was told that its way to the root was lost.
  if (!context_.subtree_ranks.contains(message.rank)) return context_.adopted;
  answer(message);
  return true;
}

void Spawns::answer(const msg::SpawnAnswer& message) {
  if (!context_.own_ranks.contains(message.rank)) {
    // If no child holds the rank, its agent was lost, and no rank waits for this.
    if (const Child* child = children_.child_with_rank(message.rank))
      context_.send(child->link, message);
    return;
  }
  if (waiting_.erase({message.rank, message.id}) == 0) return;  // told of a loss meanwhile
  Response response;
  response.ok = message.ok;
  if (!message.ok) response.error = message.text;
  response.parts.emplace_back(message.ok ? message.text : message.codes);
  context_.act(action::Reply{message.rank, message.id, std::move(response)});
}

void Spawns::refuse(Rank rank, RequestId id, const std::string& text) {
  answer(msg::SpawnAnswer{rank, id, false, text, {}});
}

void Spawns::ranks_ended(const RankSet& ranks) {
  std::erase_if(waiting_, [&](const auto& one) { return ranks.contains(one.first); });
}

void Spawns::cut_off() {
  for (const auto& [rank, id] : std::exchange(waiting_, {}))
    context_.act(action::Reply{rank, id, Response{false, kRootCutOff, false, {}}});
}

void Spawns::began(std::pair<Rank, RequestId> asker) {
  launches_.emplace_back().asker = asker;
  ++unreported_;
}

void Spawns::not_started(Rank rank, std::int32_t error, const std::string& why) {
  const std::size_t world = context_.job->world_of(rank);
  if (world == 0) return;
  Launch& launch = launches_[world - 1];
  if (launch.error != 0) return;
  launch.error = error;
  launch.why = cat("on ", context_.is_root() ? "" : context_.hosts.front(), ": ", why);
}

bool Spawns::receive(const Child& from, const msg::WorldLaunched& message) {
  if (message.world == 0 || message.world > launches_.size()) return false;
  const RankSet below = context_.job->ranks_of_world(message.world).intersection(from.ranks);
  if (!below.contains_all(message.started)) return false;
  Launch& launch = launches_[message.world - 1];
  // An adopted agent may say again what its lost parent has passed on.
  if (launch.told || !launch.heard.insert(from.link).second) return true;
  launch.started.add(message.started);
  if (launch.error == 0 && message.error != 0) {
    launch.error = message.error;
    launch.why = message.why.substr(0, kMaxWhy);
  }
  return true;
}

void Spawns::advance(const RankSet& started, const Verdicts& verdicts, bool ended) {
  for (std::size_t i = 0; unreported_ > 0 && i < launches_.size(); ++i) {
    Launch& launch = launches_[i];
    if (launch.told) continue;
    const RankSet ranks = context_.job->ranks_of_world(i + 1);
    const RankSet own = ranks.intersection(context_.own_ranks);
    const RankSet here = own.intersection(started);
    if (!verdicts.open(own.minus(here)).empty()) continue;
    const bool waits =
        std::any_of(children_.all().begin(), children_.all().end(), [&](const Child& child) {
          return child.serving() && child.ranks.intersects(ranks) &&
                 !launch.heard.contains(child.link);
        });
    if (waits) continue;
    launch.told = true;
    --unreported_;
    launch.started.add(here);
    if (context_.is_root()) {
      conclude(i + 1, ended);
    } else {
      tell(i + 1);
    }
  }
}

void Spawns::tell(std::size_t world) {
  const Launch& launch = launches_[world - 1];
  context_.send_up(msg::WorldLaunched{static_cast<std::uint32_t>(world), launch.started,
                                      launch.error, launch.why.substr(0, kMaxWhy)});
}

void Spawns::conclude(std::size_t world, bool ended) {
  Launch& launch = launches_[world - 1];
  const RankSet ranks = context_.job->ranks_of_world(world);
  msg::SpawnAnswer told{
      launch.asker.first, launch.asker.second, true, context_.job->name_of_world(world), {}};
  std::string why;
  if (launch.started != ranks) {
    if (launch.why.empty())
      launch.why = "a node was lost, or a signal came, before all of them were started";
    told.ok = false;
    told.text = why = launch.why;
    // Clients have no room for more codes, and the size of a frame is bounded.
    constexpr std::size_t kMaxCodes = 256;
    if (ranks.size() <= kMaxCodes) {
      ranks.for_each([&](Rank rank) {
        if (!told.codes.empty()) told.codes += ',';
        told.codes += launch.started.contains(rank) ? '0' : '1';
      });
    }
    unwanted.add(launch.started);
    if (!ended) children_.broadcast(msg::EndRanks{launch.started});
  }
  context_.act(action::WorldLaunched{ranks, ended ? std::string() : why});
  answer(told);
}

void Spawns::repeat_reports() {
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    if (launches_[i].told) tell(i + 1);
  }
}

void Spawns::send_world(const Child& child, std::size_t world) {
  const Chunk bytes(encode(context_.job->worlds[world - 1]));
  for_each_piece(bytes, kMaxPiece, [&](const Chunk& piece, std::size_t, bool last) {
    context_.send(child.link, msg::WorldBytes{last, piece});
  });
}

void Spawns::send_worlds(const Child& child, std::size_t has) {
  for (std::size_t world = has + 1; world <= context_.job->worlds.size(); ++world)
    send_world(child, world);
  const RankSet ended = unwanted.intersection(child.ranks);
  if (!ended.empty()) context_.send(child.link, msg::EndRanks{ended});
}

}  // namespace scela::nla
