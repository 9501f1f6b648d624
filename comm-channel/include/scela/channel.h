// Messages between the processes of a job (docs/design/channel.md).
//
//   auto opened = scela::channel::Channel::open();
//   if (!opened.channel) { report(opened.error.text()); return 1; }
//   scela::channel::Channel& channel = *opened.channel;
//   if (channel.rank() == 0) channel.send(1, 7, std::as_bytes(std::span(numbers)));
//   else if (channel.rank() == 1) channel.recv(0, 7, std::as_writable_bytes(std::span(numbers)));
//
// Every process of the job opens its channel. The channel ends with the object: its destructor
// blocks until what was sent has been delivered. With Threads::single one thread at a time uses a
// channel and its requests; with Threads::multiple any thread may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <scela/request.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela::channel {

inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -2;
inline constexpr int kMaxTag = 0x7fff'ffff;

// A space of messages: a receive gets messages of its own context only. All users may use context
// 0.
using Context = std::uint32_t;
inline constexpr Context kWorld = 0;

// The longest message, in bytes, that goes in parts through a node's memory.
inline constexpr std::size_t kMaxStreamed = std::size_t{1} << 20;
// The longest message, in bytes, that moves between nodes without an agreement first. Receive
// buffers are as long.
inline constexpr std::size_t kMaxEagerVerbs = std::size_t{1} << 20;

// The threads that may call a channel: one at a time (`single`), or any (`multiple`).
enum class Threads : unsigned char { single, multiple };
// The way in which large messages move between nodes: RDMA write by the sender, RDMA read by the
// receiver, or in offloaded channels from the second message of a tag on. With `by_choice` the
// channel chooses.
enum class Rendezvous : unsigned char { by_choice, write, read, offloaded };

struct Options {
  Threads threads = Threads::single;
  Rendezvous rendezvous = Rendezvous::by_choice;
  // Bytes. On a node, larger messages go in parts.
  std::size_t eager_shm = 4096;
  // Bytes. On a node, larger messages are copied once. At most kMaxStreamed.
  std::size_t stream_shm = 16384;
  // Bytes. Between nodes, sender and receiver agree on larger messages first. At most
  // kMaxEagerVerbs.
  std::size_t eager_verbs = 8192;
  // Bytes of eager data without a receive that a process keeps.
  std::size_t unexpected_bytes = std::size_t{64} << 20;
  // Between nodes: if several large messages of one tag were sent, later ones move while both
  // programs compute (docs/design/channel.md, Offloaded channels). `rendezvous` may name another
  // way instead.
  bool offload = true;
  std::size_t offload_from = 8192;  // bytes of a large message
  // Large messages of a tag that come before the first that moves so. With Rendezvous::offloaded it
  // is one.
  std::size_t offload_uses = 3;
  // Tags that may have an offloaded channel at once, to all peers together, in each direction.
  std::size_t offload_channels = 16;
  // Connections to other nodes at a time; 0: any number.
  std::size_t max_links = 0;
  // Ports of the adapter that carry large messages; 0: all ports. Each port has its own
  // connections.
  std::size_t ports = 1;
  // Seconds to wait for a process after a connection to it has broken.
  std::size_t unreachable_after = 10;
  // "shm" or "verbs": the only transport, beside the one to this rank itself. If it is empty, each
  // peer gets the transport that suits it.
  std::string transport;
  // The environment overrules each option: SCELA_CHANNEL_<NAME IN CAPITALS>.
};

// The resources that a process uses and the messages that it moved. `registered`, `shared`, `sent`,
// `received` and by_port_... are bytes; the other figures are counts.
struct Accounts {
  std::uint64_t send_queue_pairs = 0, receive_queue_pairs = 0, connections = 0;
  std::uint64_t max_queue_pairs = 0, max_connections = 0;  // of both kinds together; at a time
  std::uint64_t receive_buffers = 0;                       // of the shared receive queue
  std::uint64_t registered = 0, shared = 0;
  std::uint64_t messages_sent = 0, messages_received = 0, sent = 0, received = 0;
  std::uint64_t unexpected = 0, max_unexpected = 0;
  // Messages that met no receive buffer at their receiver. Flow control prevents them.
  std::uint64_t rnr_events = 0;
  // Messages that waited until their receiver granted a receive buffer.
  std::uint64_t credit_waits = 0;
  // Messages, and parts of large ones, that were sent again by another connection.
  std::uint64_t resent = 0;
  // Requests for a connection that were not answered at once.
  std::uint64_t handshake_repeats = 0;
  // Messages about connections that did not come from this job, and were ignored.
  std::uint64_t handshake_unheard = 0;
  // Sleeps at the node's doorbell, and how many of these ended because something came.
  std::uint64_t sleeps = 0, sleeps_woken = 0;
  std::uint64_t offload_queue_pairs = 0, max_offload_queue_pairs = 0;
  std::uint64_t offloaded = 0;  // messages sent by offloaded channels
  std::uint64_t ports = 0;      // ports of the adapter in use
  // Bytes that this process sent or fetched by each port, without those of offloaded channels.
  std::uint64_t by_port_1 = 0, by_port_2 = 0, by_port_3 = 0, by_port_4 = 0;
};

