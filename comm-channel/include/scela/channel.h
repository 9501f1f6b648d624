// Messages between the processes of a job (docs/channel.md).
//
//   auto opened = scela::channel::Channel::open();
//   if (!opened.channel) { report(opened.error.text()); return 1; }
//   scela::channel::Channel& channel = *opened.channel;
//   if (channel.rank() == 0) channel.send(1, 7, std::as_bytes(std::span(numbers)));
//   else if (channel.rank() == 1) channel.recv(0, 7, std::as_writable_bytes(std::span(numbers)));
//
// Every process of the job opens its channel; it ends with the object, after what was sent has been
// delivered.
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

// Which messages meet: those of one context do. 0 is everybody's.
using Context = std::uint32_t;
inline constexpr Context kWorld = 0;

// The longest message that goes in parts through a node's memory.
inline constexpr std::size_t kMostStreamed = std::size_t{1} << 20;
// The longest that is not agreed on between nodes: receive buffers are as long.
inline constexpr std::size_t kMostEagerVerbs = std::size_t{1} << 20;

enum class Threads : unsigned char { single, multiple };
enum class Rendezvous : unsigned char { by_choice, write, read, offloaded };

struct Options {
  Threads threads = Threads::single;
  Rendezvous rendezvous = Rendezvous::by_choice;
  std::size_t eager_shm = 4096;    // bytes; on a node, larger messages go in parts,
  std::size_t stream_shm = 16384;  // larger ones than this are copied once; at most kMostStreamed
  // Bytes; between nodes, larger messages are agreed on first. At most kMostEagerVerbs.
  std::size_t eager_verbs = 8192;
  std::size_t unexpected_bytes = std::size_t{64}
                                 << 20;  // eager data without a receive that a process keeps
  // Between nodes: large messages of a tag that has had some move while both programs compute
  // (docs/channel.md, Offloaded channels), unless `rendezvous` names another way.
  bool offload = true;
  std::size_t offload_from = 8192;    // bytes of a large one
  std::size_t offload_uses = 3;       // so many before the first that does; `offloaded`: 1
  std::size_t offload_channels = 16;  // tags at once, to all peers together, each way
  std::size_t most_links = 0;         // connections to other nodes at a time; 0: any number
  // Of the adapter, that large messages go by; 0: all. Each has connections of its own.
  std::size_t ports = 1;
  // Seconds that a process is waited for to which a connection has broken.
  std::size_t unreachable_after = 10;
  std::string
      transport;  // "shm", "verbs": only this one, besides oneself; empty: what suits each peer
  // Each is overruled by the environment: SCELA_CHANNEL_<NAME IN CAPITALS>.
};

// What a process uses. Bytes where not said otherwise.
struct Accounts {
  std::uint64_t send_queue_pairs = 0, receive_queue_pairs = 0, connections = 0;
  std::uint64_t queue_pairs_most = 0, connections_most = 0;  // of both kinds; at a time
  std::uint64_t receive_buffers = 0;                         // of the shared receive queue
  std::uint64_t registered = 0, shared = 0;
  std::uint64_t messages_sent = 0, messages_received = 0, sent = 0, received = 0;
  std::uint64_t unexpected = 0, unexpected_most = 0;
  std::uint64_t rnr_events = 0;    // a message that met no receive buffer: never
  std::uint64_t credit_waits = 0;  // a message had to wait for a receive buffer's promise
  std::uint64_t resent =
      0;  // messages, and parts of large ones, that went again by another connection
  std::uint64_t handshake_repeats = 0;  // requests for a connection that were not answered at once
  std::uint64_t handshake_unheard = 0;  // words about connections that were none of this job's
  // At the node's bell; and how many of these ended because something came.
  std::uint64_t sleeps = 0, sleeps_woken = 0;
  std::uint64_t offload_queue_pairs = 0, offload_queue_pairs_most = 0;
  std::uint64_t offloaded = 0;  // messages that were sent by offloaded channels
  std::uint64_t ports = 0;      // of the adapter, that are used
  // Bytes that this process sent or fetched by each of them, offloaded channels left out.
  std::uint64_t by_port_1 = 0, by_port_2 = 0, by_port_3 = 0, by_port_4 = 0;
};

