#include "nla/core/kvs/names.h"

#include <iterator>
#include <vector>

#include "common/core/text.h"

namespace scela::nla {

namespace {

// A rank may publish this many names. If it were smaller, programs that publish more would be
// refused. If it were larger, a faulty program could take more memory at the root.
constexpr std::uint32_t kNamesPerRank = 64;
// A rank may have this many look-ups that wait, for similar reasons.
constexpr std::uint32_t kWaitsPerRank = 64;
// A name or a waiting look-up costs this much beside its text, in bytes.
constexpr std::uint64_t kEntryCost = 256;
constexpr char kTableCutOff[] = "the way to the table of names was lost";

std::uint64_t cost_of(const std::string& name, const std::string& port = {}) {
  return kEntryCost + name.size() + port.size();
}

std::string held_text(const char* what) {
  return cat("the ", what, " of a node's ranks take ", kMaxHeldOfNode >> 20, " MiB at most");
}

}  // namespace

void Names::ask(Rank rank, RequestId id, const ask::Name& question) {
  const bool gives_up = question.act == NameAct::give_up;
  // The question was answered meanwhile, or the way to the table is lost.
  if (gives_up && !waiting_.contains({rank, id})) return;
  if (has_no_parent() && question.act == NameAct::withdraw) return;
  if (has_no_parent()) {
    context_.act(action::Reply{rank, id, Response{false, kTableCutOff, false, {}}});
    return;
  }
  if (question.act != NameAct::withdraw) waiting_.emplace(rank, id);
  context_.send_up(
      msg::NameAsked{rank, id, question.act, question.name, question.port, question.range});
}

bool Names::receive(const Child& from, const msg::NameAsked& message) {
  if (!from.ranks.contains(message.rank) || message.name.size() > kMaxName ||
      message.port.size() > kMaxPublished) {
    return false;
  }
  if (context_.is_root()) {
    serve(message);
  } else if (has_no_parent()) {
    context_.send(from.link, msg::NameAnswer{message.rank, message.id, false, kTableCutOff});
  } else {
    context_.send_up(message);
  }
  return true;
}

bool Names::receive(const msg::NameAnswer& message) {
  if (!context_.own_ranks.contains(message.rank)) {
    // The asker was told that its way to the root was lost.
    if (!context_.subtree_ranks.contains(message.rank)) return context_.adopted;
    // If no child holds the rank, its agent was lost, and no rank waits for this.
    if (const Child* child = children_.child_with_rank(message.rank))
      context_.send(child->link, message);
    return true;
  }
  if (waiting_.erase({message.rank, message.id}) == 0) return true;  // told of a loss meanwhile
  Response response;
  response.ok = message.ok;
  if (message.ok) {
    response.parts.emplace_back(message.text);
  } else {
    response.error = message.text;
  }
  context_.act(action::Reply{message.rank, message.id, std::move(response)});
  return true;
}

// Returns the number of the world, node or rank that `rank` belongs to; 0 for the whole job.
std::uint64_t Names::where(NameRange range, Rank rank) const {
  switch (range) {
    case NameRange::job:
      break;
    case NameRange::world:
      return context_.job->world_of(rank);
    case NameRange::node:
      return context_.job->map.node_of(rank).value_or(0);
    case NameRange::rank:
      return rank;
  }
  return 0;
}

Names::Table::iterator Names::find(const std::string& name, Rank rank, NameRange range) {
  for (const NameRange one : {NameRange::rank, NameRange::node, NameRange::world, NameRange::job}) {
    const auto at = table_.find({name, one, where(one, rank)});
    if (at == table_.end()) continue;
    if (where(range, at->second.owner) == where(range, rank)) return at;
  }
  return table_.end();
}

void Names::serve(const msg::NameAsked& message) {
  if (!context_.job) return;
  msg::NameAnswer result{message.rank, message.id, true, {}};
  auto at = table_.end();
  switch (message.act) {
    case NameAct::publish:
    case NameAct::publish_once:
    case NameAct::publish_own:
      publish(message, result);
      reply(result);
      return answer_parked(message.name);
    case NameAct::await:
    case NameAct::lookup:
      at = find(message.name, message.rank, message.range);
      if (at != table_.end()) {
        result.text = take(at);
        return reply(result);
      }
      if (message.act == NameAct::await) return park(message);
      break;
    case NameAct::unpublish:
      at = table_.find({message.name, message.range, where(message.range, message.rank)});
      if (at == table_.end()) break;
      erase(at);
      return reply(result);
    case NameAct::give_up:
      return give_up(message);
    case NameAct::withdraw:
      return withdraw(RankSet::single(message.rank));
  }
  result.ok = false;
  result.text = cat("the name '", message.name, "' is not published");
  reply(result);
}

void Names::publish(const msg::NameAsked& message, msg::NameAnswer& answer) {
  Key key{message.name, message.range, where(message.range, message.rank)};
  if (table_.contains(key)) {
    answer.ok = false;
    answer.text = cat("the name '", message.name, "' is published already");
    return;
  }
  std::uint32_t& count = published_[message.rank];
  if (count >= kNamesPerRank) {
    answer.ok = false;
    answer.text = cat("a rank publishes ", kNamesPerRank, " names at most");
    return;
  }
  if (!may_hold(message.rank, cost_of(message.name, message.port))) {
    answer.ok = false;
    answer.text = held_text("names");
    return;
  }
  ++count;
  const bool once = message.act == NameAct::publish_once;
  const bool own = message.act == NameAct::publish_own;
  table_.emplace(std::move(key), Entry{message.port, message.rank, once, own});
}

void Names::park(const msg::NameAsked& message) {
  std::uint32_t& waits = waits_[message.rank];
  if (waits >= kWaitsPerRank) {
    const std::string why = cat("a rank waits for ", kWaitsPerRank, " names at most");
    return reply({message.rank, message.id, false, why});
  }
  if (!may_hold(message.rank, cost_of(message.name))) {
    return reply({message.rank, message.id, false, held_text("waiting look-ups")});
  }
  ++waits;
  parked_[message.name].push_back({message.rank, message.id, message.range});
}

// Answers the askers in the order in which they came. A name of publish_once goes to one of them.
void Names::answer_parked(const std::string& name) {
  const auto at = parked_.find(name);
  if (at == parked_.end()) return;
  std::erase_if(at->second, [&](const Asker& asker) {
    const auto found = find(name, asker.rank, asker.range);
    if (found == table_.end()) return false;
    --waits_[asker.rank];
    release(asker.rank, cost_of(name));
    reply({asker.rank, asker.id, true, take(found)});
    return true;
  });
  if (at->second.empty()) parked_.erase(at);
}

// The root answers this, so that no name of publish_once is lost between an asker and the table.
void Names::give_up(const msg::NameAsked& message) {
  const auto at = parked_.find(message.name);
  if (at == parked_.end()) return;
  const std::size_t gone = std::erase_if(at->second, [&](const Asker& asker) {
    return asker.rank == message.rank && asker.id == message.id;
  });
  if (at->second.empty()) parked_.erase(at);
  if (gone == 0) return;
  --waits_[message.rank];
  release(message.rank, gone * cost_of(message.name));
  const std::string why = cat("the name '", message.name, "' was not published in time");
  reply({message.rank, message.id, false, why});
}

void Names::withdraw(const RankSet& owners) {
  for (auto at = table_.begin(); at != table_.end();) {
    const auto here = at++;
    if (here->second.own && owners.contains(here->second.owner)) erase(here);
  }
}

bool Names::may_hold(Rank rank, std::uint64_t bytes) {
  std::uint64_t& held = held_[context_.job->map.node_of(rank).value_or(0)];
  if (held + bytes > kMaxHeldOfNode) return false;
  held += bytes;
  return true;
}

void Names::release(Rank rank, std::uint64_t bytes) {
  held_[context_.job->map.node_of(rank).value_or(0)] -= bytes;
}

void Names::erase(Table::iterator at) {
  --published_[at->second.owner];
  release(at->second.owner, cost_of(at->first.name, at->second.port));
  table_.erase(at);
}

void Names::askers_failed(const RankSet& ranks) {
  for (auto at = parked_.begin(); at != parked_.end();) {
    std::erase_if(at->second, [&](const Asker& asker) {
      if (!ranks.contains(asker.rank)) return false;
      release(asker.rank, cost_of(at->first));
      return true;
    });
    at = at->second.empty() ? parked_.erase(at) : std::next(at);
  }
  ranks.for_each([&](Rank rank) { waits_.erase(rank); });
  withdraw(ranks);
}

void Names::reply(const msg::NameAnswer& answer) {
  // If no child holds the rank, its agent was lost, and no rank waits for this.
  if (const Child* child = children_.child_with_rank(answer.rank))
    context_.send(child->link, answer);
}

std::string Names::take(Table::iterator at) {
  if (!at->second.once) return at->second.port;
  std::string port = at->second.port;
  erase(at);
  return port;
}

void Names::ranks_ended(const RankSet& ranks) {
  std::erase_if(waiting_, [&](const auto& one) { return ranks.contains(one.first); });
}

void Names::cut_off() {
  for (const auto& [rank, id] : std::exchange(waiting_, {}))
    context_.act(action::Reply{rank, id, Response{false, kTableCutOff, false, {}}});
}

}  // namespace scela::nla