// Messages and bytes that went between a process and one other.
struct PeerAccounts {
  std::uint64_t messages_sent = 0, messages_received = 0, sent = 0, received = 0;
};

// A message that was matched by probing, so that no other receive gets it. If it is not received,
// it is dropped with the object.
class ProbedMessage {
 public:
  ProbedMessage(ProbedMessage&&) noexcept;
  ProbedMessage& operator=(ProbedMessage&&) noexcept;
  ~ProbedMessage();
  const Status& status() const;

 private:
  friend class Channel;
  struct State;
  explicit ProbedMessage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Channel {
 public:
  struct Opened {
    std::unique_ptr<Channel> channel;  // null if there is an error
    ChannelError error;
  };
  // Opens the channel by what the launcher has put into the environment (PMIx, PMI-2, PMI-1).
  // Without a launcher the process is alone. Every rank calls it; it blocks until all have. A
  // process has one open channel at a time. If the launcher serves only one session of a process
  // (PMI_FD), the process can open one channel in all. A child process (fork) cannot use its
  // parent's channel: there every call fails with Code::closed, and the object's destructor does
  // nothing.
  static Opened open(const Options& options = {});
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  int rank() const;
  int size() const;
  int node() const;
  int nodes() const;
  int node_of(int rank) const;  // -1: there is no such rank
  // Returns the processors that each rank of this node could run on when it opened its channel. The
  // ranks are in ascending order, the numbers are the kernel's. The list of a rank that did not say
  // is empty.
  std::vector<std::vector<int>> processors_of_node() const;

  // These take a rank, a tag from 0 to kMaxTag, and bytes. The address may be null only if there
  // are no bytes. The request reports errors of arguments (Code::argument).
  Request isend(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request issend(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request irecv(int source, int tag, std::span<std::byte> bytes, Context context = kWorld);
  Status send(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  // If the limit passes, nothing was received, and nothing will be. The call returns later than the
  // limit if a message is on its way by then. It does so too if the sender must say whether one is
  // (an offloaded channel).
  Status recv(int source, int tag, std::span<std::byte> bytes, Context context = kWorld,
              Limit limit = {});
  // These return a persistent request that is not started; Request::start() starts it.
  Request send_init(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request recv_init(int source, int tag, std::span<std::byte> bytes, Context context = kWorld);

  // Returns the message that a receive would match now, or the error that it would have. Returns
  // std::nullopt if there is neither yet.
  std::optional<Status> iprobe(int source, int tag, Context context = kWorld);
  Status probe(int source, int tag, Context context = kWorld, Limit limit = {});
  // As iprobe(), but takes the message, so that only imrecv() can receive it. If its status has an
  // error, there is no message, and imrecv() ends with that error.
  std::optional<ProbedMessage> improbe(int source, int tag, Context context = kWorld);
  Request imrecv(ProbedMessage message, std::span<std::byte> bytes);

  // Returns the first of `count` contexts that no other caller gets, from 2^31 up. Returns kWorld
  // if there are not so many left. Ranks that make the same calls in the same order get the same
  // contexts. Any thread may call it, if several may call the channel.
  Context reserve_contexts(Context count);
  // From now on only receives that exist already get messages of these `count` contexts. Other
  // messages there are thrown away when this rank calls the channel, and their senders are told
  // that they arrived.
  void discard(Context first, Context count = 1);
  // From now on messages of these contexts are kept again.
  void accept(Context first, Context count = 1);
  // Moves what can be moved, without waiting. Returns true if something was moved.
  bool progress();
  // Returns true if the channel knows that the rank has ended. All calls that wait or move messages
  // find that out.
  bool ended(int rank) const;
  // Tells the channel that a rank has ended, as other ranks have said. What waits for that rank
  // ends with peer_ended, here and from now on, even if neither the launcher nor the adapter has
  // reported it. For a rank of this node the call does nothing, because the system reports such
  // ends itself.
  void take_for_ended(int rank);
  Accounts accounts() const;
  PeerAccounts accounts(int peer) const;
  // Returns text for people: one line for each peer's node, and the properties that the channel
  // found on this machine.
  std::string describe() const;

  struct State;

 private:
  friend struct Inside;
  explicit Channel(std::shared_ptr<State> state, bool closes);
  std::shared_ptr<State> state_;  // requests that are left keep it
  bool closes_;                   // the destructor closes the channel
};

}  // namespace scela::channel
#pragma GCC visibility pop
