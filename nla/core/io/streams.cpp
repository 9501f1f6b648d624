#include "nla/core/io/streams.h"

#include <algorithm>
#include <utility>

#include "nla/core/tree/output_piece.h"

namespace scela::nla {

namespace {

// This many bytes of output of this node's own ranks may wait here: a few full pipes.
constexpr std::uint64_t kLocalWindow = 4 * kOutputPiece;
// The root may read this many bytes of input ahead of the slowest target.
constexpr std::uint64_t kInputWindow = std::uint64_t{256} * 1024;
// Progress smaller than this is not worth a message of its own.
constexpr std::uint64_t kInputStep = std::uint64_t{16} * 1024;
// Parts of one child's output are counted together while they are on their way, until they have
// this many bytes.
constexpr std::uint64_t kTogether = std::uint64_t{2} * 1024;
// This stands for a link if the output was sent to a parent that was lost.
constexpr LinkId kSentBefore = UINT32_MAX;

}  // namespace

void OutputFlow::start_reading() {
  if (!context_.own_ranks.empty()) context_.act(action::ReadOutput{kLocalWindow});
}

void OutputFlow::local(const event::RankOutput& output) {
  read_bytes_ += output.bytes.size();
  held_ += output.bytes.size();
  const std::uint64_t offset = keeps() ? count(output.rank, output.stream, output.bytes.size()) : 0;
  queue_.push_back({kParentLink, {output.rank, output.stream, false, output.bytes}, offset});
  pump();
}

// Returns how many came before.
std::uint64_t OutputFlow::count(Rank rank, Stream stream, std::uint64_t bytes) {
  std::uint64_t& all = counts_[rank][static_cast<std::size_t>(stream)];
  return std::exchange(all, all + bytes);
}

void OutputFlow::local_end(Rank rank, Stream stream) {
  queue_.push_back({kParentLink, {rank, stream, true, {}}, 0});
  pump();
}

bool OutputFlow::receive(const Child& child, const msg::Output& message, std::uint32_t window) {
  if (message.bytes.empty() && !message.end) return false;
  // An end costs no credit, so more than one for each stream could queue without bound.
  RankSet& ended = ended_[static_cast<int>(message.stream)];
  if (ended.contains(message.rank)) return false;
  if (message.end) ended.add(message.rank);
  FromChild& from = from_children_[child.link];
  from.window = window;
  from.in_use += message.bytes.size();
  if (from.in_use > window) return false;
  held_ += message.bytes.size();
  // If a child without nodes below it is lost, there is no orphan that needs the counts.
  const bool counts = keeps() || (context_.adopts() && child.slice.size() > 1);
  const std::uint64_t offset =
      counts ? count(message.rank, message.stream, message.bytes.size()) : 0;
  queue_.push_back({child.link, message, offset});
  pump();
  return true;
}

void OutputFlow::credit(std::uint64_t bytes, std::uint64_t past) {
  credit_ += bytes;
  taken_ += bytes;
  // Bytes that the root has are not needed again, because no agent adopts the root's children.
  const std::uint64_t safe = context_.parent == kRootNode ? taken_ : past;
  while (!on_their_way_.empty() && on_their_way_.front().end <= safe) {
    from_children_[on_their_way_.front().from].past += on_their_way_.front().bytes;
    on_their_way_.pop_front();
  }
  while (!kept_.empty() && kept_.front().end <= past) {
    kept_bytes_ -= kept_.front().output.bytes.size();
    kept_.pop_front();
  }
  pump();
}

void OutputFlow::drop_all() {
  dropping_ = true;
  forget();
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
    if (!dropping_) sent(front, now);
    front.offset += part;
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

void OutputFlow::sent(const Waiting& waiting, const msg::Output& output) {
  if (!context_.adopts() || context_.is_root()) return;
  const std::uint64_t bytes = output.bytes.size();
  sent_ += bytes;
  if (output.end) ends_sent_[static_cast<int>(output.stream)].add(output.rank);
  if (bytes == 0) return;
  if (waiting.from != kParentLink && waiting.from != kSentBefore) {
    // Small parts are counted together, because an entry is larger than they are.
    OnItsWay* last = on_their_way_.empty() ? nullptr : &on_their_way_.back();
    if (last != nullptr && last->from == waiting.from && last->bytes < kTogether) {
      last->bytes += bytes;
      last->end = sent_;
    } else {
      on_their_way_.push_back({waiting.from, bytes, sent_});
    }
  }
  if (!keeps()) return;
  kept_.push_back({output, waiting.offset, sent_});
  kept_bytes_ += bytes;
}

void OutputFlow::forget() {
  kept_.clear();
  kept_bytes_ = 0;
}

// Splits the kept output into what the new parent has and what it lacks. The first part stays kept
// until the new parent has passed on something that is sent to it from now on.
void OutputFlow::send_again(const std::map<std::pair<Rank, Stream>, msg::Seen>& seen,
                            std::deque<Waiting>& again) {
  std::deque<Kept> kept = std::exchange(kept_, {});
  kept_bytes_ = 0;
  for (Kept& one : kept) {
    const auto at = seen.find({one.output.rank, one.output.stream});
    const std::uint64_t has = at == seen.end() ? 0 : at->second.bytes;
    const std::uint64_t from = at == seen.end() ? one.offset : std::max(one.offset, has);
    const std::uint64_t size = one.output.bytes.size();
    const auto there = static_cast<std::size_t>(
        has > one.offset ? std::min<std::uint64_t>(has - one.offset, size) : 0);
    msg::Output rest = one.output;
    rest.end = false;
    if (there > 0) {
      one.output.bytes = rest.bytes.slice(0, there);
      one.end = 1;
      kept_bytes_ += there;
      kept_.push_back(std::move(one));
    }
    if (there == size) continue;
    rest.bytes = rest.bytes.slice(there);
    held_ += rest.bytes.size();
    again.push_back({kSentBefore, std::move(rest), from});
  }
}

void OutputFlow::go_on(std::uint64_t window, const std::vector<msg::Seen>& seen) {
  std::map<std::pair<Rank, Stream>, msg::Seen> by_stream;
  for (const msg::Seen& one : seen)
    by_stream[{one.rank, one.stream}] = one;
  std::deque<Waiting> again;
  send_again(by_stream, again);
  if (!keeps()) forget();
  std::uint64_t bytes = 0;
  for (const Waiting& waiting : again)
    bytes += waiting.output.bytes.size();
  for (const Stream stream : {Stream::out, Stream::err}) {
    RankSet& ends = ends_sent_[static_cast<int>(stream)];
    RankSet lacking;
    ends.for_each([&](Rank rank) {
      const auto at = by_stream.find({rank, stream});
      if (at != by_stream.end() && at->second.end) return;
      lacking.add(rank);
      again.push_back({kSentBefore, {rank, stream, true, {}}, 0});
    });
    ends.remove(lacking);
  }
  queue_.insert(queue_.begin(), again.begin(), again.end());
  for (OnItsWay& one : on_their_way_)
    one.end = std::max<std::uint64_t>(bytes, 1);
  sent_ = 0;
  taken_ = 0;
  credit_ = window;
  pump();
}

std::vector<msg::Seen> OutputFlow::seen(const RankSet& ranks) const {
  std::vector<msg::Seen> all;
  ranks.for_each([&](Rank rank) {
    const auto at = counts_.find(rank);
    for (const Stream stream : {Stream::out, Stream::err}) {
      const auto which = static_cast<std::size_t>(stream);
      msg::Seen one{rank, stream, at == counts_.end() ? 0 : at->second[which],
                    ended_[which].contains(rank)};
      if (one.bytes > 0 || one.end) all.push_back(one);
    }
  });
  return all;
}

void OutputFlow::forwarded(LinkId from, std::uint64_t bytes) {
  if (from == kSentBefore) return;
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
    context_.send(from, msg::Credit{std::exchange(child.owed, 0), child.past});
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
  ended_ = ended_ || end;
  if (keeps()) {
    kept_.push_back(bytes);
  } else {
    kept_.clear();
    kept_from_ = received_;
  }
  for (const Child& child : children_.all()) {
    if (child.state == ChildState::adopting) continue;  // its Orphan says what it has
    if (takes(child)) context_.send(child.link, msg::Stdin{end, bytes});
  }
  if (local_takes()) context_.act(action::WriteStdin{bytes, end});
  report();  // perhaps no target is left
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

bool InputFlow::keeps() const {
  if (!context_.adopts()) return false;
  return std::any_of(children_.all().begin(), children_.all().end(), [&](const Child& child) {
    const bool may_lack = child.slice.size() > 1 || child.state == ChildState::adopting;
    return may_lack && takes(child);
  });
}

void InputFlow::forget(std::uint64_t before) {
  while (!kept_.empty() && kept_from_ + kept_.front().size() <= before) {
    kept_from_ += kept_.front().size();
    kept_.pop_front();
  }
}

void InputFlow::adopt(const Child& lost, const Child& orphan) {
  from_children_[orphan.link] = from_children_[lost.link];
}

void InputFlow::resume(const Child& orphan, const msg::Orphan& state) {
  FromChild& from = from_children_[orphan.link];
  from.taken = std::max(from.taken, state.input_taken);
  from.last = from.last || state.input_last;
  // Input is not kept if no rank below may want it any more. An orphan that lacks such input takes
  // no more.
  if (takes(orphan) && state.input_received < kept_from_) from.last = true;
  if (takes(orphan)) {
    std::uint64_t position = kept_from_;
    for (const Chunk& chunk : kept_) {
      const std::uint64_t skip =
          state.input_received > position ? state.input_received - position : 0;
      position += chunk.size();
      if (skip >= chunk.size()) continue;
      context_.send(orphan.link, msg::Stdin{false, chunk.slice(static_cast<std::size_t>(skip))});
    }
    if (ended_ && !state.input_end) context_.send(orphan.link, msg::Stdin{true, {}});
  }
  report();
}

void InputFlow::describe(msg::Orphan& self) const {
  self.input_received = received_;
  self.input_taken = reported_;
  self.input_last = last_told_;
  self.input_end = ended_;
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
  forget(least);
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
