// The part of a channel and its requests that only the rest of libscela uses, beside the public
// interface. The header is not installed. Its calls follow the channel's rule for threads, unless
// they say more.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "comm-channel/include/rank_group.h"
#include "comm-channel/include/request_body.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

class ScatterGather;

struct Inside {
  // Returns the same channel as an object of its own, which keeps the channel's state while it
  // exists. After the program has closed its channel, operations that this object begins end with
  // Code::closed.
  static std::unique_ptr<Channel> share(Channel& channel);
  // Returns an object that the channel keeps for its user until nothing of the channel is left. It
  // is null until it was set. No lock guards it.
  static std::shared_ptr<void>& kept_for(Channel& channel);
  // Returns true if several threads may call the channel (Threads::multiple).
  static bool allows_threads(const Channel& channel);
  // Returns true once the program has closed the channel, or has begun to. Any thread may ask.
  static bool is_closed(const Channel& channel);
  // Returns what becomes true then, and is valid as long as an object of the channel.
  static const std::atomic<bool>& closed(const Channel& channel);
  // Blocks until a receive is complete, and returns its status. If the timeout passes before, the
  // receive is cancelled; if it cannot be, the call goes on until it is complete.
  static Status received(Request& request, Timeout timeout);
  // Receives a message that was taken into `pieces`, unless null; `bytes` is the whole of them. If
  // `wrong` is not ok, and there is a message, the request ends with that.
  static Request imrecv(Channel& channel, ProbedMessage message, std::span<std::byte> bytes,
                        std::unique_ptr<ScatterGather> pieces, Status wrong);
  // From now on the request's user knows ranks by their numbers in the group. The request is a
  // message, or empty.
  static void set_group(Request& request, const std::shared_ptr<const RankGroup>& group);
  // These are the functions of Channel for messages of a group. The source is a rank of the
  // channel, and the results have the group's ranks. A probe for any source ends once no other rank
  // of the group is left. imrecv() of a message that was taken so has the group's ranks too.
  static std::optional<Status> iprobe(Channel& channel, int source, int tag, Context context,
                                      const std::shared_ptr<const RankGroup>& group);
  static Status probe(Channel& channel, int source, int tag, Context context, Timeout timeout,
                      const std::shared_ptr<const RankGroup>& group);
  static std::optional<ProbedMessage> improbe(Channel& channel, int source, int tag,
                                              Context context,
                                              const std::shared_ptr<const RankGroup>& group);
  // Returns what a probe returns that has failed.
  static ProbedMessage nothing_probed(Status why);
  // Returns true if the request is complete, as Request::test() does, but moves no messages.
  static bool is_complete(const Request& request);
  // Blocks until a message is complete, or the timeout is over. Returns false if it is over. An
  // empty request, and one of a child process (fork), is complete.
  static bool completes(Request& request, Timeout timeout);
  // Returns a request with this body. The request calls the body's release().
  static Request request_of(RequestBody& body) { return Request(&body); }
  // Returns null if the request is a message or empty.
  static RequestBody* body_of(const Request& request) { return request.body_; }
  static Operation* operation_of(const Request& request) { return request.operation_; }
};

}  // namespace scela::channel
