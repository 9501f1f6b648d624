#include "nla/core/names.h"

#include <iterator>
#include <vector>

#include "common/core/text.h"

namespace scela::nla {

namespace {

// Smaller: programs that publish more are refused; larger: more memory for a wrong one, at the
// root.
constexpr std::uint32_t kNamesPerRank = 64;
// Likewise, of look-ups that wait.
constexpr std::uint32_t kWaitsPerRank = 64;
constexpr char kCutOff[] = "the way to the table of names was lost";

}  // namespace

void Names::ask(Rank rank, RequestId id, const ask::Name& question) {
  if (way_is_lost()) {
    context_.act(action::Reply{rank, id, Response{false, kCutOff, false, {}}});
    return;
  }
  waiting_.emplace(rank, id);
  context_.send_up(msg::NameAsked{rank, id, question.act, question.name, question.port});
}

bool Names::receive(const Child& from, const msg::NameAsked& message) {
  if (!from.ranks.contains(message.rank) || message.name.size() > kMaxName ||
      message.port.size() > kMaxPublished) {
    return false;
  }
  if (context_.is_root()) {
    serve(message);
  } else if (way_is_lost()) {
    context_.send(from.link, msg::NameAnswer{message.rank, message.id, false, kCutOff});
  } else {
    context_.send_up(message);
  }
  return true;
}

bool Names::receive(const msg::NameAnswer& message) {
  if (!context_.own_ranks.contains(message.rank)) {
    if (!context_.subtree_ranks.contains(message.rank)) return false;
    // Else lost since: nobody is left to read it.
    if (const Child* child = children_.holding(message.rank)) context_.send(child->link, message);
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

void Names::serve(const msg::NameAsked& message) {
  msg::NameAnswer result{message.rank, message.id, true, {}};
  const auto at = table_.find(message.name);
  const bool there = at != table_.end();
  switch (message.act) {
    case NameAct::publish:
    case NameAct::publish_once:
      publish(message, result);
      reply(result);
      return answer_parked(message.name);
    case NameAct::await:
      if (!there) return park(message);
      [[fallthrough]];
    case NameAct::lookup:
      if (there) result.text = take(message.name);
      break;
    case NameAct::unpublish:
      if (!there) break;
      --published_[at->second.owner];
      table_.erase(at);
      break;
  }
  if (!there) {
    result.ok = false;
    result.text = cat("the name '", message.name, "' is not published");
  }
  reply(result);
}

void Names::publish(const msg::NameAsked& message, msg::NameAnswer& answer) {
  if (table_.contains(message.name)) {
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
  ++count;
  const bool once = message.act == NameAct::publish_once;
  table_.emplace(message.name, Entry{message.port, message.rank, once});
}

void Names::park(const msg::NameAsked& message) {
  if (waits_[message.rank]++ < kWaitsPerRank) {
    parked_[message.name].push_back({message.rank, message.id});
    return;
  }
  --waits_[message.rank];
  const std::string why = cat("a rank waits for ", kWaitsPerRank, " names at most");
  reply({message.rank, message.id, false, why});
}

// In the order in which they came; a name that is there once has one of them.
void Names::answer_parked(const std::string& name) {
  const auto at = parked_.find(name);
  if (at == parked_.end()) return;
  std::deque<Asker>& askers = at->second;
  while (!askers.empty() && table_.contains(name)) {
    const Asker asker = askers.front();
    askers.pop_front();
    --waits_[asker.rank];
    reply({asker.rank, asker.id, true, take(name)});
  }
  if (askers.empty()) parked_.erase(at);
}

void Names::askers_failed(const RankSet& ranks) {
  for (auto at = parked_.begin(); at != parked_.end();) {
    std::erase_if(at->second, [&](const Asker& asker) { return ranks.contains(asker.rank); });
    at = at->second.empty() ? parked_.erase(at) : std::next(at);
  }
  ranks.for_each([&](Rank rank) { waits_.erase(rank); });
}

void Names::reply(const msg::NameAnswer& answer) {
  // Else lost since: nobody is left to read it.
  if (const Child* child = children_.holding(answer.rank)) context_.send(child->link, answer);
}

std::string Names::take(const std::string& name) {
  const auto at = table_.find(name);
  if (!at->second.once) return at->second.port;
  std::string port = std::move(at->second.port);
  --published_[at->second.owner];
  table_.erase(at);
  return port;
}

void Names::ranks_ended(const RankSet& ranks) {
  std::erase_if(waiting_, [&](const auto& one) { return ranks.contains(one.first); });
}

void Names::cut_off() {
  for (const auto& [rank, id] : std::exchange(waiting_, {}))
    context_.act(action::Reply{rank, id, Response{false, kCutOff, false, {}}});
}

}  // namespace scela::nla
