#include "tests/sim/reference.h"

#include <algorithm>

#include "tests/sim/generator/payload.h"

namespace scela::sim {

using nla::CollectiveKind;

namespace {

std::string sizes(const std::vector<Chunk>& parts) {
  std::string text = std::to_string(parts.size()) + " parts of";
  for (std::size_t i = 0; i < parts.size() && i < 8; ++i)
    text += " " + std::to_string(parts[i].size());
  return text + " bytes";
}

bool is_rooted(CollectiveKind what) {
  return what == CollectiveKind::broadcast || what == CollectiveKind::scatter;
}

bool is_about_name(OpKind kind) {
  return kind == OpKind::publish || kind == OpKind::lookup || kind == OpKind::unpublish;
}

std::string name_of(std::uint32_t ref) {
  return "name-" + std::to_string(ref);
}

std::string port_of(const Op& publish) {
  return "port-" + std::to_string(publish.id);
}

}  // namespace

std::string key_of(std::uint32_t put_id) {
  return "key-" + std::to_string(put_id);
}

Reference::Reference(const Schedule& schedule)
    : schedule_(schedule), programs_(schedule.all_ranks()), state_(schedule.ops.size()) {
  std::map<std::tuple<Rank, Rank, std::int32_t>, std::vector<std::uint32_t>> sends;
  std::map<std::tuple<Rank, Rank, std::int32_t>, std::size_t> received;
  for (std::uint32_t i = 0; i < schedule.ops.size(); ++i) {
    const Op& op = schedule.ops[i];
    if (op.kind == OpKind::put) put_at_[op.id] = i;
    if (op.kind == OpKind::send) sends[{op.rank, op.peer, op.code}].push_back(i);
  }
  for (std::uint32_t i = 0; i < schedule.ops.size(); ++i) {
    const Op& op = schedule.ops[i];
    State& state = state_[i];
    if (op.kind == OpKind::collective) {
      state.members = op.set;
      if (op.what == CollectiveKind::fence) fences_.push_back(i);
      op.set.for_each([&](Rank rank) { programs_[rank].push_back(i); });
    } else {
      state.members = RankSet::single(op.rank);
      programs_[op.rank].push_back(i);
    }
    state.asked.resize(state.members.size());
    state.answered_ok.resize(state.members.size());
    if (op.kind == OpKind::receive) {
      const std::tuple<Rank, Rank, std::int32_t> key{op.peer, op.rank, op.code};
      const auto& list = sends[key];
      const std::size_t nth = received[key]++;
      if (nth < list.size()) state.source = list[nth];
    }
  }
}

std::uint64_t Reference::position(std::uint32_t op, Rank rank) const {
  return state_[op].members.index_of(rank);
}

bool Reference::has_asked(std::uint32_t op, Rank rank) const {
  return state_[op].asked[position(op, rank)] != 0;
}

RankSet Reference::absent(std::uint32_t op) const {
  RankSet set;
  std::size_t i = 0;
  state_[op].members.for_each([&](Rank rank) {
    if (state_[op].asked[i++] == 0) set.add(rank);
  });
  return set;
}

std::uint32_t Reference::part_size(const Op& op, Rank owner, Rank target) const {
  if (!op.uneven) return op.size;
  return static_cast<std::uint32_t>(mix(op.id, owner, target + 1) % (op.size + 1));
}

Chunk Reference::part(const Op& op, Rank owner, Rank target) const {
  return payload(mix(op.id, owner, target), part_size(op, owner, target));
}

std::vector<Chunk> Reference::own_parts(const Op& op, CollectiveKind what, Rank root,
                                        Rank rank) const {
  std::vector<Chunk> parts;
  switch (what) {
    case CollectiveKind::barrier:
    case CollectiveKind::fence:
      break;
    case CollectiveKind::gather:
    case CollectiveKind::allgather:
      parts.push_back(part(op, rank, 0));
      break;
    case CollectiveKind::broadcast:
      if (rank == root) parts.push_back(part(op, rank, 0));
      break;
    case CollectiveKind::scatter:
      if (rank != root) break;
      [[fallthrough]];
    case CollectiveKind::alltoall:
      op.set.for_each([&](Rank target) { parts.push_back(part(op, rank, target)); });
      break;
  }
  return parts;
}

std::vector<Chunk> Reference::expected_parts(const Op& op, Rank rank) const {
  std::vector<Chunk> parts;
  switch (op.what) {
    case CollectiveKind::barrier:
    case CollectiveKind::fence:
      break;
    case CollectiveKind::gather:
      if (rank != op.rank) break;
      [[fallthrough]];
    case CollectiveKind::allgather:
      op.set.for_each([&](Rank owner) { parts.push_back(part(op, owner, 0)); });
      break;
    case CollectiveKind::broadcast:
      parts.push_back(part(op, op.rank, 0));
      break;
    case CollectiveKind::scatter:
      parts.push_back(part(op, op.rank, rank));
      break;
    case CollectiveKind::alltoall:
      op.set.for_each([&](Rank owner) { parts.push_back(part(op, owner, rank)); });
      break;
  }
  return parts;
}

nla::Request Reference::request(std::uint32_t index, Rank rank) const {
  const Op& op = schedule_.ops[index];
  const auto tag = static_cast<std::uint32_t>(op.code);
  switch (op.kind) {
    case OpKind::put:
      return nla::ask::Put{key_of(op.id), payload(op.id, op.size)};
    case OpKind::get:
      return nla::ask::Get{key_of(op.ref), op.wait};
    case OpKind::send:
      return nla::ask::Send{op.peer, tag, payload(op.id, op.size)};
    case OpKind::receive:
      return nla::ask::Receive{op.peer, tag};
    case OpKind::publish:
      return nla::ask::Name{nla::NameAct::publish, name_of(op.ref), port_of(op)};
    case OpKind::lookup:
      return nla::ask::Name{nla::NameAct::lookup, name_of(op.ref), {}};
    case OpKind::unpublish:
      return nla::ask::Name{nla::NameAct::unpublish, name_of(op.ref), {}};
    case OpKind::spawn:
      return nla::ask::Spawn{{{{{"program", std::to_string(index)}, op.size, {}}},
                              {{"preput", std::to_string(op.id)}}}};
    case OpKind::abort:
      return nla::ask::Abort{op.code, "as the schedule says"};
    case OpKind::violate:
      return nla::ask::Violation{"as the schedule says"};
    default:
      break;
  }
  CollectiveKind what = op.what;
  Rank root = op.rank;
  if (op.odd && rank == op.peer) {  // a call that is well formed by itself
    what = static_cast<CollectiveKind>((static_cast<int>(what) + 1) % 7);
    if (!op.set.contains(root)) root = op.set.front();
  }
  return nla::ask::Collective{what, op.set, root, own_parts(op, what, root, rank), tag};
}

bool Reference::must_find(const Op& get, bool same_node) const {
  const auto found = put_at_.find(get.ref);
  if (found == put_at_.end()) return false;
  const State& put = state_[found->second];
  if (put.answered_ok.front() == 0) return false;
  if (same_node) return true;
  return std::any_of(fences_.begin(), fences_.end(), [&](std::uint32_t fence) {
    const State& state = state_[fence];
    return fence > found->second && state.members.contains(get.peer) &&
           state.members.contains(get.rank) && state.answered_ok[position(fence, get.rank)] != 0;
  });
}

void Reference::asked(std::uint32_t op, Rank rank, bool same_node) {
  State& state = state_[op];
  state.asked[position(op, rank)] = 1;
  ++state.asked_count;
  if (schedule_.ops[op].kind == OpKind::get) {
    state.must_find = must_find(schedule_.ops[op], same_node);
  }
  if (is_about_name(schedule_.ops[op].kind)) asked_about_name(op);
}

void Reference::asked_about_name(std::uint32_t index) {
  const Op& op = schedule_.ops[index];
  NameState& name = names_[op.ref];
  state_[index].must_find = name.surely_there();
  state_[index].must_miss = name.surely_gone();
  if (op.kind == OpKind::publish) name.published.push_back(index);
  if (op.kind == OpKind::unpublish) ++name.unpublished;
}

// Requests of other ranks that are under way may be served before this one or after it. Certain are
// only those that were answered before this one was made, and those that were not made yet.
std::string Reference::judge_name(std::uint32_t index, const nla::Response& response) {
  const Op& op = schedule_.ops[index];
  NameState& name = names_[op.ref];
  const std::uint32_t others_gone = name.unpublished - (op.kind == OpKind::unpublish ? 1 : 0);
  const bool there = state_[index].must_find && others_gone == 0;
  if (op.kind == OpKind::publish) {
    if (!response.ok) return name.published.size() == 1 ? "a new name was refused" : "";
    ++name.published_ok;
    return there ? "a name was published twice" : "";
  }
  if (!response.ok) return there ? "a name that is published was not found" : "";
  if (op.kind == OpKind::unpublish) ++name.unpublished_ok;
  const bool gone = state_[index].must_miss && name.surely_gone();
  if (gone || name.published.empty()) return "a name was found that is not there";
  if (op.kind == OpKind::unpublish) return {};
  const bool right = std::any_of(name.published.begin(), name.published.end(), [&](auto publish) {
    return response.parts == std::vector<Chunk>{Chunk(port_of(schedule_.ops[publish]))};
  });
  return right ? "" : "a name led to a port that nobody has published";
}

std::string Reference::judge_get(std::uint32_t index, const nla::Response& response) const {
  const Op& op = schedule_.ops[index];
  if (!response.found) {
    if (op.wait) return "a get that waits was answered without the pair";
    return state_[index].must_find ? "the pair is visible here and was not found" : "";
  }
  const auto put = put_at_.find(op.ref);
  if (put == put_at_.end() || state_[put->second].asked_count == 0) {
    return "a pair was found that nobody has put";
  }
  const Op& source = schedule_.ops[put->second];
  if (response.parts != std::vector<Chunk>{payload(source.id, source.size)}) {
    return "the value is not what was put (" + sizes(response.parts) + " instead of " +
           std::to_string(source.size) + ")";
  }
  return {};
}

std::string Reference::judge_collective(std::uint32_t index, Rank rank,
                                        const nla::Response& response) const {
  const Op& op = schedule_.ops[index];
  const State& state = state_[index];
  if (op.odd) return "the members disagreed and were not told";
  if (is_rooted(op.what)) {
    if (!has_asked(index, op.rank)) return "answered before the root took part";
  } else if (op.what != CollectiveKind::gather || rank == op.rank) {
    if (state.asked_count < state.members.size()) return "answered before everybody took part";
  }
  if (op.what == CollectiveKind::gather && rank != op.rank) return {};
  const auto expected = expected_parts(op, rank);
  if (response.parts == expected) return {};
  return "wrong result: " + sizes(response.parts) + ", expected " + sizes(expected);
}

std::string Reference::answered(std::uint32_t index, Rank rank, const nla::Response& response,
                                bool excused) {
  const Op& op = schedule_.ops[index];
  const bool way_lost = response.error.starts_with("the way to the table");
  if (is_about_name(op.kind) && !way_lost) {
    std::string complaint = judge_name(index, response);
    if (complaint.empty() && response.ok) state_[index].answered_ok[position(index, rank)] = 1;
    return complaint;
  }
  if (!response.ok) {
    return excused || op.odd ? "" : "failed without a reason: " + response.error;
  }
  std::string complaint;
  const bool named = response.parts.size() == 1 && response.parts[0].view().starts_with("sim.");
  if (op.kind == OpKind::spawn && !named) complaint = "spawned ranks have no name";
  if (op.kind == OpKind::get) complaint = judge_get(index, response);
  if (op.kind == OpKind::collective) complaint = judge_collective(index, rank, response);
  if (op.kind == OpKind::receive) {
    const std::int64_t source = state_[index].source;
    if (source < 0 || state_[static_cast<std::size_t>(source)].asked_count == 0) {
      complaint = "a message arrived that nobody has sent";
    } else {
      const Op& send = schedule_.ops[static_cast<std::size_t>(source)];
      if (response.parts != std::vector<Chunk>{payload(send.id, send.size)}) {
        complaint =
            "wrong message: " + sizes(response.parts) + " instead of " + std::to_string(send.size);
      }
    }
  }
  if (complaint.empty()) state_[index].answered_ok[position(index, rank)] = 1;
  return complaint;
}

}  // namespace scela::sim
