#include "collectives/core/analysis/symbolic.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/core/analysis/checker.h"
#include "collectives/core/analysis/schedule.h"
#include "collectives/core/analysis/sums.h"
#include "collectives/core/definition.h"
#include "common/core/text.h"

namespace scela::collectives {
namespace {

// A value is the contributions `sum` of ranks to block `block`.
struct Value {
  std::uint32_t sum = Sums::kNothing;
  std::uint32_t block = 0;
};

class Execution {
 public:
  Execution(const Shape& shape, const Schedule& schedule, std::uint32_t parts)
      : shape_(shape),
        schedule_(schedule),
        parts_(parts),
        sums_(shape.ranks, shape.commutes),
        spaces_(static_cast<std::size_t>(shape.ranks)),
        rounds_(static_cast<std::size_t>(shape.ranks), 0),
        round_of_(schedule.messages().size(), 0) {}

  Result<void> run();
  std::uint32_t rounds() const { return *std::max_element(rounds_.begin(), rounds_.end()); }

 private:
  void start(int rank);
  void step(int rank, const Step& step);
  void local(int rank, const Step& step);
  void meet(std::uint32_t number);
  Result<void> compare(int rank);
  // Returns null and keeps an error if the space has no such blocks.
  Value* values(int rank, const Step& step, const Blocks& blocks);
  std::string text(const Value& value) const {
    if (value.sum == Sums::kNothing) return "nothing";
    return cat("block ", value.block, " of ", sums_.text(value.sum));
  }
  void refuse(int rank, std::uint32_t number, std::string why) {
    if (!error_) error_ = task_error(rank, number, schedule_.task(rank, number), std::move(why));
  }

  const Shape& shape_;
  const Schedule& schedule_;
  std::uint32_t parts_;
  Sums sums_;
  std::vector<std::array<std::vector<Value>, 3>> spaces_;  // indexed by rank, then by Space
  std::vector<std::uint32_t> rounds_;                      // last round each rank has waited for
  std::vector<std::uint32_t> round_of_;                    // indexed by message
  std::optional<Error> error_;
};

Result<void> Execution::run() {
  for (int rank = 0; rank < shape_.ranks; ++rank)
    start(rank);
  auto ran = schedule_.run([this](int rank, const Step& one) { step(rank, one); },
                           [this](std::uint32_t message) { meet(message); });
  if (error_) return fail(std::move(*error_));
  if (!ran) return ran;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (auto right = compare(rank); !right) return right;
  }
  return {};
}

void Execution::start(int rank) {
  const Definition definition(shape_, rank, parts_);
  for (const Space space : {Space::input, Space::output, Space::scratch}) {
    const auto index = static_cast<std::size_t>(space);
    std::vector<Value>& values = spaces_[static_cast<std::size_t>(rank)][index];
    values.resize(schedule_.list(rank).blocks[index]);
    for (std::uint32_t block = 0; block < values.size(); ++block) {
      const auto own = definition.stands(space, block);
      if (!own) continue;
      values[block] = {Sums::of_rank(rank), *own};
    }
  }
}

void Execution::step(int rank, const Step& step) {
  std::uint32_t& reached = rounds_[static_cast<std::size_t>(rank)];
  switch (step.kind) {
    case Kind::send:
    case Kind::receive:
      round_of_[step.message] = std::max(round_of_[step.message], reached + 1);
      return;
    case Kind::wait_sent:
    case Kind::wait_received:
      for (std::uint32_t i = 0; i < step.count; ++i)
        reached = std::max(reached, round_of_[step.message + i]);
      return;
    case Kind::copy:
    case Kind::reduce:
      return local(rank, step);
    case Kind::enable:
    case Kind::signal:
      return;
  }
}

Value* Execution::values(int rank, const Step& step, const Blocks& blocks) {
  auto& space = spaces_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(blocks.space)];
  if (blocks.first <= space.size() && blocks.count <= space.size() - blocks.first) {
    return space.data() + blocks.first;
  }
  refuse(rank, step.task,
         cat("its ", name_of(blocks.space), " has ", space.size(), " blocks only"));
  return nullptr;
}

