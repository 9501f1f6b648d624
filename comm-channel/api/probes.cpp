// Probes and probed messages: a probe looks at the messages that no receive has matched, and
// improbe() takes one of them, so that only imrecv() gets it.
#include <optional>
#include <utility>

#include "comm-channel/api/channel_state.h"
#include "comm-channel/engine/error_words.h"

namespace scela {

using namespace channel;

struct ProbedMessage::State {
  std::shared_ptr<Progress> progress;
  ProbedMessages* probed = nullptr;        // of the same channel, which `progress` keeps alive
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
    state_->progress->with([&](Messenger& messenger) {
      if (state_->probed->release(state_->kept)) messenger.drop(*state_->kept);
    });
}
const Status& ProbedMessage::status() const {
  static const Status nothing;
  return state_ ? state_->status : nothing;
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

// Returns the message, or the error, that a probe finds. `group` is null, or the ranks that may
// send it. Returns std::nullopt if there is nothing yet.
std::optional<Status> found_by(Messenger& messenger, const Pattern& pattern,
                               const RankGroup* group) {
  const Unexpected* const message = messenger.probe(pattern);
  if (message != nullptr) return status_of(*message);
  if (Status gone = nobody_comes(messenger, pattern.source, group); !gone.ok()) return gone;
  return std::nullopt;
}

const std::shared_ptr<const RankGroup> kNoGroup;

}  // namespace

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
    return found_by(messenger, pattern_for(source, tag, context), group.get());
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
        found = found_by(messenger, pattern, group.get());
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
    state->probed = &whole->probed;
    state->kept = whole->probed.take(messenger, pattern);
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
    wrong = call_error(Code::bad_buffer, cat("receive ", bytes.size(),
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
      wrong = call_error(Code::bad_request, "receive a probed message that was received already");
  } else if (probed->progress.get() != &progress) {
    wrong =
        call_error(Code::bad_request,
                   "receive a probed message of another channel: the channel that took it receives "
                   "it");
  }
  return progress.with([&](Messenger& messenger) {
    const Envelope envelope = wrong.ok() ? probed->kept->envelope : Envelope();
    Operation& operation =
        messenger.receive_operation(envelope.source, envelope.tag, bytes, envelope.context);
    operation.progress = &progress;
    if (wrong.ok() && !probed->probed->release(probed->kept)) wrong = error_of_closing();
    if (!wrong.ok())
      return Request(&Channel::State::begin(messenger, operation, std::move(wrong),
                                            Channel::State::Begin::now));
    operation.set_pieces(std::move(pieces));
    operation.status = {};
    messenger.receive(operation, *std::exchange(probed->kept, nullptr));
    if (probed->group != nullptr) messenger.set_group(operation, probed->group);
    return Request(&operation);
  });
}

}  // namespace scela
