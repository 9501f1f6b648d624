#include "collectives/core/analysis/checker.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/core/analysis/schedule.h"
#include "collectives/core/definition.h"
#include "common/core/text.h"

namespace scela::collectives {
namespace {

Error shape_error(std::string why) {
  return {ErrorKind::internal, "check task lists", "", std::move(why),
          "correct the shape, or the algorithm that made the lists"};
}

const Layout& layout_of(std::span<const Layout> layouts, int rank) {
  return layouts.size() == 1 ? layouts[0] : layouts[static_cast<std::size_t>(rank)];
}

bool overlap(const Blocks& a, const Blocks& b) {
  return a.space == b.space && a.first < b.first + b.count && b.first < a.first + a.count;
}

// Follows one rank through its list: what each block holds, and whether the network owns it.
class RankCheck {
 public:
  RankCheck(const Shape& shape, const Schedule& schedule, std::span<const Layout> layouts,
            std::uint32_t parts)
      : shape_(shape), schedule_(schedule), layouts_(layouts), parts_(parts) {}

  Result<void> check(int rank);

 private:
  struct Block {
    std::uint32_t sends = 0;     // sends that may still read it
    std::uint32_t sender = 0;    // the task of the latest of them
    std::uint32_t receiver = 0;  // task + 1 of a receive under way; or 0
    std::uint32_t written = 0;   // task + 1 of its last writer, or 0
    bool has_value = false;
  };

  void start();
  void take(const Step& step);
  void take_local(const Step& step, const Task& task);
  void release(const Step& step);
  bool is_inside(const Step& step, const Blocks& blocks);
  void read(const Step& step, const Blocks& blocks);
  // Refuses the step if a send or receive under way may still use the blocks that it writes.
  void own(const Step& step, const Blocks& blocks);
  void write(const Step& step, const Blocks& blocks);
  void look_at_result();

  std::vector<Block>& of(Space space) { return blocks_[static_cast<std::size_t>(space)]; }
  std::string task_text(std::uint32_t number) const {
    return cat("task ", number, " '", to_text(schedule_.task(rank_, number)), "'");
  }
  static std::string block_text(const Blocks& blocks, std::uint32_t block) {
    return cat(name_of(blocks.space), " block ", block);
  }
  void refuse(const Step& step, std::string why) {
    if (error_) return;
    error_ = task_error(rank_, step.task, schedule_.task(rank_, step.task), std::move(why));
  }

