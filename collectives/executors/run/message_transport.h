// A Transport is what executors need of a message library (N7): the channel, an MPI, or a test's
// memory. Messages go between two ranks with a Route, which is a communicator and a tag.
//
// Among the messages from one rank to another with one route, the k-th send meets the k-th receive.
// Messages of different routes do not affect each other. A buffer belongs to the transport from the
// call that names it until its message is over. The transport allocates no memory for a message if
// as many were under way before.
//
// One thread may use a transport; only wake() may be called by other threads. Several transports
// may share one library, if that lets several threads call. This header also has the faults by
// which messages and operations fail, and the notices that ranks send each other about
// communicators that cannot go on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scela {
enum class Code : unsigned char;
class Request;
}  // namespace scela

namespace scela::collectives {

// Identifies a communicator. The lower 32 bits are the library's context. The upper 32 bits are the
// context's life, which is the number of communicators that had the context before. Messages of one
// life never meet those of another.
using ContextId = std::uint64_t;

// Messages meet if they have one communicator (context) and one of its operations (tag).
struct Route {
  ContextId context = 0;
  std::uint32_t tag = 0;
  friend bool operator==(const Route&, const Route&) = default;
};

// The contexts of messages outside of communicators: wake-ups of a thread, agreements, notices that
// a context is given up, two of the engine executor, and agreements on families of contexts.
// Communicators have the contexts from 2^31 to 2^32 - 2^16.
inline constexpr std::uint32_t kWakeContext = 0xffff'ffff;
inline constexpr std::uint32_t kAgreementContext = 0xffff'fffe;
inline constexpr std::uint32_t kGivenUpContext = 0xffff'fffd;
inline constexpr std::uint32_t kEngineContext = 0xffff'fffc;
inline constexpr std::uint32_t kEngineNoteContext = 0xffff'fffb;
inline constexpr std::uint32_t kFamiliesContext = 0xffff'fffa;

// Returns the route of messages about a communicator in `context`, one of the contexts above. It
// has the communicator's life. Its tag is the communicator's context without the highest bit.
inline Route beside(ContextId communicator, std::uint32_t context) {
  return {communicator >> 32 << 32 | context,
          static_cast<std::uint32_t>(communicator) & 0x7fff'ffffU};
}

// The kinds of faults by which messages and operations fail.
enum class FaultCode : std::uint8_t {
  peer_ended,  // the rank is dead or its node is lost
  resources,   // memory or descriptors are exhausted
  mismatch,    // calls differ in size or operation
  cancelled,   // this rank has cancelled it
  other,       // messages have failed otherwise
};
// Returns a text for people, such as "the rank has ended".
std::string_view name_of(FaultCode code);
// Returns the code of a message that has failed with this code of scela/status.h. Codes without a
// counterpart become `other`.
FaultCode fault_code_of(Code code);

// Why a rank's call was refused, so that the rank takes part with notes only (run.h).
enum class Refusal : std::uint8_t {
  none,       // it was not refused
  root,       // its root is out of range
  buffer,     // its buffer is null
  overlap,    // its buffers overlap
  sizes,      // its buffers' sizes do not fit
  parts,      // its parts do not fit its buffers
  elements,   // they have different types
  in_place,   // it cannot be in place
  reduction,  // the type cannot be reduced so
  algorithm,  // it cannot be used for this call
  freed,      // it freed a communicator still in use
  memory,     // it had no memory for an operation
  other,      // its operation or sizes differ
};
// Returns a text such as "its buffer is null"; an empty one for Refusal::none.
std::string_view words_of(Refusal refusal);
// Returns a text such as "its call was refused: its buffer is null".
std::string reason_of(Refusal refusal);

// Why a message, or an operation, has failed.
struct Fault {
  FaultCode code = FaultCode::other;
  int rank = -1;                    // the rank at fault; -1: no rank
  std::string words;                // for people: what was tried and happened
  Refusal refusal = Refusal::none;  // why the rank's call was refused
};

// The state of a message: under way, or how it has ended.
struct Outcome {
  bool over = false;  // false: under way; ignore the rest
  // The length of a received message. It may be longer than the buffer, which then holds its first
  // bytes. A transport that does not know the length reports one byte more than the buffer has.
  std::uint64_t bytes = 0;
  std::shared_ptr<const Fault> fault;  // null: success; rank as the transport's
};

// The meaning of a notice (AbortedContext) about a context.
enum class About : std::uint8_t {
  given_up,  // it ends, but for `begun` operations
  left,      // sender freed it after `begun` operations
  calls,     // sender waits in operation `begun`
};

// A notice about a communicator that one rank sends to others, in the form that goes over the wire.
// With About::given_up it says that no rank can go on with the communicator. The reason may be that
// a rank of it has ended and an operation has failed. Or a rank's call was refused and the others
// do not know its list, or it differs from the others' calls. Or the ranks may wait for a rank that
// has freed its communicator, or that has no memory.
struct AbortedContext {
  ContextId context = 0;
  std::int32_t rank = 0;            // rank at fault or sender; transport's
  Refusal refusal = Refusal::none;  // none: the rank has ended
  About about = About::given_up;
  std::uint16_t kind = 0;   // for About::calls: Call::kind
  std::uint64_t begun = 0;  // the first `begun` operations go on
};
static_assert(sizeof(AbortedContext) == 24);
// Returns the fault with which operations of a context that is given up end. `rank` is the number
// of what.rank in the operation's list.
Fault fault_of(const AbortedContext& what, int rank);

class Transport {
 public:
  // Numbers a message under way, until test() says that it is over or cancel() is called. Then the
  // number is free for another message.
  using Ticket = std::uint32_t;
  // The ticket of a message that was over at once, without a fault. The caller need not test it.
  static constexpr Ticket kGone = ~Ticket{0};
  // The longest time of one wait. Executors wait again after it, once they have looked for other
  // news.
  static constexpr std::chrono::milliseconds kLongWait{250};
  // The limit of a wait. Without a value, the wait has no limit.
  using Timeout = std::optional<std::chrono::nanoseconds>;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // Begins to send a message to the rank `peer` of the transport, and returns its ticket. Does not
  // block. `bytes` must stay until the message is over. If the message cannot be begun, test() of
  // the ticket returns the fault.
  virtual Ticket send(int peer, Route route, std::span<const std::byte> bytes) = 0;
  // Begins to receive a message from the rank `peer`, in the same way. A message that is longer
  // than `bytes` is cut (Outcome::bytes).
  virtual Ticket receive(int peer, Route route, std::span<std::byte> bytes) = 0;
  // Receives the next message of this route, for a caller that has nothing else to do. It blocks
  // briefly, over the channel for 50 ms at most. If the outcome is not over, the message has not
  // come, and the transport does not touch the buffer any more.
  virtual Outcome take(int /*peer*/, Route, std::span<std::byte> /*bytes*/) { return {}; }
  // Returns the outcome of a message. If it is over, the ticket is free from then on. Also moves
  // messages, unless let_tests() forbids it. Never blocks.
  virtual Outcome test(Ticket ticket) = 0;
  // For a caller with many tickets, which need not move messages in each test(). After
  // let_tests(look) a test moves nothing, and the caller calls move() now and then; let_tests(move)
  // ends this.
  enum class Tests : bool { move, look };
  virtual void let_tests(Tests /*tests*/) {}
  // Moves messages, for a caller that has called let_tests(Tests::look).
  virtual void move() {}
  // Blocks until one of the messages may be over; test() then says whether it is. Also returns
  // after wake(), if that was called before or meanwhile, and possibly for no reason. Returns false
  // if the time `limit` has passed. A waiting thread sleeps after a short time.
  virtual bool wait_any(std::span<const Ticket> tickets, Timeout limit = {}) = 0;
  // Blocks like wait_any() for one message, at most for kLongWait. The caller promises that no
  // thread calls wake().
  virtual void wait(Ticket ticket) { wait_any({&ticket, 1}, kLongWait); }
  // Makes a wait of another thread return: the one under way, or else the next. Any thread may call
  // it. Several calls may have the effect of one.
  virtual void wake() = 0;
  // Cancels a message and frees its ticket. The transport does not touch the buffer any more when
  // this returns. It may block if only the peer can say so.
  virtual void cancel(Ticket ticket) = 0;
  // Returns the ranks that are known to have ended, in the order in which the transport found out.
  // The span is valid until the next call. Messages that these ranks have sent may still come.
  virtual std::span<const int> ended() { return {}; }
  // Says that the other ranks have agreed that the rank `peer` has ended. Messages with it end with
  // FaultCode::peer_ended from now on, whatever the transport knew of it.
  virtual void lost(int /*peer*/) {}
  // Sends this notice to these ranks. Their given_up() returns it. Does not block. No notice goes
  // to this rank itself, nor to a rank that the notice says has ended.
  virtual void give_up(std::span<const int> /*peers*/, const AbortedContext& /*what*/) {}
  // Returns the next notice that another rank has sent by give_up(), each one once. Returns
  // std::nullopt if there is none, or if the last look was less than about 50 ms ago. Never blocks.
  // wait_any() returns at each look, so that its caller can ask here.
  virtual std::optional<AbortedContext> given_up() { return std::nullopt; }
  // Withdraws a receive that the caller does not need any more. Its ticket stays valid. test() says
  // that it is over: at once, unless a message is on its way. Never blocks.
  virtual void withdraw(Ticket /*ticket*/) {}
  // Says that this rank receives no further message of this context. The transport throws away
  // messages of it that have come or come later, in any of its calls, so that their senders get
  // their buffers back.
  virtual void drop(ContextId /*context*/) {}
  // Serves one wait for several transports and the program's own messages
  // (comm-channel/include/request_body.h). Appends the channel's requests that wait_any() of these
  // tickets would wait for, wake() included. They belong to the transport, and are valid until any
  // other call of it. Returns false, and appends nothing, if the transport has no requests of the
  // channel.
  virtual bool add_requests(std::span<const Ticket>, std::vector<Request*>&) { return false; }
  // Returns true if the program has closed the library; then no message can be begun.
  virtual bool is_closed() const { return false; }
  // Returns how many tags a context has: 0 to tags() - 1. Tags come again, so at most half as many
  // operations can be under way at once.
  virtual std::uint32_t tags() const = 0;
};

}  // namespace scela::collectives
