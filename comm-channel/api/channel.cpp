#include "comm-channel/include/scela/channel.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "comm-channel/api/counters_file.h"
#include "comm-channel/api/environment_options.h"
#include "comm-channel/api/opening.h"
#include "comm-channel/api/progress.h"
#include "comm-channel/api/shared_operations.h"
#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/engine/error_words.h"
#include "comm-channel/engine/scatter_gather.h"
#include "comm-channel/include/inside.h"
#include "common/core/text.h"
#include "common/os/affinity.h"

namespace scela {

using namespace channel;

namespace {

Status told(Code code, std::string text, int peer = -1) {
  return {code, peer, std::move(text)};
}

template <class Byte>
bool is_buffer(std::span<Byte> bytes) {
  return bytes.data() != nullptr || bytes.empty();
}

// The bytes of a message of several pieces: where the pieces lie, if they follow each other,
// otherwise those of `whole`. If the pieces are wrong, `wrong` says why.
template <class Byte>
struct Gathered {
  Status wrong;
  std::span<Byte> bytes;
  std::unique_ptr<ScatterGather> whole;
};

// Returns how many bytes the pieces have together. `tried` is for example "send to rank 3".
template <class Byte>
std::size_t length_of(std::span<const std::span<Byte>> pieces, const char* tried, int rank,
                      Status& wrong) {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!is_buffer(pieces[i])) {
      wrong = told(Code::bad_buffer,
                   cat(tried, rank, ": the address of piece ", i, ", of ", pieces[i].size(),
                       " bytes, is null"),
                   rank);
      return 0;
    }
    if (pieces[i].size() > kMaxBytes - bytes) {
      wrong = told(Code::bad_count,
                   cat(tried, rank, ": its ", pieces.size(), " pieces have more than ", kMaxBytes,
                       " bytes together"),
                   rank);
      return 0;
    }
    bytes += pieces[i].size();
  }
  return bytes;
}

template <class Byte>
bool are_contiguous(std::span<const std::span<Byte>> pieces) {
  const std::byte* end = nullptr;
  for (const std::span<Byte> piece : pieces) {
    if (piece.empty()) continue;
    if (end != nullptr && piece.data() != end) return false;
    end = piece.data() + piece.size();
  }
  return true;
}

template <class Byte>
Gathered<Byte> gathered(std::span<const std::span<Byte>> pieces, const char* tried, int rank) {
  Gathered<Byte> made;
  const std::size_t bytes = length_of(pieces, tried, rank, made.wrong);
  if (bytes == 0) return made;
  if (are_contiguous(pieces)) {
    const auto first =
        std::ranges::find_if(pieces, [](std::span<Byte> one) { return !one.empty(); });
    made.bytes = {first->data(), bytes};
    return made;
  }
  made.whole = ScatterGather::of(pieces, bytes);
  if (made.whole == nullptr)
    made.wrong = told(Code::resources,
                      cat(tried, rank, " with ", pieces.size(), " pieces: there is no memory for ",
                          bytes, " bytes"),
                      rank);
  else
    made.bytes = made.whole->whole();
  return made;
}

}  // namespace

struct Channel::State {
  State(ChannelOptions chosen, World whose, std::unique_ptr<Bootstrap> joined, Links links)
      : options(std::move(chosen)),
        own_world(std::move(whose)),
        bootstrap(std::move(joined)),
        progress(own_world, options, std::move(links)) {
    if (const shm::NodeLink* const node = progress.messenger().node())
      options.eager.shm = std::min(options.eager.shm, node->most());
  }
  static std::unique_ptr<Channel> channel(std::unique_ptr<State> state) {
    return std::unique_ptr<Channel>(new Channel(std::move(state), true));
  }

  const World& world() const { return own_world; }

