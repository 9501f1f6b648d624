#include "nla/core/pmix/pmix_service.h"

#include <utility>
#include <variant>

#include "common/core/bytes.h"
#include "common/core/overloaded.h"

namespace scela::nla {

namespace {

using pmix::Status;

// A rank has at most this many open spawns.
constexpr std::size_t kMaxOpenSpawns = 64;
// Open MPI gives this text if it has no message.
constexpr std::string_view kNoMessage = "N/A";

// Returns true for the messages about a world that is not ready.
bool is_about_begin(const pmix::Message& message) {
  return std::holds_alternative<pmix::msg::Environment>(message) ||
         std::holds_alternative<pmix::msg::Ready>(message) ||
         std::holds_alternative<pmix::msg::Failed>(message);
}

}  // namespace

PmixService::PmixService(const Job& job, const RankSet& own, std::uint32_t node, Callbacks sides)
    : job_(job),
      own_(own),
      sides_(std::move(sides)),
      questions_(sides_.tell, sides_.ask),
      worlds_(job, node, sides_.tell),
      ranks_(job, own, sides_.is_leaving, sides_.stand_in),
      fences_(job, own, ranks_, questions_),
      names_(job, node, ranks_, questions_),
      watch_(job, own, watch_sides()),
      copies_(job, own, copies_sides()),
      data_(job, own, data_sides()) {}

PmixWatch::Callbacks PmixService::watch_sides() {
  PmixWatch::Callbacks out;
  out.tell = [this](pmix::Message message) {
    if (worlds_.ready() > 0) sides_.tell(std::move(message));
  };
  // The sender is any rank of this node, even one that has ended: the node answers as long as its
  // agent does.
  out.send = [this](std::uint32_t tag, Rank to, std::string bytes) {
    questions_.send(own_.front(), ask::Send{to, tag, Chunk(std::move(bytes))});
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

PmixCopies::Callbacks PmixService::copies_sides() {
  const PmixWatch::Callbacks same = watch_sides();
  return {same.tell, same.send};
}

PmixData::Callbacks PmixService::data_sides() {
  const PmixWatch::Callbacks same = watch_sides();
  return {same.tell, same.send};
}

pmix::Process PmixService::look(Rank rank) const {
  pmix::Process out{rank, sides_.process ? sides_.process(rank) : 0, {}, 0};
  if (out.pid != 0) {
    out.state = unfinished(rank) ? pmix::ProcessState::connected : pmix::ProcessState::running;
  }
  return out;
}

// Messages of the server.

bool PmixService::receive(pmix::Message message) {
  namespace msg = pmix::msg;
  if (!fault_.empty()) return false;
  if (is_about_begin(message) ? !worlds_.is_any_awaited() : worlds_.ready() == 0) return false;
  return std::visit(Overloaded{
                        [&](msg::Environment& one) { return worlds_.receive(one); },
                        [&](msg::Ready& one) {
                          if (!worlds_.receive(one)) return false;
                          data_.worlds_ready(worlds_.ready());
                          return true;
                        },
                        [&](msg::Failed& one) {
                          fault_ = std::move(one.why);
                          return !fault_.empty();
                        },
                        [&](msg::Connected& one) { return ranks_.connected(one.rank); },
                        [&](msg::Finalized& one) {
                          if (!ranks_.finalized(one.rank)) return false;
                          questions_.answer(one.id, Status::ok);
                          return true;
                        },
                        [&](msg::Abort& one) { return abort(one); },
                        [&](msg::Fence& one) { return fences_.receive(one); },
                        [&](msg::DataWanted& one) { return data_.receive(one); },
                        [&](msg::Data& one) { return data_.receive(one); },
                        [&](msg::Publish& one) { return names_.receive(one); },
                        [&](msg::Lookup& one) { return names_.receive(one); },
                        [&](msg::Unpublish& one) { return names_.receive(one); },
                        [&](msg::GiveUp& one) {
                          if (!data_.give_up(one.id)) questions_.give_up(one.id);
                          return true;
                        },
                        [&](msg::TableWanted& one) { return watch_.receive(one); },
                        [&](msg::Notify& one) { return watch_.receive(one); },
                        [&](msg::Control& one) { return watch_.receive(one); },
                        [&](msg::Log& one) { return watch_.receive(one); },
                        [&](msg::Spawn& one) { return spawn(one); },
                        [&](msg::Pull& one) { return copies_.receive(one); },
                        [&](msg::PullNoMore& one) { return copies_.receive(one); },
                        [&](msg::Taken& one) { return copies_.receive(one); },
                        [&](msg::Release& one) { return release(one); },
                        [](auto& /*of_agent*/) { return false; },
                    },
                    message);
}

bool PmixService::abort(pmix::msg::Abort& message) {
  if (!own_.contains(message.rank)) return false;
  questions_.answer(message.id, Status::ok);
  watch_.ended({message.rank, 0, pmix::ProcessState::aborted, message.status});
  if (message.message == kNoMessage) message.message.clear();
  if (ranks_.is_here(message.rank)) {
    questions_.send(message.rank, ask::Abort{message.status, std::move(message.message)});
  }
  return true;
}

bool PmixService::spawn(pmix::msg::Spawn& message) {
  if (!own_.contains(message.rank)) return false;
  if (!ranks_.is_here(message.rank)) {
    questions_.answer(message.id, Status::failed);
    return true;
  }
  if (questions_.count(message.rank, Status::not_spawned) >= kMaxOpenSpawns) {
    questions_.answer(message.id, Status::too_large);
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
  wanted.request.stops = std::move(message.stops);
  questions_.ask({message.id, message.rank, {}, Status::not_spawned}, std::move(wanted));
  return true;
}

bool PmixService::release(const pmix::msg::Release& message) {
  if (!own_.contains_all(message.ranks)) return false;
  if (sides_.release) sides_.release(message.ranks);
  return true;
}

// Messages of the agent.

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

void PmixService::reply(const action::Reply& reply) {
  if (reply.id == kUnasked) return heard(reply);
  const std::optional<PmixQuestion> question = questions_.take(reply.id);
  if (!question) return;
  const Response& response = reply.response;
  if (question->fence) return fences_.answered(*question, response);
  std::string blob;
  if (response.ok && !response.parts.empty()) blob = response.parts.front().view();
  questions_.answer(question->id, response.ok ? Status::ok : question->refused, std::move(blob));
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

// The ends of ranks.

void PmixService::note_end(const pmix::Process& process) {
  watch_.ended(process);
  if (process.state == pmix::ProcessState::not_started) rank_ended(process.rank);
  ranks_.note_end(process);
}

void PmixService::rank_ended(Rank rank) {
  // The agent still listens to the rank at this time.
  names_.rank_ended(rank);
  ranks_.ended(rank);
  data_.rank_ended(rank);
  // No agent answers the questions in the rank's name any more.
  for (const PmixQuestion& question : questions_.take_of(rank)) {
    questions_.answer(question.id, Status::failed);
    if (question.fence) fences_.go_on(*question.fence);
  }
}

}  // namespace scela::nla
