// Channel::State has what a channel keeps: its options, its ranks, its messenger and what moves it.
// It makes calls of the program operations of the messenger. channel.cpp and probes.cpp use it. Any
// thread may use it if the channel is for several; Progress::with() has the lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "comm-channel/api/gathered.h"
#include "comm-channel/api/opening.h"
#include "comm-channel/api/probed_messages.h"
#include "comm-channel/api/progress.h"
#include "comm-channel/api/shared_operations.h"
#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/include/inside.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"

namespace scela {

struct Channel::State {
  using Bootstrap = channel::Bootstrap;
  using Links = channel::Links;
  using Messenger = channel::Messenger;
  using Operation = channel::Operation;
  using Phase = channel::Phase;
  using Progress = channel::Progress;
  using World = channel::World;

  State(ChannelOptions chosen, World whose, std::unique_ptr<Bootstrap> joined, Links links)
      : options(std::move(chosen)),
        own_world(std::move(whose)),
        bootstrap(std::move(joined)),
        progress(own_world, options, std::move(links)) {
    if (const channel::shm::NodeLink* const node = progress.messenger().node())
      options.eager.shm = std::min(options.eager.shm, node->most());
  }
  static std::unique_ptr<Channel> channel(std::unique_ptr<State> state) {
    return std::unique_ptr<Channel>(new Channel(std::move(state), true));
  }

  const World& world() const { return own_world; }

  // Returns no error if the arguments are valid.
  Status wrong_send(int peer, int tag, std::span<const std::byte> bytes = {}) const {
    if (peer < 0 || peer >= world().size)
      return channel::call_error(
          Code::bad_rank, cat("send to rank ", peer, ": there are ranks 0 to ", world().size - 1),
          peer);
    if (tag < 0)
      return channel::call_error(
          Code::bad_tag, cat("send to rank ", peer, " with tag ", tag, ": tags are 0 to ", kMaxTag),
          peer);
    if (!channel::is_buffer(bytes))
      return channel::call_error(
          Code::bad_buffer,
          cat("send ", bytes.size(), " bytes to rank ", peer, ": their address is null"), peer);
    return {};
  }
  // Returns whether the arguments are valid and this is no child process (fork).
  bool can_send(int peer, int tag, std::span<const std::byte> bytes) const {
    return peer >= 0 && peer < world().size && tag >= 0 && channel::is_buffer(bytes) &&
           !progress.is_copy();
  }
  bool can_receive(int source, int tag, std::span<std::byte> bytes) const {
    return source >= 0 && source < world().size && tag >= 0 && channel::is_buffer(bytes) &&
           !progress.is_copy();
  }
  Status wrong_receive(int source, int tag, std::span<const std::byte> bytes = {}) const {
    if (source != kAnySource && (source < 0 || source >= world().size))
      return channel::call_error(
          Code::bad_rank,
          cat("receive from rank ", source, ": there are ranks 0 to ", world().size - 1), source);
    if (tag != kAnyTag && tag < 0)
      return channel::call_error(
          Code::bad_tag, cat("receive with tag ", tag, ": tags are 0 to ", kMaxTag), source);
    if (!channel::is_buffer(bytes))
      return channel::call_error(
          Code::bad_buffer,
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
    if (progress.is_copy()) return channel::of_child();
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
    if (!simple && progress.is_copy()) return channel::of_child();
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
    if (progress.is_copy()) return channel::of_child();
    channel::Gathered<const std::byte> message;
    message.wrong = wrong_send(peer, tag);
    if (message.wrong.ok()) message = channel::gathered(pieces.pieces(), "send to rank ", peer);
    return progress.with([&](Messenger& messenger) -> Operation& {
      Operation& operation = messenger.send_operation(peer, tag, message.bytes, context);
      operation.progress = &progress;
      operation.synchronous = synchronous;
      operation.set_pieces(std::move(message.whole));
      return begin(messenger, operation, std::move(message.wrong), when);
    });
  }
  Operation& receive(int source, int tag, ReceivePieces pieces, Context context, Begin when) {
    if (progress.is_copy()) return channel::of_child();
    channel::Gathered<std::byte> message;
    message.wrong = wrong_receive(source, tag);
    if (message.wrong.ok())
      message = channel::gathered(pieces.pieces(), "receive from rank ", source);
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
      if (!channel::is_buffer(piece) || piece.size() > whole.size() - bytes) return false;
      if (!piece.empty()) std::memcpy(whole.data() + bytes, piece.data(), piece.size());
      bytes += piece.size();
    }
    return send_at_once(peer, tag, std::span<const std::byte>(whole.data(), bytes), context);
  }

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
  channel::ProbedMessages probed;
  Progress progress;
};

}  // namespace scela