// What went between a process and one other.
struct PeerAccounts {
  std::uint64_t messages_sent = 0, messages_received = 0, sent = 0, received = 0;
};

// A message that was matched by probing: nobody else receives it. One that is not received is
// dropped with the object.
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
    std::unique_ptr<Channel> channel;  // none: error says why
    ChannelError error;
  };
  // By what the launcher has put into the environment (PMIx, PMI-2, PMI-1), or alone. Every rank
  // calls it; blocks until all have. One at a time in a process, and one in all where the
  // launcher speaks with it but once (PMI_FD). A child process (fork) has no part in its
  // parent's: there every call fails with Code::closed, and the object does nothing when it ends.
  static Opened open(const Options& options = {});
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  int rank() const;
  int size() const;
  int node() const;
  int nodes() const;
  int node_of(int rank) const;  // -1: there is no such rank
  // Those that each rank of this node could run on as it opened its channel, in the order of ranks,
  // by the kernel's numbers; none of a rank that did not say.
  std::vector<std::vector<int>> processors_of_node() const;

  // A rank, a tag from 0 to kMaxTag, bytes; their address may be null only if there are none.
  // Errors of arguments come with the request (Code::argument).
  Request isend(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request issend(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request irecv(int source, int tag, std::span<std::byte> bytes, Context context = kWorld);
  Status send(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  // Over the limit nothing was received, and nothing will be. It returns later where a message is
  // on its way by then, or its sender must say whether it is (an offloaded channel).
  Status recv(int source, int tag, std::span<std::byte> bytes, Context context = kWorld,
              Limit limit = {});
  // Not started: Request::start() does.
  Request send_init(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request recv_init(int source, int tag, std::span<std::byte> bytes, Context context = kWorld);

  // What a receive would match now, or the error that it would have; nothing: nothing yet.
  std::optional<Status> iprobe(int source, int tag, Context context = kWorld);
  Status probe(int source, int tag, Context context = kWorld, Limit limit = {});
  // The same, and takes it: a receive of the message is the only one that gets it. One whose status
  // has an error is no message, and a receive of it ends with that.
  std::optional<ProbedMessage> improbe(int source, int tag, Context context = kWorld);
  Request imrecv(ProbedMessage message, std::span<std::byte> bytes);

  // The first of so many contexts that nobody else gets, from 2^31 up; kWorld: there are not so
  // many left. Ranks whose calls are alike get the same. Any thread, if several may call.
  Context reserve_contexts(Context count);
  // Nothing is received in `count` contexts any more, but by receives that there are: whatever has
  // come and comes is thrown away when this rank calls something, and its sender is told that it
  // arrived.
  void discard(Context first, Context count = 1);
  // What comes there is kept again from now on.
  void accept(Context first, Context count = 1);
  // Moves what can be moved, without waiting. True: something was.
  bool progress();
  // Whether it is known that the rank has ended: all calls that wait find out, and all that move.
  bool ended(int rank) const;
  // The program knows that a rank has ended, as others have said: what waits for it ends with
  // peer_ended, here and from now on, though neither the launcher nor the adapter has told. Of a
  // rank of this node the system does tell, and nothing is done.
  void take_for_ended(int rank);
  Accounts accounts() const;
  PeerAccounts accounts(int peer) const;
  // One line for each peer's node, and what was found out about this machine: for people.
  std::string describe() const;

  struct State;

 private:
  friend struct Inside;
  explicit Channel(std::shared_ptr<State> state, bool closes);
  std::shared_ptr<State> state_;  // requests that are left keep it
  bool closes_;                   // with the object
};

}  // namespace scela::channel
#pragma GCC visibility pop