  const Shape& shape_;
  const Schedule& schedule_;
  std::span<const Layout> layouts_;
  std::uint32_t parts_;
  int rank_ = 0;
  std::optional<Definition> definition_;
  std::array<std::vector<Block>, 3> blocks_;  // indexed by Space
  std::optional<Error> error_;
};

Result<void> RankCheck::check(int rank) {
  rank_ = rank;
  definition_.emplace(shape_, rank, parts_);
  start();
  for (const Step& step : schedule_.steps(rank)) {
    take(step);
    if (error_) return fail(std::move(*error_));
  }
  look_at_result();
  if (error_) return fail(std::move(*error_));
  return {};
}

void RankCheck::start() {
  for (const Space space : {Space::input, Space::output, Space::scratch}) {
    std::vector<Block>& blocks = of(space);
    blocks.assign(schedule_.list(rank_).blocks[static_cast<std::size_t>(space)], Block{});
    for (std::uint32_t block = 0; block < blocks.size(); ++block)
      blocks[block].has_value = definition_->stands(space, block).has_value();
  }
}

void RankCheck::take(const Step& step) {
  const Task& task = schedule_.task(rank_, step.task);
  switch (step.kind) {
    case Kind::send:
      if (!is_inside(step, task.from)) return;
      read(step, task.from);
      for (std::uint32_t i = 0; i < task.from.count; ++i) {
        Block& block = of(task.from.space)[task.from.first + i];
        ++block.sends;
        block.sender = step.task;
      }
      return;
    case Kind::receive:
      if (!is_inside(step, task.to)) return;
      write(step, task.to);
      for (std::uint32_t i = 0; i < task.to.count; ++i)
        of(task.to.space)[task.to.first + i].receiver = step.task + 1;
      return;
    case Kind::wait_sent:
    case Kind::wait_received:
      return release(step);
    case Kind::copy:
    case Kind::reduce:
      return take_local(step, task);
    case Kind::enable:
    case Kind::signal:
      return;
  }
}

void RankCheck::take_local(const Step& step, const Task& task) {
  if (!is_inside(step, task.from) || !is_inside(step, task.to)) return;
  if (overlap(task.from, task.to)) return refuse(step, "its blocks overlap");
  const std::uint64_t from = bytes_of(layouts_, rank_, task.from);
  const std::uint64_t to = bytes_of(layouts_, rank_, task.to);
  if (from != to) {
    return refuse(step,
                  cat("takes ", from, " ", layouts_.empty() ? "blocks" : "bytes", " to ", to));
  }
  read(step, task.from);
  if (task.kind == Kind::copy) return write(step, task.to);
  read(step, task.to);
  own(step, task.to);
}

void RankCheck::release(const Step& step) {
  const bool sent = step.kind == Kind::wait_sent;
  for (std::uint32_t i = 0; i < step.count; ++i) {
    const Message& message = schedule_.messages()[step.message + i];
    const Task& task = schedule_.task(rank_, sent ? message.send : message.receive);
    const Blocks& blocks = sent ? task.from : task.to;
    for (std::uint32_t j = 0; j < blocks.count; ++j) {
      Block& block = of(blocks.space)[blocks.first + j];
      if (sent) {
        --block.sends;
      } else {
        block.receiver = 0;
      }
    }
  }
}

bool RankCheck::is_inside(const Step& step, const Blocks& blocks) {
  const std::size_t count = of(blocks.space).size();
  if (blocks.first <= count && blocks.count <= count - blocks.first) return true;
  refuse(step, cat("its ", name_of(blocks.space), " has ", count, " blocks only"));
  return false;
}

void RankCheck::read(const Step& step, const Blocks& blocks) {
  for (std::uint32_t i = 0; i < blocks.count; ++i) {
    const Block& block = of(blocks.space)[blocks.first + i];
    const std::string_view verb = step.kind == Kind::send ? "sends " : "reads ";
    if (block.receiver != 0) {
      return refuse(step, cat(verb, block_text(blocks, blocks.first + i), ", which ",
                              task_text(block.receiver - 1),
                              " may still be writing: no wait has covered it"));
    }
    if (!block.has_value) {
      return refuse(step, cat(verb, block_text(blocks, blocks.first + i),
                              ", where nothing stands that has been given or written"));
    }
  }
}

void RankCheck::own(const Step& step, const Blocks& blocks) {
  if (blocks.count > 0 && !definition_->may_write(blocks.space)) {
    return refuse(step, cat("writes the ", name_of(blocks.space), ", which is the caller's"));
  }
  for (std::uint32_t i = 0; i < blocks.count; ++i) {
    const Block& block = of(blocks.space)[blocks.first + i];
    if (block.receiver == 0 && block.sends == 0) continue;
    return refuse(step, cat("writes ", block_text(blocks, blocks.first + i), ", which ",
                            task_text(block.receiver != 0 ? block.receiver - 1 : block.sender),
                            " may still be ", block.receiver != 0 ? "writing" : "sending",
                            ": no wait has covered it"));
  }
}

void RankCheck::write(const Step& step, const Blocks& blocks) {
  own(step, blocks);
  for (std::uint32_t i = 0; i < blocks.count && !error_; ++i) {
    const std::uint32_t number = blocks.first + i;
    Block& block = of(blocks.space)[number];
    const bool once = blocks.space == Space::output && definition_->result(number).has_value();
    if (once && block.written != 0) {
      return refuse(step, cat("writes ", block_text(blocks, number), " again, which ",
                              task_text(block.written - 1), " has written"));
    }
    block.written = step.task + 1;
    block.has_value = true;
  }
}

void RankCheck::look_at_result() {
  const std::vector<Block>& output = of(Space::output);
  for (std::uint32_t block = 0; block < definition_->outputs(); ++block) {
    if (!definition_->result(block)) continue;
    if (block < output.size() && output[block].has_value) continue;
    error_ = shape_error("");
    error_->where = cat("rank ", rank_);
    error_->why = cat("nothing writes output block ", block, " of ", definition_->outputs());
    return;
  }
}

// Both ends of every message must have the same number of bytes.
Result<void> check_sizes(const Schedule& schedule, std::span<const Layout> layouts) {
  for (const Message& message : schedule.messages()) {
    const Task& send = schedule.task(message.from, message.send);
    const Task& receive = schedule.task(message.to, message.receive);
    const std::uint64_t sent = bytes_of(layouts, message.from, send.from);
    const std::uint64_t received = bytes_of(layouts, message.to, receive.to);
    if (sent == received) continue;
    const std::string_view unit = layouts.empty() ? "blocks" : "bytes";
    return fail(
        task_error(message.from, message.send, send,
                   cat("sends ", sent, " ", unit, " to rank ", message.to, ", task ",
                       message.receive, " '", to_text(receive), "', which receives ", received)));
  }
  return {};
}

}  // namespace

std::uint64_t bytes_of(std::span<const Layout> layouts, int rank, const Blocks& blocks) {
  if (layouts.empty()) return blocks.count;
  const BlockSizes& sizes = layout_of(layouts, rank).of(blocks.space);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < blocks.count; ++i)
    bytes += sizes.size(blocks.first + i);
  return bytes;
}