  // Returns no error if the arguments are valid.
  Status wrong_send(int peer, int tag, std::span<const std::byte> bytes = {}) const {
    if (peer < 0 || peer >= world().size)
      return told(Code::bad_rank,
                  cat("send to rank ", peer, ": there are ranks 0 to ", world().size - 1), peer);
    if (tag < 0)
      return told(Code::bad_tag,
                  cat("send to rank ", peer, " with tag ", tag, ": tags are 0 to ", kMaxTag), peer);
    if (!is_buffer(bytes))
      return told(Code::bad_buffer,
                  cat("send ", bytes.size(), " bytes to rank ", peer, ": their address is null"),
                  peer);
    return {};
  }
  // Returns whether the arguments are valid and this is no child process (fork).
  bool can_send(int peer, int tag, std::span<const std::byte> bytes) const {
    return peer >= 0 && peer < world().size && tag >= 0 && is_buffer(bytes) && !progress.is_copy();
  }
  bool can_receive(int source, int tag, std::span<std::byte> bytes) const {
    return source >= 0 && source < world().size && tag >= 0 && is_buffer(bytes) &&
           !progress.is_copy();
  }
  Status wrong_receive(int source, int tag, std::span<const std::byte> bytes = {}) const {
    if (source != kAnySource && (source < 0 || source >= world().size))
      return told(Code::bad_rank,
                  cat("receive from rank ", source, ": there are ranks 0 to ", world().size - 1),
                  source);
    if (tag != kAnyTag && tag < 0)
      return told(Code::bad_tag, cat("receive with tag ", tag, ": tags are 0 to ", kMaxTag),
                  source);
    if (!is_buffer(bytes))
      return told(Code::bad_buffer,
                  cat("receive ", bytes.size(), " bytes with tag ", tag, ": their address is null"),
                  source);
    return {};
  }

  enum class Begin : unsigned char { now, later };

  // Returns true if the message was sent and nothing is left to wait for.
  bool send_at_once(int peer, int tag, std::span<const std::byte> bytes, Context context) {
    return can_send(peer, tag, bytes) && progress.with([&](Messenger& messenger) {
      return messenger.send_at_once(peer, tag, bytes, context);
    });
  }

  Operation& send(int peer, int tag, std::span<const std::byte> bytes, Context context,
                  bool synchronous, Begin when) {
    if (progress.is_copy()) return of_child();
    Status wrong = wrong_send(peer, tag, bytes);
    return progress.with([&](Messenger& messenger) -> Operation& {
      Operation& operation = messenger.send_operation(peer, tag, bytes, context);
      operation.progress = &progress;
      operation.synchronous = synchronous;
      return begin(messenger, operation, std::move(wrong), when);
    });
  }
  Operation& receive(int source, int tag, std::span<std::byte> bytes, Context context, Begin when) {
    const bool simple = when == Begin::now && can_receive(source, tag, bytes);
    if (!simple && progress.is_copy()) return of_child();
    return progress.with([&](Messenger& messenger) -> Operation& {
      Operation& operation = messenger.receive_operation(source, tag, bytes, context);
      operation.progress = &progress;
      if (!simple) [[unlikely]]
        return begin(messenger, operation, wrong_receive(source, tag, bytes), when);
      messenger.begin(operation);
      return operation;
    });
  }
  // These do so for messages of several pieces.
  Operation& send(int peer, int tag, SendPieces pieces, Context context, bool synchronous,
                  Begin when) {
    if (progress.is_copy()) return of_child();
    Gathered<const std::byte> message;
    message.wrong = wrong_send(peer, tag);
    if (message.wrong.ok()) message = gathered(pieces.pieces(), "send to rank ", peer);
    return progress.with([&](Messenger& messenger) -> Operation& {
      Operation& operation = messenger.send_operation(peer, tag, message.bytes, context);
      operation.progress = &progress;
      operation.synchronous = synchronous;
      operation.set_pieces(std::move(message.whole));
      return begin(messenger, operation, std::move(message.wrong), when);
    });
  }
  Operation& receive(int source, int tag, ReceivePieces pieces, Context context, Begin when) {
    if (progress.is_copy()) return of_child();
    Gathered<std::byte> message;
    message.wrong = wrong_receive(source, tag);
    if (message.wrong.ok()) message = gathered(pieces.pieces(), "receive from rank ", source);
    return progress.with([&](Messenger& messenger) -> Operation& {
      Operation& operation = messenger.receive_operation(source, tag, message.bytes, context);
      operation.progress = &progress;
      operation.set_pieces(std::move(message.whole));
      return begin(messenger, operation, std::move(message.wrong), when);
    });
  }
  // Returns true if a short message of these pieces was sent, and nothing is left to wait for.
  bool send_at_once(int peer, int tag, SendPieces pieces, Context context) {
    constexpr std::size_t kShort = 1024;
    std::array<std::byte, kShort> whole;
    std::size_t bytes = 0;
    for (const std::span<const std::byte> piece : pieces.pieces()) {
      if (!is_buffer(piece) || piece.size() > whole.size() - bytes) return false;
      if (!piece.empty()) std::memcpy(whole.data() + bytes, piece.data(), piece.size());
      bytes += piece.size();
    }
    return send_at_once(peer, tag, std::span<const std::byte>(whole.data(), bytes), context);
  }