void Execution::local(int rank, const Step& step) {
  const Task& task = schedule_.task(rank, step.task);
  const Value* from = values(rank, step, task.from);
  Value* to = values(rank, step, task.to);
  if (from == nullptr || to == nullptr) return;
  if (task.from.count != task.to.count) {
    return refuse(rank, step.task, cat("takes ", task.from.count, " blocks to ", task.to.count));
  }
  for (std::uint32_t i = 0; i < task.to.count; ++i) {
    if (task.kind == Kind::copy) {
      to[i] = from[i];
      continue;
    }
    const Value& left = task.from_right ? to[i] : from[i];
    const Value& right = task.from_right ? from[i] : to[i];
    if (left.sum == Sums::kNothing || right.sum == Sums::kNothing || left.block != right.block) {
      return refuse(rank, step.task, cat("reduces ", text(left), " with ", text(right)));
    }
    to[i].sum = sums_.combine(left.sum, right.sum);
  }
}

// Sent blocks do not change until a wait covers the send, and received blocks are not read before a
// wait. So the moment of the copy does not matter.
void Execution::meet(std::uint32_t number) {
  const Message& message = schedule_.messages()[number];
  const Task& send = schedule_.task(message.from, message.send);
  const Task& receive = schedule_.task(message.to, message.receive);
  Step step;
  step.task = message.send;
  const Value* from = values(message.from, step, send.from);
  step.task = message.receive;
  Value* to = values(message.to, step, receive.to);
  if (from == nullptr || to == nullptr) return;
  if (send.from.count != receive.to.count) {
    return refuse(message.from, message.send,
                  cat("sends ", send.from.count, " blocks to rank ", message.to,
                      ", which receives ", receive.to.count));
  }
  std::copy(from, from + send.from.count, to);
}

Result<void> Execution::compare(int rank) {
  const Definition definition(shape_, rank, parts_);
  const auto& output =
      spaces_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(Space::output)];
  for (std::uint32_t block = 0; block < definition.outputs(); ++block) {
    const auto sum = definition.result(block);
    if (!sum) continue;
    const Value right = {sums_.of_run(sum->first, sum->last), sum->block};
    const Value found = block < output.size() ? output[block] : Value{};
    if (found.sum == right.sum && found.block == right.block) continue;
    return fail({ErrorKind::internal, "execute task lists", cat("rank ", rank),
                 cat("output block ", block, " is ", text(found), ", not ", text(right)),
                 "correct the algorithm that made the lists"});
  }
  return {};
}

std::uint32_t max_peers(const Schedule& schedule) {
  std::vector<std::vector<int>> peers(static_cast<std::size_t>(schedule.ranks()));
  for (const Message& message : schedule.messages()) {
    peers[static_cast<std::size_t>(message.from)].push_back(message.to);
    peers[static_cast<std::size_t>(message.to)].push_back(message.from);
  }
  std::size_t most = 0;
  for (std::vector<int>& own : peers) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    most = std::max(most, own.size());
  }
  return static_cast<std::uint32_t>(most);
}

}  // namespace

Result<Counts> execute(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts,
                       std::span<const Layout> layouts) {
  if (auto sane = check_shape(shape, lists, parts, layouts); !sane) {
    return fail(std::move(sane.error()));
  }
  const auto schedule = Schedule::of(lists);
  if (!schedule) return fail(schedule.error());
  Execution execution(shape, *schedule, parts);
  if (auto right = execution.run(); !right) return fail(std::move(right.error()));
  Counts counts;
  counts.rounds = execution.rounds();
  counts.messages = schedule->messages().size();
  counts.peers = max_peers(*schedule);
  for (const Message& message : schedule->messages()) {
    const Blocks& blocks = schedule->task(message.from, message.send).from;
    counts.blocks += blocks.count;
    if (!layouts.empty()) counts.bytes += bytes_of(layouts, message.from, blocks);
  }
  return counts;
}

}  // namespace scela::collectives
