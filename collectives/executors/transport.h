// What executors need of a library that has messages (N7): the channel, an MPI, or a test's memory.
//
// Of the messages from one rank to another with one route, the k-th send meets the k-th receive;
// routes have nothing to do with each other. A buffer is the transport's from the call that names
// it until its ticket is over. Nothing is allocated for a message once as many have been under way
// at a time.
//
// A transport is one thread's: only wake() may be called by others. Several transports may go by
// one library, if that lets several threads call.
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

namespace scela::channel {
class Request;
}

namespace scela::collectives {

// Which communicator: the library's context in the lower half, and in the upper one its life, how
// many communicators had that context before. Nothing of one life meets what is of another.
using ContextId = std::uint64_t;

// Which messages meet: those of one communicator (context) and one of its operations (tag).
struct Route {
  ContextId context = 0;
  std::uint32_t tag = 0;
  friend bool operator==(const Route&, const Route&) = default;
};

// Contexts of what is said outside of communicators. Communicators have those from 2^31 to 2^32 -
// 2^16.
inline constexpr std::uint32_t kWakeContext = 0xffff'ffff;
inline constexpr std::uint32_t kAgreementContext = 0xffff'fffe;
inline constexpr std::uint32_t kGivenUpContext = 0xffff'fffd;
inline constexpr std::uint32_t kEngineContext = 0xffff'fffc;
inline constexpr std::uint32_t kEngineNoteContext = 0xffff'fffb;
inline constexpr std::uint32_t kFamiliesContext = 0xffff'fffa;

// Where such words concern one communicator, its context is their tag, without the highest bit.
inline Route beside(ContextId communicator, std::uint32_t context) {
  return {communicator >> 32 << 32 | context,
          static_cast<std::uint32_t>(communicator) & 0x7fff'ffffU};
}

enum class FaultCode : std::uint8_t {
  peer_ended,  // the rank is dead, or its node is lost
  resources,   // memory, descriptors
  mismatch,    // ranks have called with other sizes or operations than each other
  cancelled,
  other,
};
std::string_view name_of(FaultCode code);

// What a rank was called with that cannot be, so that it takes part with notes only (run.h).
enum class Refusal : std::uint8_t {
  none,
  root,
  buffer,
  overlap,
  sizes,
  parts,
  elements,
  in_place,
  reduction,
  algorithm,
  freed,   // no call: it has freed the communicator that others go on with
  memory,  // no refusal: it had no memory for the call, or for a message of it
  other,   // no refusal: it has called another operation than others, or with other sizes
};
// "its buffer is null"
std::string_view words_of(Refusal refusal);
// "its call was refused: its buffer is null"
std::string reason_of(Refusal refusal);

// Why a message, or an operation, has failed.
struct Fault {
  FaultCode code = FaultCode::other;
  int rank = -1;                    // whose fault it is, as who reports numbers ranks; -1: nobody's
  std::string words;                // what was tried, with whom, what happened
  Refusal refusal = Refusal::none;  // where the rank's call was refused: why
};

struct Outcome {
  bool over = false;  // false: under way, and the rest says nothing
  // Of a receive: how long the message was. It may be longer than the buffer, which holds its first
  // bytes then; a transport that does not know says one byte more than the buffer has.
  std::uint64_t bytes = 0;
  std::shared_ptr<const Fault> fault;  // null: it went well. Ranks are the transport's.
};

// What a word about a context is about.
enum class About : std::uint8_t {
  given_up,  // it is given up, but for the first `begun` operations
  left,      // the same, but only if its receiver begins more operations than those
  calls,     // nothing is given up: the sender waits in operation `begun`, which is of that kind
};

// A context is given up, since a rank of it has ended and an operation has failed for it, or since
// a rank's call was refused and the others do not know its list, or since it was called otherwise
// than by others, or since a rank that has freed its communicator is waited for. As it goes over
// the wire.
struct GivenUp {
  ContextId context = 0;
  std::int32_t rank = 0;            // the transport's
  Refusal refusal = Refusal::none;  // none: the rank has ended
  About about = About::given_up;
  std::uint16_t kind = 0;   // About::calls: of the operation, as Call has it
  std::uint64_t begun = 0;  // so many operations of the context, the first ones, go on
};
static_assert(sizeof(GivenUp) == 24);
// Of a list in which that rank is this one.
Fault fault_of(const GivenUp& what, int rank);

class Transport {
 public:
  // A message that is under way, until test() says that it is over, or cancel() was called; then
  // the number is free for another.
  using Ticket = std::uint32_t;
  // Of a message that was over when it was begun, and went well: nothing is asked about it.
  static constexpr Ticket kGone = ~Ticket{0};
  // As long as a wait may last in which nothing is looked for besides.
  static constexpr std::chrono::milliseconds kLongWait{250};
  // A wait's limit. None: for ever.
  using Limit = std::optional<std::chrono::nanoseconds>;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual Ticket send(int peer, Route route, std::span<const std::byte> bytes) = 0;
  virtual Ticket receive(int peer, Route route, std::span<std::byte> bytes) = 0;
  // For a caller who has nothing else to do: receives the next message of this route, and blocks a
  // while for it. Not over: it has not come, and nothing touches the buffer any more.
  virtual Outcome take(int /*peer*/, Route, std::span<std::byte> /*bytes*/) { return {}; }
  // Moves what can be moved, too, unless tests are to look only.
  virtual Outcome test(Ticket ticket) = 0;
  // For a caller with many tickets, for which a move of messages with each test() is too much: with
  // Tests::look a test moves nothing, and the caller calls move() now and then.
  enum class Tests : bool { move, look };
  virtual void let_tests(Tests) {}
  virtual void move() {}
  // Blocks until one of them may be over: test() knows. Also returns after wake(), called before or
  // meanwhile, and when the limit is over: false then. Who waits does not spin for long.
  virtual bool wait_any(std::span<const Ticket> tickets, Limit limit = {}) = 0;
  // As wait_any() of one, where nobody calls wake().
  virtual void wait(Ticket ticket) { wait_any({&ticket, 1}, kLongWait); }
  // Any thread. Several calls may be one.
  virtual void wake() = 0;
  // Nothing touches its buffer when this returns. May block where only the peer can say so.
  virtual void cancel(Ticket ticket) = 0;
  // Ranks that are known to have ended, in the order in which that was found out. What they have
  // sent may still come.
  virtual std::span<const int> ended() { return {}; }
  // The others have agreed that this rank has ended: messages with it end with peer_ended, whatever
  // was told of it here.
  virtual void lost(int /*peer*/) {}
  // Tells these ranks, as soon as they look.
  virtual void give_up(std::span<const int> /*peers*/, const GivenUp& /*what*/) {}
  // The next that this rank was told; looked for now and then, and wait_any() returns as often.
  virtual std::optional<GivenUp> given_up() { return std::nullopt; }
  // Of a receive that nobody needs any more. test() says when it is over: at once, unless a message
  // is on its way. Never blocks.
  virtual void withdraw(Ticket /*ticket*/) {}
  // Nobody receives anything of this context any more: what has come, and what comes, is thrown
  // away whenever somebody calls, so that its senders get their buffers back.
  virtual void drop(ContextId /*context*/) {}
  // For one wait for several transports and for the program's own messages (waits.h): adds what
  // wait_any() would wait for, wake() included. It is the transport's, and good until any other
  // call of it. False: these are no messages of the channel's.
  virtual bool add_requests(std::span<const Ticket>, std::vector<channel::Request*>&) {
    return false;
  }
  // The program has closed it: nothing more can be begun.
  virtual bool is_closed() const { return false; }
  // How many tags a context has: 0 to this, exclusive. Operations are numbered round, so half as
  // many can be under way at once.
  virtual std::uint32_t tags() const = 0;
};

}  // namespace scela::collectives