  // Returns the message, or the error, that a probe finds. `group` is null, or the ranks that may
  // send it. Returns std::nullopt if there is nothing yet.
  std::optional<Status> found(Messenger& messenger, const Pattern& pattern, const RankGroup* group);

  // The operation must be complete, and the channel open.
  void release(Operation& operation) {
    progress.with([&](Messenger& messenger) { messenger.release(operation); });
  }
  static Operation& begin(Messenger& messenger, Operation& operation, Status wrong, Begin when) {
    operation.persistent = when == Begin::later;
    operation.invalid = !wrong.ok();
    // One that is not started is passed over by waits, as one that was waited for.
    operation.was_waited_for = when == Begin::later && wrong.ok();
    if (wrong.ok()) operation.status = {};
    if (!wrong.ok()) {
      operation.status = std::move(wrong);
      operation.phase = Phase::complete;
    } else if (when == Begin::now) {
      messenger.begin(operation);
    }
    return operation;
  }

  ChannelOptions options;
  const World own_world;
  std::unique_ptr<Bootstrap> bootstrap;  // null: the links came without
  std::atomic<Context> next_reserved = 0x8000'0000;
  std::shared_ptr<void> kept_for_user;  // Inside::kept_for
  std::atomic<bool> is_closed = false;
  Progress progress;
};

struct ProbedMessage::State {
  std::shared_ptr<Progress> progress;
  std::shared_ptr<const RankGroup> group;  // null: the channel's ranks
  Unexpected* kept = nullptr;
  Status status;
};

