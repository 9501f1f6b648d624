#include "nla/core/streams.h"

#include <algorithm>
#include <utility>

namespace scela::nla {

namespace {

// Output of this node's own ranks that may wait here. A pipe holds 64 KiB; a few of them.
constexpr std::uint64_t kLocalWindow = std::uint64_t{256} * 1024;
// Input the root may read ahead of the slowest target.
constexpr std::uint64_t kInputWindow = std::uint64_t{256} * 1024;
// Progress smaller than this is not worth a message of its own.
constexpr std::uint64_t kInputStep = std::uint64_t{16} * 1024;

}  // namespace

void OutputFlow::start_reading() {
  if (!context_.own_ranks.empty()) context_.act(action::ReadOutput{kLocalWindow});
}

void OutputFlow::local(const event::RankOutput& output) {
  read_bytes_ += output.bytes.size();
  held_ += output.bytes.size();
  queue_.push_back({kParentLink, {output.rank, output.stream, false, output.bytes}});
  pump();
}

void OutputFlow::local_end(Rank rank, Stream stream) {
  queue_.push_back({kParentLink, {rank, stream, true, {}}});
  pump();
}

bool OutputFlow::receive(const Child& child, const msg::Output& message, std::uint32_t window) {
  if (message.bytes.empty() && !message.end) return false;
  // Ends cost no credit: more than one a stream would queue without bound.
  RankSet& ended = ended_[static_cast<int>(message.stream)];
  if (ended.contains(message.rank)) return false;
  if (message.end) ended.add(message.rank);
  FromChild& from = from_children_[child.link];
  from.window = window;
  from.in_use += message.bytes.size();
  if (from.in_use > window) return false;
  held_ += message.bytes.size();
  queue_.push_back({child.link, message});
  pump();
  return true;
}

void OutputFlow::credit(std::uint64_t bytes) {
  credit_ += bytes;
  pump();
}

void OutputFlow::drop_all() {
  dropping_ = true;
  pump();
}

void OutputFlow::pump() {
  while (!queue_.empty()) {
    Waiting& front = queue_.front();
    const std::uint64_t size = front.output.bytes.size();
    const std::uint64_t part = dropping_ ? size : std::min(size, credit_);
    if (part == 0 && size > 0) return;
    msg::Output now = front.output;
    if (part < size) {
      now.bytes = front.output.bytes.slice(0, static_cast<std::size_t>(part));
      now.end = false;
      front.output.bytes = front.output.bytes.slice(static_cast<std::size_t>(part));
    }
    const LinkId from = front.from;
    if (part == size) queue_.pop_front();
    held_ -= part;
    if (!dropping_) {
      credit_ -= part;
      if (context_.is_root()) {
        context_.act(action::ShowOutput{now.rank, now.stream, now.end, std::move(now.bytes)});
      } else {
        context_.send_up(std::move(now));
      }
    }
    if (part > 0) forwarded(from, part);
  }
}

void OutputFlow::forwarded(LinkId from, std::uint64_t bytes) {
  if (from == kParentLink) {
    // Reading goes on as soon as a piece fits; smaller grants would mean smaller reads.
    owed_local_ += bytes;
    if (owed_local_ >= kLocalWindow / 4 || queue_.empty()) {
      context_.act(action::ReadOutput{std::exchange(owed_local_, 0)});
    }
    return;
  }
  FromChild& child = from_children_[from];
  if (child.ended) return;
  child.owed += bytes;
  if (child.owed >= child.window / 4) {
    child.in_use -= child.owed;
    context_.send(from, msg::Credit{std::exchange(child.owed, 0)});
  }
}

void InputFlow::start() {
  if (!context_.job->stdin_ranks.empty()) context_.act(action::ReadStdin{kInputWindow});
}

void InputFlow::read(const event::StdinRead& input) {
  pass_on(input.bytes, input.end);
}

void InputFlow::receive(const msg::Stdin& message) {
  pass_on(message.bytes, message.end);
}

void InputFlow::pass_on(const Chunk& bytes, bool end) {
  if (!context_.job) return;
  received_ += bytes.size();
  for (const Child& child : children_.all()) {
    if (takes(child)) context_.send(child.link, msg::Stdin{end, bytes});
  }
  if (local_takes()) context_.act(action::WriteStdin{bytes, end});
  report();  // there may be nobody left to take it
}

void InputFlow::receive(LinkId child, const msg::StdinTaken& message) {
  FromChild& from = from_children_[child];
  from.taken = std::max(from.taken, message.bytes);
  from.last = from.last || message.last;
  report();
}

void InputFlow::local_taken(std::uint64_t bytes) {
  local_ = std::max(local_, bytes);
  report();
}

void InputFlow::ranks_closed(const RankSet& ranks) {
  closed_.add(ranks);
  if (received_ > reported_) report();
}

void InputFlow::child_ended() {
  if (received_ > reported_) report();
}

bool InputFlow::takes(const Child& child) const {
  if (!child.serving() || child.ended_ranks) return false;
  const auto from = from_children_.find(child.link);
  if (from != from_children_.end() && from->second.last) return false;
  return child.ranks.intersects(context_.job->stdin_ranks);
}

bool InputFlow::local_takes() const {
  return !closed_.contains_all(context_.own_ranks.intersection(context_.job->stdin_ranks));
}

void InputFlow::report() {
  if (!context_.job || last_told_) return;
  std::uint64_t least = received_;
  bool last = true;
  for (const Child& child : children_.all()) {
    if (!takes(child)) continue;
    least = std::min(least, from_children_[child.link].taken);
    last = false;
  }
  if (local_takes()) {
    least = std::min(least, local_);
    last = false;
  }
  if (context_.is_root() && last) return;
  if (least <= reported_ || (least - reported_ < kInputStep && least < received_)) return;
  const std::uint64_t step = least - std::exchange(reported_, least);
  if (context_.is_root()) {
    context_.act(action::ReadStdin{step});
  } else {
    context_.send_up(msg::StdinTaken{reported_, last});
    last_told_ = last;
  }
}

}  // namespace scela::nla