Result<void> check_shape(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts,
                         std::span<const Layout> layouts) {
  const auto ranks = static_cast<std::uint64_t>(shape.ranks);
  if (shape.ranks < 1 || lists.size() != ranks) {
    return fail(shape_error(cat(lists.size(), " lists for ", shape.ranks, " ranks")));
  }
  if (shape.root < 0 || shape.root >= shape.ranks) {
    return fail(shape_error(cat("root ", shape.root, " is none of ", shape.ranks, " ranks")));
  }
  if (layouts.size() > 1 && layouts.size() != lists.size()) {
    return fail(shape_error(cat(layouts.size(), " layouts for ", shape.ranks, " ranks")));
  }
  const std::uint64_t cut = std::uint64_t{shape.segments} * parts;
  if (cut == 0 || cut > kMaxBlocks || cut * ranks > kMaxBlocks) {
    return fail(shape_error(cat(shape.segments, " segments of ", parts, " parts for ", ranks,
                                " ranks are no number of blocks from 1 to ", kMaxBlocks)));
  }
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const Definition definition(shape, rank, parts);
    const std::uint64_t most[] = {definition.inputs(), definition.outputs(), kMaxBlocks};
    for (const Space space : {Space::input, Space::output, Space::scratch}) {
      const auto index = static_cast<std::size_t>(space);
      const std::uint32_t blocks = lists[static_cast<std::size_t>(rank)].blocks[index];
      std::string why;
      if (blocks > most[index]) {
        why = cat("the list has ", blocks, " blocks of ", name_of(space),
                  ", where the operation has ", most[index]);
      } else if (!layouts.empty() && blocks > layout_of(layouts, rank).of(space).count()) {
        why = cat("the list has ", blocks, " blocks of ", name_of(space), ", the layout ",
                  layout_of(layouts, rank).of(space).count());
      } else {
        continue;
      }
      Error error = shape_error(std::move(why));
      error.where = cat("rank ", rank);
      return fail(std::move(error));
    }
  }
  return {};
}

Result<void> check(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts,
                   std::span<const Layout> layouts) {
  if (auto sane = check_shape(shape, lists, parts, layouts); !sane) return sane;
  auto schedule = Schedule::of(lists);
  if (!schedule) return fail(std::move(schedule.error()));
  RankCheck ranks(shape, *schedule, layouts, parts);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    if (auto good = ranks.check(rank); !good) return good;
  }
  if (auto same = check_sizes(*schedule, layouts); !same) return same;
  return schedule->run([](int, const Step&) {}, [](std::uint32_t) {});
}

}  // namespace scela::collectives