ProbedMessage::ProbedMessage(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProbedMessage::ProbedMessage(ProbedMessage&&) noexcept = default;
ProbedMessage& ProbedMessage::operator=(ProbedMessage&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
ProbedMessage::~ProbedMessage() {
  if (state_ && state_->kept != nullptr && !state_->progress->is_copy())
    state_->progress->with([&](Messenger& messenger) { messenger.drop(*state_->kept); });
}
const Status& ProbedMessage::status() const {
  static const Status nothing;
  return state_ ? state_->status : nothing;
}

Channel::Channel(std::shared_ptr<State> state, bool closes)
    : state_(std::move(state)), closes_(closes) {}

std::unique_ptr<Channel> channel::Inside::share(Channel& channel) {
  return std::unique_ptr<Channel>(new Channel(channel.state_, false));
}
std::shared_ptr<void>& channel::Inside::kept_for(Channel& channel) {
  return channel.state_->kept_for_user;
}
bool channel::Inside::allows_threads(const Channel& channel) {
  return channel.state_->options.threads == Threads::multiple;
}
bool channel::Inside::is_closed(const Channel& channel) {
  return closed(channel).load(std::memory_order_relaxed);
}
const std::atomic<bool>& channel::Inside::closed(const Channel& channel) {
  return channel.state_->is_closed;
}

namespace {

// The longest wait for others to close: they may never look again, since they compute or hang.
constexpr std::chrono::seconds kFarewell{2};

// A process opens one channel at a time, since a launcher's server talks to one party in each
// process.
std::atomic<bool> is_open{false};

Channel::Opened already_open() {
  return {nullptr, told(Code::bad_argument,
                        "open the channel: this process has one already (give its parts contexts "
                        "of that one, or close it first)")};
}

}  // namespace

// Messages that were sent go first, since others may wait for them. Then the others are told to
// send no more.
Channel::~Channel() {
  if (!closes_ && !state_->progress.is_copy()) return;
  if (state_->progress.is_copy()) {
    // A child process (fork) must not destroy what belongs to its parent.
    static_cast<void>(new std::shared_ptr<State>(std::move(state_)));
    return;
  }
  state_->is_closed.store(true, std::memory_order_relaxed);
  state_->progress.wait_until([](Messenger& messenger) { return messenger.end_requests(); }, {});
  state_->progress.with([](Messenger& messenger) { messenger.finish(); });
  const auto all_gone = [](Messenger& messenger, bool blocked) {
    return !blocked && (messenger.network() == nullptr || messenger.network()->idle());
  };
  state_->progress.wait_until(
      [&](Messenger& messenger) { return all_gone(messenger, messenger.owes()); }, {});
  // A peer that does not answer for so long need not know about channels. It has mostly ended:
  // nothing reports a rank that ends well.
  state_->progress.wait_until(
      [&](Messenger& messenger) { return all_gone(messenger, messenger.blocked()); },
      std::chrono::seconds(state_->options.unreachable_after));
  std::vector<PeerCounters> peers;
  for (int peer = 0; peer < size(); ++peer)
    peers.push_back(counters(peer));
  write_counters(counters(), peers);  // while it has its connections
  state_->progress.wait_until(
      [](Messenger& messenger) {
        return messenger.network() == nullptr || messenger.network()->leave();
      },
      kFarewell);
  const std::size_t left =
      state_->progress.with([](Messenger& messenger) { return messenger.close(); });
  if (std::exchange(state_->bootstrap, nullptr)) is_open = false;
  if (left != 0) state_->progress.keep(state_, left);
}

namespace {

Channel::Opened open_first(ChannelOptions options) {
  const auto failed = [](const Error& why) {
    return Channel::Opened{nullptr, told(Code::device, why.text())};
  };
  auto bootstrap = Bootstrap::join();
  if (!bootstrap) return failed(bootstrap.error());
  auto links = open_links(**bootstrap, options);
  if (!links) return failed(links.error());
  World world = (*bootstrap)->world();
  return {Channel::State::channel(std::make_unique<Channel::State>(
              std::move(options), std::move(world), std::move(*bootstrap), std::move(*links))),
          {}};
}

}  // namespace

Channel::Opened Channel::open(const ChannelOptions& options) {
  std::vector<const char*> environment;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word)
    environment.push_back(*word);
  Result<ChannelOptions> chosen = overruled(options, environment);
  if (!chosen) return {nullptr, told(Code::bad_argument, chosen.error().text())};
  if (const auto checked = Bootstrap::check_variable(); !checked)
    return {nullptr, told(Code::bad_argument, cat("open the channel: ", checked.error().text()))};
  if (is_open.exchange(true)) return already_open();
  Opened opened = open_first(std::move(*chosen));
  if (!opened.channel) is_open = false;
  return opened;
}

std::unique_ptr<Channel> channel::channel_over(World world, const ChannelOptions& options,
                                               Links links) {
  return Channel::State::channel(std::make_unique<Channel::State>(
      options, std::move(world), std::unique_ptr<Bootstrap>(), std::move(links)));
}

int Channel::rank() const {
  return state_->world().rank;
}
int Channel::size() const {
  return state_->world().size;
}
int Channel::node() const {
  return state_->world().node();
}
int Channel::nodes() const {
  return state_->world().nodes;
}
int Channel::node_of(int rank) const {
  return rank < 0 || rank >= size() ? -1 : state_->world().node_of[static_cast<std::size_t>(rank)];
}
std::vector<std::vector<int>> Channel::processors_of_node() const {
  std::vector<std::vector<int>> processors;
  state_->progress.with([&](Messenger& messenger) {
    const shm::NodeLink* const link = messenger.node();
    for (std::uint32_t rank = 0; link != nullptr && rank < link->ranks(); ++rank)
      processors.push_back(link->processors_of(rank));
  });
  if (processors.empty()) processors.push_back(allowed_cpus());  // alone there
  return processors;
}

Request Channel::isend(int peer, int tag, std::span<const std::byte> bytes, Context context) {
  if (state_->send_at_once(peer, tag, bytes, context)) return Request(&sent_at_once());
  return Request(&state_->send(peer, tag, bytes, context, false, State::Begin::now));
}
Request Channel::isend(int peer, int tag, SendPieces pieces, Context context) {
  if (state_->send_at_once(peer, tag, pieces, context)) return Request(&sent_at_once());
  return Request(&state_->send(peer, tag, pieces, context, false, State::Begin::now));
}
Request Channel::issend(int peer, int tag, SendPieces pieces, Context context) {
  return Request(&state_->send(peer, tag, pieces, context, true, State::Begin::now));
}
Request Channel::irecv(int source, int tag, ReceivePieces pieces, Context context) {
  return Request(&state_->receive(source, tag, pieces, context, State::Begin::now));
}
Request Channel::send_init(int peer, int tag, SendPieces pieces, Context context) {
  return Request(&state_->send(peer, tag, pieces, context, false, State::Begin::later));
}
Request Channel::recv_init(int source, int tag, ReceivePieces pieces, Context context) {
  return Request(&state_->receive(source, tag, pieces, context, State::Begin::later));
}
Status Channel::send(int peer, int tag, SendPieces pieces, Context context) {
  return isend(peer, tag, pieces, context).wait();
}
Status Channel::recv(int source, int tag, ReceivePieces pieces, Context context, Timeout timeout) {
  Request request = irecv(source, tag, pieces, context);
  return Inside::received(request, timeout);
}
Request Channel::issend(int peer, int tag, std::span<const std::byte> bytes, Context context) {
  return Request(&state_->send(peer, tag, bytes, context, true, State::Begin::now));
}
Request Channel::irecv(int source, int tag, std::span<std::byte> bytes, Context context) {
  return Request(&state_->receive(source, tag, bytes, context, State::Begin::now));
}
Request Channel::send_init(int peer, int tag, std::span<const std::byte> bytes, Context context) {
  return Request(&state_->send(peer, tag, bytes, context, false, State::Begin::later));
}
Request Channel::recv_init(int source, int tag, std::span<std::byte> bytes, Context context) {
  return Request(&state_->receive(source, tag, bytes, context, State::Begin::later));
}

Status Channel::send(int peer, int tag, std::span<const std::byte> bytes, Context context) {
  if (state_->send_at_once(peer, tag, bytes, context)) return {};
  return Request(&state_->send(peer, tag, bytes, context, false, State::Begin::now)).wait();
}

Status Channel::recv(int source, int tag, std::span<std::byte> bytes, Context context,
                     Timeout timeout) {
  Request request = irecv(source, tag, bytes, context);
  if (request.operation_->everybodys) return request.operation_->status;
  const bool is_complete = request.completes(timeout);
  // If source and tag are known to the caller, the status need not be loaded.
  const Status& got = request.operation_->status;
  if (is_complete && source != kAnySource && tag != kAnyTag && got.ok()) [[likely]] {
    const std::size_t length = got.bytes();
    state_->release(*std::exchange(request.operation_, nullptr));
    return StatusWriter::of_message(source, tag, length);
  }
  return Inside::received(request, std::chrono::nanoseconds(0));
}

Status channel::Inside::received(Request& request, Timeout timeout) {
  Status status = request.wait(timeout);
  if (status.code() != Code::timed_out || request.cancel()) return status;
  // The message is on its way, or the sender has to say whether it is.
  Status last = request.wait();
  return last.code() == Code::cancelled ? status : last;
}

namespace {

Status status_of(const Unexpected& message) {
  return StatusWriter::of_message(message.envelope.source, message.envelope.tag,
                                  message.envelope.length);
}

// Returns no error if a message of the source may come yet.
Status nobody_comes(Messenger& messenger, int source, const RankGroup* group) {
  if (source == kAny) return messenger.nobody_left(group) ? error_of_solitude() : Status();
  messenger.probed_in_vain(source);
  return messenger.has_ended(source) ? messenger.peer_ended(source) : Status();
}

Pattern pattern_for(int source, int tag, Context context) {
  return {context, source == kAnySource ? kAny : source, tag == kAnyTag ? kAny : tag};
}

Status of_group(Status status, const std::shared_ptr<const RankGroup>& group) {
  if (group != nullptr) group->translate(status);
  return status;
}

const std::shared_ptr<const RankGroup> kNoGroup;

}  // namespace

std::optional<Status> Channel::State::found(Messenger& messenger, const Pattern& pattern,
                                            const RankGroup* group) {
  const Unexpected* const message = messenger.probe(pattern);
  if (message != nullptr) return status_of(*message);
  if (Status gone = nobody_comes(messenger, pattern.source, group); !gone.ok()) return gone;
  return std::nullopt;
}

std::optional<Status> Channel::iprobe(int source, int tag, Context context) {
  return Inside::iprobe(*this, source, tag, context, kNoGroup);
}

std::optional<Status> channel::Inside::iprobe(Channel& channel, int source, int tag,
                                              Context context,
                                              const std::shared_ptr<const RankGroup>& group) {
  Channel::State& state = *channel.state_;
  if (Status wrong = state.wrong_receive(source, tag); !wrong.ok())
    return of_group(std::move(wrong), group);
  if (state.progress.is_copy()) return error_of_child();
  std::optional<Status> found = state.progress.with([&](Messenger& messenger) {
    state.progress.poll();
    return state.found(messenger, pattern_for(source, tag, context), group.get());
  });
  if (found && group != nullptr) group->translate(*found);
  return found;
}

Status Channel::probe(int source, int tag, Context context, Timeout timeout) {
  return Inside::probe(*this, source, tag, context, timeout, kNoGroup);
}

Status channel::Inside::probe(Channel& channel, int source, int tag, Context context,
                              Timeout timeout, const std::shared_ptr<const RankGroup>& group) {
  Channel::State& state = *channel.state_;
  if (Status wrong = state.wrong_receive(source, tag); !wrong.ok())
    return of_group(std::move(wrong), group);
  if (state.progress.is_copy()) return error_of_child();
  const Pattern pattern = pattern_for(source, tag, context);
  std::optional<Status> found;
  const bool in_time = state.progress.wait_until(
      [&](Messenger& messenger) {
        found = state.found(messenger, pattern, group.get());
        return found.has_value();
      },
      timeout);
  if (!in_time) found = error_with(Code::timed_out, source, tried_to("probe", pattern));
  return of_group(*std::move(found), group);
}

std::optional<ProbedMessage> Channel::improbe(int source, int tag, Context context) {
  return Inside::improbe(*this, source, tag, context, kNoGroup);
}

std::optional<ProbedMessage> channel::Inside::improbe(
    Channel& channel, int source, int tag, Context context,
    const std::shared_ptr<const RankGroup>& group) {
  const std::shared_ptr<Channel::State>& whole = channel.state_;
  auto state = std::make_unique<ProbedMessage::State>();
  state->group = group;
  state->status = of_group(whole->wrong_receive(source, tag), group);
  if (whole->progress.is_copy()) state->status = error_of_child();
  if (!state->status.ok()) return ProbedMessage(std::move(state));
  return whole->progress.with([&](Messenger& messenger) -> std::optional<ProbedMessage> {
    whole->progress.poll();
    const Pattern pattern = pattern_for(source, tag, context);
    state->progress = {whole, &whole->progress};
    state->kept = messenger.take(pattern);
    if (state->kept != nullptr)
      state->status = of_group(status_of(*state->kept), group);
    else
      state->status = of_group(nobody_comes(messenger, pattern.source, group.get()), group);
    if (state->kept == nullptr && state->status.ok()) return std::nullopt;
    return ProbedMessage(std::move(state));
  });
}

ProbedMessage channel::Inside::nothing_probed(Status why) {
  auto state = std::make_unique<ProbedMessage::State>();
  state->status = std::move(why);
  return ProbedMessage(std::move(state));
}

Request Channel::imrecv(ProbedMessage message, std::span<std::byte> bytes) {
  if (state_->progress.is_copy()) return Request(&of_child());
  Status wrong;
  if (!is_buffer(bytes))
    wrong = told(Code::bad_buffer, cat("receive ", bytes.size(),
                                       " bytes of a probed message: their address is null"));
  return Inside::imrecv(*this, std::move(message), bytes, nullptr, std::move(wrong));
}

Request Channel::imrecv(ProbedMessage message, ReceivePieces pieces) {
  if (state_->progress.is_copy()) return Request(&of_child());
  const int source = message.status().source();
  Gathered<std::byte> room = gathered(pieces.pieces(), "receive a probed message of rank ", source);
  return Inside::imrecv(*this, std::move(message), room.bytes, std::move(room.whole),
                        std::move(room.wrong));
}

Request channel::Inside::imrecv(Channel& channel, ProbedMessage message, std::span<std::byte> bytes,
                                std::unique_ptr<ScatterGather> pieces, Status wrong) {
  Progress& progress = channel.state_->progress;
  ProbedMessage::State* const probed = message.state_.get();
  if (probed == nullptr || probed->kept == nullptr) {
    wrong = probed == nullptr ? Status() : probed->status;
    if (wrong.ok())
      wrong = told(Code::bad_request, "receive a probed message that was received already");
  } else if (probed->progress.get() != &progress) {
    wrong = told(Code::bad_request,
                 "receive a probed message of another channel: the channel that took it receives "
                 "it");
  }
  return progress.with([&](Messenger& messenger) {
    const bool is_good = wrong.ok();
    const Envelope envelope = is_good ? probed->kept->envelope : Envelope();
    Operation& operation =
        messenger.receive_operation(envelope.source, envelope.tag, bytes, envelope.context);
    operation.progress = &progress;
    if (!is_good)
      return Request(&Channel::State::begin(messenger, operation, std::move(wrong),
                                            Channel::State::Begin::now));
    operation.set_pieces(std::move(pieces));
    operation.status = {};
    messenger.receive(operation, *std::exchange(probed->kept, nullptr));
    if (probed->group != nullptr) messenger.set_group(operation, probed->group);
    return Request(&operation);
  });
}

void channel::Inside::set_group(Request& request, const std::shared_ptr<const RankGroup>& group) {
  Operation* const operation = request.operation_;
  if (operation == nullptr || operation->everybodys) return;
  operation->progress->with([&](Messenger& messenger) { messenger.set_group(*operation, group); });
}

Context Channel::reserve_contexts(Context count) {
  // The last context is used by an executor that wakes itself (collectives/executors).
  constexpr Context kEnd = 0xffff'0000;
  std::atomic<Context>& next = state_->next_reserved;
  Context first = next;
  do {
    if (count > kEnd - first) return kWorld;
  } while (!next.compare_exchange_weak(first, first + count));
  return first;
}

void Channel::close_contexts(Context first, Context count) {
  if (state_->progress.is_copy()) return;
  state_->progress.with([&](Messenger& messenger) { messenger.discard(first, count); });
}

void Channel::open_contexts(Context first, Context count) {
  if (state_->progress.is_copy()) return;
  state_->progress.with([&](Messenger& messenger) { messenger.accept(first, count); });
}

bool Channel::progress() {
  if (state_->progress.is_copy()) return false;
  return state_->progress.with([&](Messenger&) { return state_->progress.poll(); });
}

bool Channel::has_exited(int rank) const {
  if (rank < 0 || rank >= size() || state_->progress.is_copy()) return false;
  return state_->progress.with([&](Messenger& messenger) { return messenger.has_ended(rank); });
}

void Channel::mark_exited(int rank) {
  if (rank < 0 || rank >= size()) return;
  state_->progress.with([&](Messenger&) { state_->progress.mark_exited(rank); });
}

PeerCounters Channel::counters(int peer) const {
  if (peer < 0 || peer >= size() || state_->progress.is_copy()) return {};
  return state_->progress.with([&](Messenger& messenger) { return messenger.counters(peer); });
}

Counters Channel::counters() const {
  if (state_->progress.is_copy()) return {};
  return state_->progress.with([](Messenger& messenger) { return messenger.counters(); });
}

std::string Channel::describe() const {
  std::string text = cat("rank ", rank(), " of ", size(), ", node ", node(), " of ", nodes());
  if (state_->progress.is_copy()) return text + "; a child's copy: the channel is its parent's";
  if (state_->bootstrap) text += cat("; ", state_->bootstrap->describe());
  state_->progress.with([&](Messenger& messenger) {
    if (const shm::NodeLink* const link = messenger.node())
      text += cat("\nnode ", node(), ": shared memory, ", link->describe());
    if (const NetworkDevice* const network = messenger.network())
      text += cat("\nother nodes: ", network->describe());
  });
  return text;
}

}  // namespace scela
