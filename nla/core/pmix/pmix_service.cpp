#include "nla/core/pmix/pmix_service.h"

#include <algorithm>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "nla/core/kvs/names.h"

namespace scela::nla {

namespace {

using pmix::Status;

// The most bytes of a fence's result. Its message has room for the other fields too.
constexpr std::size_t kMaxFenced = pmix::kMaxBody - 64;
// At most this many fences of one set wait for each other, and a rank has at most this many open
// spawns.
constexpr std::size_t kMaxOpen = 64;
// Open MPI gives this text if it has no message.
constexpr std::string_view kNoMessage = "N/A";

NameRange range_of(pmix::Range range) {
  switch (range) {
    case pmix::Range::job:
      break;
    case pmix::Range::space:
      return NameRange::world;
    case pmix::Range::node:
      return NameRange::node;
    case pmix::Range::rank:
      return NameRange::rank;
  }
  return NameRange::job;
}

// Returns the FNV-1a hash of set and name, which is equal at every node.
std::uint32_t tag_of(const RankSet& ranks, std::string_view name) {
  ByteWriter out;
  out.ranks(ranks);
  out.raw(name);
  std::uint32_t hash = 2166136261U;
  for (const char c : out.bytes())
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

PmixService::PmixService(const Job& job, const RankSet& own, std::uint32_t node, Sides sides)
    : job_(job),
      own_(own),
      node_(node),
      sides_(std::move(sides)),
      watch_(job, own, watch_sides()),
      copies_(job, own, copies_sides()),
      data_(job, own, data_sides()) {}

PmixWatch::Sides PmixService::watch_sides() {
  PmixWatch::Sides out;
  out.tell = [this](pmix::Message message) {
    if (ready_worlds_ > 0) sides_.tell(std::move(message));
  };
  // The sender is any rank of this node, even one that has ended: the node answers as long as its
  // agent does.
  out.send = [this](std::uint32_t tag, Rank to, std::string bytes) {
    sides_.ask(own_.front(), next_++, ask::Send{to, tag, Chunk(std::move(bytes))});
  };
  out.look = [this](Rank rank) { return look(rank); };
  out.kill = [this](Rank rank, std::int32_t signo) {
    if (sides_.kill) sides_.kill(rank, signo);
  };
  out.write = [this](Rank rank, bool error, std::string text) {
    return sides_.write && sides_.write(rank, error, std::move(text));
  };
  return out;
}

PmixCopies::Sides PmixService::copies_sides() {
  const PmixWatch::Sides same = watch_sides();
  return {same.tell, same.send};
}

PmixData::Sides PmixService::data_sides() {
  const PmixWatch::Sides same = watch_sides();
  return {same.tell, same.send};
}

pmix::Process PmixService::look(Rank rank) const {
  pmix::Process out{rank, sides_.process ? sides_.process(rank) : 0, {}, 0};
  if (out.pid != 0) {
    out.state = unfinished(rank) ? pmix::ProcessState::connected : pmix::ProcessState::running;
  }
  return out;
}

bool PmixService::receive(pmix::Message message) {
  if (!fault_.empty()) return false;
  const bool begins = std::holds_alternative<pmix::msg::Environment>(message) ||
                      std::holds_alternative<pmix::msg::Ready>(message) ||
                      std::holds_alternative<pmix::msg::Failed>(message);
  if (begins ? told_.empty() : ready_worlds_ == 0) return false;
  return std::visit([this](auto& one) { return take(one); }, message);
}

const std::vector<std::string>& PmixService::environment(Rank rank) const {
  static const std::vector<std::string> none;
  const auto at = environments_.find(rank);
  return at == environments_.end() ? none : at->second;
}

// Worlds.

pmix::msg::World PmixService::world(std::size_t number) const {
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

void PmixService::tell_worlds() {
  for (std::size_t next = ready_worlds_ + told_.size(); next <= job_.worlds.size(); ++next) {
    told_.push_back(job_.map.ranks_of(node_).intersection(job_.ranks_of_world(next)));
    sides_.tell(world(next));
  }
}

bool PmixService::take(pmix::msg::Environment& message) {
  if (!told_.front().contains(message.rank)) return false;
  told_.front().remove(RankSet::single(message.rank));
  environments_[message.rank] = std::move(message.variables);
  return true;
}

bool PmixService::take(pmix::msg::Ready&) {
  if (!told_.front().empty()) return false;
  told_.pop_front();
  ++ready_worlds_;
  data_.worlds_ready(ready_worlds_);
  return true;
}

bool PmixService::take(pmix::msg::Failed& message) {
  fault_ = std::move(message.why);
  return !fault_.empty();
}

bool PmixService::take(pmix::msg::Connected& message) {
  if (!own_.contains(message.rank)) return false;
  if (ended_.contains(message.rank)) return true;  // its stand-in
  connected_.add(message.rank);
  known_.add(message.rank);
  send_stand_ins();
  return true;
}

bool PmixService::take(pmix::msg::Finalized& message) {
  if (!own_.contains(message.rank)) return false;
  connected_.remove(RankSet::single(message.rank));
  answer(message.id, Status::ok);
  return true;
}

bool PmixService::take(pmix::msg::Abort& message) {
  if (!own_.contains(message.rank)) return false;
  answer(message.id, Status::ok);
  watch_.ended({message.rank, 0, pmix::ProcessState::aborted, message.status});
  if (message.message == kNoMessage) message.message.clear();
  if (is_here(message.rank)) {
    sides_.ask(message.rank, next_++, ask::Abort{message.status, std::move(message.message)});
  }
  return true;
}

// Fences.

PmixService::Fences& PmixService::fences_of(const Gathering& gathering) {
  const auto [at, is_new] = fences_.try_emplace(gathering);
  if (!is_new) return at->second;
  Fences& fences = at->second;
  const RankSet& ranks = gathering.ranks;
  fences.tag = tag_of(ranks, gathering.name);
  // This uses the whole job's map, because a set may have ranks of several worlds.
  RankSet led;  // nodes
  Rank first = 0;
  for (const RankMap::Block& block : job_.map.blocks()) {
    for (std::uint32_t i = 0; i < block.nodes; ++i, first += block.ranks_per_node) {
      const RankSet here = RankSet::run(first, block.ranks_per_node).intersection(ranks);
      if (here.empty() || led.contains(block.first_node + i)) continue;
      fences.leaders.add(here.front());
      led.add(block.first_node + i);
    }
  }
  return fences;
}

bool PmixService::take(pmix::msg::Fence& message) {
  if (!message.ranks.intersects(own_) ||
      !RankSet::run(0, job_.map.size()).contains_all(message.ranks)) {
    return false;
  }
  const Gathering gathering{std::move(message.ranks), std::move(message.name)};
  Fences& fences = fences_of(gathering);
  if (fences.waiting.size() >= kMaxOpen) {
    answer(message.id, Status::too_large);
    return true;
  }
  fences.waiting.push_back({message.id, std::move(message.blob)});
  if (!fences.under_way) enter(gathering, fences);
  if (!fences.under_way) fences_.erase(gathering);
  return true;
}

void PmixService::enter(const Gathering& gathering, Fences& fences) {
  const RankSet& ranks = gathering.ranks;
  const Rank leader = ranks.intersection(own_).front();
  while (!fences.waiting.empty()) {
    const Fence fence = std::move(fences.waiting.front());
    fences.waiting.pop_front();
    // The core knows that the leader has ended, and tells the other nodes.
    if (ended_.contains(leader)) {
      answer(fence.id, Status::failed);
      continue;
    }
    ByteWriter given;
    given.flag(is_incomplete(ranks));
    given.ranks(ranks);
    given.text(gathering.name);
    if (!gathering.name.empty()) given.u64((std::uint64_t{leader} << 32) + ++numbered_);
    given.raw(fence.blob);
    ask::Collective gather;
    gather.kind = CollectiveKind::allgather;
    gather.set = fences.leaders;
    gather.tag = fences.tag;
    gather.parts.emplace_back(given.take());
    fences.under_way = true;
    ask({fence.id, leader, gathering, Status::failed}, std::move(gather));
    return;
  }
}

// The server lets a fence pass when the last of its ranks that is left has come.
bool PmixService::is_incomplete(const RankSet& ranks) const {
  bool leaving = ended_.intersects(ranks);
  if (!sides_.is_leaving || job_.on_failure == OnFailure::kill) return leaving;
  own_.intersection(ranks).for_each([&](Rank rank) { leaving |= sides_.is_leaving(rank); });
  return leaving;
}

pmix::msg::Answer PmixService::fenced(const Question& question, const Response& response) const {
  const Gathering& gathering = *question.fence;
  pmix::msg::Answer out{question.id, response.ok ? Status::ok : Status::failed, {}};
  for (const Chunk& part : response.parts) {
    ByteReader in(part.view());
    const bool broken = in.flag();
    const bool other = in.ranks() != gathering.ranks || in.text() != gathering.name;
    if (!gathering.name.empty()) {
      const std::string_view number = in.raw(8);
      if (out.blob.empty()) out.blob = number;  // the first part is the lowest rank's
    }
    if (!in.ok() || broken || other) out.status = Status::failed;
    if (out.status == Status::ok) out.blob += in.rest();
  }
  if (out.status == Status::ok && out.blob.size() > kMaxFenced) out.status = Status::too_large;
  if (out.status != Status::ok) out.blob.clear();
  return out;
}

// Names.

bool PmixService::ask_name(Question question, ask::Name name) {
  const Rank rank = question.rank;
  // Ranks of this node that were refused never came, but a tool may speak in their name.
  if (!own_.contains(rank) && !job_.map.ranks_of(node_).contains(rank)) return false;
  if (name.name.size() > kMaxName || name.port.size() > kMaxPublished) {
    answer(question.id, Status::too_large);
  } else if (!is_here(rank)) {
    answer(question.id, Status::failed);
  } else {
    ask(std::move(question), std::move(name));
  }
  return true;
}

bool PmixService::take(pmix::msg::Publish& message) {
  NameAct act = NameAct::publish;
  if (message.keep == pmix::Keep::first_read) act = NameAct::publish_once;
  if (message.keep == pmix::Keep::rank) {
    act = NameAct::publish_own;
    publishers_.add(message.rank);
  }
  return ask_name({message.id, message.rank, {}, Status::exists},
                  {act, std::move(message.name), std::move(message.blob), range_of(message.range)});
}

bool PmixService::take(pmix::msg::Lookup& message) {
  Question question{message.id, message.rank, {}, Status::not_found};
  if (message.wait) question.name = message.name;
  const NameAct act = message.wait ? NameAct::await : NameAct::lookup;
  return ask_name(std::move(question), {act, std::move(message.name), {}, range_of(message.range)});
}

bool PmixService::take(pmix::msg::Unpublish& message) {
  return ask_name({message.id, message.rank, {}, Status::not_found},
                  {NameAct::unpublish, std::move(message.name), {}, range_of(message.range)});
}

// The root says what has become of the look-up: the name may have been published at this moment.
bool PmixService::take(pmix::msg::GiveUp& message) {
  if (data_.give_up(message.id)) return true;
  const auto at = std::ranges::find_if(asked_, [&](const auto& one) {
    return one.second.id == message.id && !one.second.name.empty();
  });
  if (at == asked_.end()) return true;  // its answer is on its way
  at->second.refused = Status::timed_out;
  sides_.ask(at->second.rank, at->first, ask::Name{NameAct::give_up, at->second.name});
  return true;
}

// More ranks.

bool PmixService::take(pmix::msg::Spawn& message) {
  if (!own_.contains(message.rank)) return false;
  if (!is_here(message.rank)) {
    answer(message.id, Status::failed);
    return true;
  }
  const auto open = std::ranges::count_if(asked_, [&](const auto& one) {
    return one.second.rank == message.rank && one.second.refused == Status::not_spawned;
  });
  if (static_cast<std::size_t>(open) >= kMaxOpen) {
    answer(message.id, Status::too_large);
    return true;
  }
  ask::Spawn wanted;
  for (pmix::msg::Spawn::Program& program : message.programs) {
    if (program.argv.empty()) return false;
    SpawnProgram out{std::move(program.argv), program.ranks, {}, std::move(program.env)};
    const auto hint = [&](const char* key, std::string& value) {
      if (!value.empty()) out.infos.emplace_back(key, std::move(value));
    };
    hint("host", program.hosts);
    hint("wdir", program.directory);
    hint("path", program.path);
    wanted.request.programs.push_back(std::move(out));
  }
  ask({message.id, message.rank, {}, Status::not_spawned}, std::move(wanted));
  return true;
}

// Takes a message of another node's agent.
void PmixService::heard(const action::Reply& message) {
  const std::vector<Chunk>& parts = message.response.parts;
  if (parts.size() != 3) return;
  ByteReader source(parts[0].view());
  ByteReader tag(parts[1].view());
  const Rank from = source.varint32();
  const std::uint32_t about = tag.varint32();
  if (!source.ok() || !tag.ok()) return;
  const std::string_view bytes = parts[2].view();
  if (watch_.heard(about, from, bytes) || copies_.heard(about, from, bytes)) return;
  data_.heard(about, from, message.rank, bytes);
}

void PmixService::peers_failed(const RankSet& ranks) {
  watch_.peers_failed(ranks);
  copies_.peers_failed(ranks);
  data_.peers_failed(ranks);
}

void PmixService::nodes_lost(const RankSet& nodes) {
  // Only nodes that have ranks count, whatever numbers the message has.
  RankSet known;
  for (const RankMap::Block& block : job_.map.blocks())
    known.add(RankSet::run(block.first_node, block.nodes));
  known = known.intersection(nodes);
  copies_.nodes_lost(known);
  watch_.nodes_lost(known);
  data_.nodes_lost(known);
}

void PmixService::reconnected(const RankSet& ranks) {
  data_.reconnected(ranks);
  watch_.reconnected(ranks);
  copies_.reconnected(ranks);
}

// Answers.

void PmixService::answer(pmix::Id id, pmix::Status status, std::string blob) {
  sides_.tell(pmix::msg::Answer{id, status, std::move(blob)});
}

void PmixService::ask(Question question, Request request) {
  const RequestId id = next_++;
  const Rank rank = question.rank;
  asked_.emplace(id, std::move(question));
  sides_.ask(rank, id, std::move(request));
}

void PmixService::reply(const action::Reply& reply) {
  if (reply.id == kUnasked) return heard(reply);
  const auto at = asked_.extract(reply.id);
  if (at.empty()) return;
  const Question& question = at.mapped();
  const Response& response = reply.response;
  if (!question.fence) {
    std::string blob;
    if (response.ok && !response.parts.empty()) blob = response.parts.front().view();
    return answer(question.id, response.ok ? Status::ok : question.refused, std::move(blob));
  }
  sides_.tell(fenced(question, response));
  go_on(*question.fence);
}

// Begins a fence that waits for the one that is over. If none waits, the gathering is forgotten.
void PmixService::go_on(const Gathering& gathering) {
  Fences& fences = fences_.at(gathering);
  fences.under_way = false;
  enter(gathering, fences);
  if (!fences.under_way) fences_.erase(gathering);
}

void PmixService::note_end(const pmix::Process& process) {
  using pmix::ProcessState;
  watch_.ended(process);
  if (process.state == ProcessState::not_started) rank_ended(process.rank);
  const bool is_fine = process.state == ProcessState::exited && process.code == 0;
  // If the job ends because of this rank, no rank will be left to wait for it.
  if (!is_fine && job_.on_failure == OnFailure::kill) return;
  if (!known_.contains(process.rank)) absent_.add(process.rank);
  send_stand_ins();
}

void PmixService::send_stand_ins() {
  if (connected_.empty() || !sides_.stand_in) return;
  std::exchange(absent_, {}).for_each(sides_.stand_in);
}

void PmixService::rank_ended(Rank rank) {
  connected_.remove(RankSet::single(rank));
  // The agent still listens to the rank at this time.
  if (publishers_.contains(rank)) sides_.ask(rank, next_++, ask::Name{NameAct::withdraw, {}});
  publishers_.remove(RankSet::single(rank));
  ended_.add(rank);
  data_.rank_ended(rank);
  // No agent answers what was asked in the rank's name any more.
  for (auto at = asked_.begin(); at != asked_.end();) {
    if (at->second.rank != rank) {
      ++at;
      continue;
    }
    const Question question = std::move(at->second);
    at = asked_.erase(at);
    answer(question.id, Status::failed);
    if (question.fence) go_on(*question.fence);
  }
}

}  // namespace scela::nla
