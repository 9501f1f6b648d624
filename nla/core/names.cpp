#include "nla/core/names.h"

#include <vector>

#include "common/core/text.h"

namespace scela::nla {

namespace {

// Of a name and of a port, as protocols allow them (pmi/protocol/limits.h).
constexpr std::size_t kMaxText = 1024;
// Smaller: programs that publish more are refused; larger: more memory for a wrong one, at the
// root.
constexpr std::uint32_t kNamesPerRank = 64;
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
  if (!from.ranks.contains(message.rank) || message.name.size() > kMaxText ||
      message.port.size() > kMaxText) {
    return false;
  }
  if (context_.is_root()) {
    context_.send(from.link, serve(message));
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

msg::NameAnswer Names::serve(const msg::NameAsked& message) {
  msg::NameAnswer answer{message.rank, message.id, true, {}};
  const auto at = table_.find(message.name);
  if (message.act == NameAct::publish) {
    publish(message, answer);
  } else if (at == table_.end()) {
    answer.ok = false;
    answer.text = cat("the name '", message.name, "' is not published");
  } else if (message.act == NameAct::lookup) {
    answer.text = at->second.port;
  } else {
    --published_[at->second.owner];
    table_.erase(at);
  }
  return answer;
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
  table_.emplace(message.name, Entry{message.port, message.rank});
}

void Names::ranks_ended(const RankSet& ranks) {
  std::erase_if(waiting_, [&](const auto& one) { return ranks.contains(one.first); });
}

void Names::cut_off() {
  for (const auto& [rank, id] : std::exchange(waiting_, {}))
    context_.act(action::Reply{rank, id, Response{false, kCutOff, false, {}}});
}

}  // namespace scela::nla
