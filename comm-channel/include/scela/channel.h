// Messages between the processes of a job (docs/design/channel.md).
//
//   auto opened = scela::Channel::open();
//   if (!opened.status.ok()) { report(opened.status.message()); return 1; }
//   scela::Channel& channel = *opened.channel;
//   std::vector<double> numbers(100);
//   const auto bytes = std::as_writable_bytes(std::span(numbers));
//   scela::Status status;
//   if (channel.rank() == 0) status = channel.send(1, 7, bytes);
//   if (channel.rank() == 1) status = channel.recv(0, 7, bytes);
//   if (!status.ok()) report(status.message());
//
// Every process of the job opens its channel. With Threads::single one thread at a time uses a
// channel and its requests; with Threads::multiple any thread may call it. `report` and `use` in
// examples stand for functions of the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <scela/pieces.h>
#include <scela/request.h>
#include <scela/status.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela {

inline constexpr int kAnySource = -1;  // a receive's source: every rank
inline constexpr int kAnyTag = -2;     // a receive's tag: every tag
inline constexpr int kMaxTag = 0x7fff'ffff;

// A space of messages: a receive gets messages of its own context only. All parts of a program,
// libraries too, may use context 0. Contexts from 1 to 2^31 - 1 belong to the program, which needs
// no call before it uses one. reserve_contexts() gives out those above.
using Context = std::uint32_t;
inline constexpr Context kWorld = 0;

// The longest message, in bytes, that goes in fragments through a node's memory: the upper limit of
// ChannelOptions::fragmented_shm.
inline constexpr std::size_t kMaxFragmentedShm = std::size_t{1} << 20;
// The longest message, in bytes, that moves between nodes without an agreement first: the upper
// limit of ChannelOptions::eager.verbs.
inline constexpr std::size_t kMaxEagerVerbs = std::size_t{1} << 20;

// The threads that may call a channel: one at a time (`single`), or any (`multiple`).
enum class Threads : unsigned char { single, multiple };
// The way in which large messages move between nodes. With `write` the sender writes by RDMA, with
// `read` the receiver reads. With `offloaded` they move in offloaded channels, from the second
// message of a tag on. With `by_choice` the channel chooses.
enum class Rendezvous : unsigned char { by_choice, write, read, offloaded };

// The options of a channel. The environment overrules each member by the variable that is named
// behind it; sizes may be written as 64K or 4M there. If a value is not valid, open() fails with
// bad_argument. The ranks of a node must have the same `transport` and eager.shm.
//
//   scela::ChannelOptions options;
//   options.threads = scela::Threads::multiple;
//   options.eager.verbs = 16384;
//   auto opened = scela::Channel::open(options);
struct ChannelOptions {
  Threads threads = Threads::single;              // SCELA_CHANNEL_THREADS
  Rendezvous rendezvous = Rendezvous::by_choice;  // SCELA_CHANNEL_RENDEZVOUS
  // The longest messages, in bytes, that are sent without an agreement with the receiver.
  struct Eager {
    // On a node. Longer messages go in fragments. More than 1 MiB counts as 1 MiB.
    std::size_t shm = 4096;  // SCELA_CHANNEL_EAGER_SHM
    // Between nodes. At most kMaxEagerVerbs. Receive buffers, of which there are hundreds, are as
    // long.
    std::size_t verbs = 8192;  // SCELA_CHANNEL_EAGER_VERBS
  } eager;
  // The longest messages, in bytes, that go in fragments on a node. Longer ones are copied once, by
  // their receiver. At most kMaxFragmentedShm. If it is not above eager.shm, none go in fragments.
  std::size_t fragmented_shm = 16384;  // SCELA_CHANNEL_FRAGMENTED_SHM
  // Bytes of eager data without a receive that a process keeps. Beyond it the senders of other
  // nodes keep what they send, until it has a receive.
  std::size_t unexpected_bytes = std::size_t{64} << 20;  // SCELA_CHANNEL_UNEXPECTED_BYTES
  // Between nodes: if several large messages of one tag were sent, later ones move while both
  // programs compute (docs/design/channel.md, Offloaded channels).
  struct Offload {
    // `rendezvous` may name another way instead.
    bool enabled = true;  // SCELA_CHANNEL_OFFLOAD: 0 or 1
    // The shortest message, in bytes, that moves so.
    std::size_t min_bytes = 8192;  // SCELA_CHANNEL_OFFLOAD_MIN_BYTES
    // How many large messages of a tag come before the first that moves so. With
    // Rendezvous::offloaded it is one.
    std::size_t min_uses = 3;  // SCELA_CHANNEL_OFFLOAD_MIN_USES
    // Tags that may have an offloaded channel at once, to all peers together, in each direction.
    // Messages of other tags move in the usual way. At most 1024.
    std::size_t max_channels = 16;  // SCELA_CHANNEL_OFFLOAD_MAX_CHANNELS
  } offload;
  // Connections to other nodes at a time; 0: any number. Beyond it, the connection that was used
  // longest ago is closed.
  std::size_t max_links = 0;  // SCELA_CHANNEL_MAX_LINKS
  // Ports of the adapter that carry large messages, at most 4; 0: all. Ports that are not active
  // are left out. Each port has its own connections. With several ports no messages move by
  // offloaded channels, unless Rendezvous::offloaded asks for them. With max_links one port is
  // used.
  std::size_t ports = 1;  // SCELA_CHANNEL_PORTS
  // Seconds to wait for a process after a connection to it has broken. Then it counts as ended. The
  // time is longer if this process calls the channel less than ten times in it.
  std::size_t unreachable_after = 10;  // SCELA_CHANNEL_UNREACHABLE_AFTER
  // "shm" or "verbs": the only transport, beside the one to this rank itself. If it is empty, each
  // peer gets the transport that suits it. With "shm" and several nodes open() fails.
  std::string transport;  // SCELA_CHANNEL_TRANSPORT
};

// The resources that a process uses and the messages that it moved, from the opening of the channel
// on. Members with "bytes" in their names are bytes, the others are counts. Messages of
// communicators and messages to this rank itself are counted too.
struct Counters {
  // Connections to other nodes and their queue pairs, now, and the most at a time. The maximum is
  // that of both kinds of queue pairs together.
  std::uint64_t send_queue_pairs = 0, receive_queue_pairs = 0, connections = 0;
  std::uint64_t max_queue_pairs = 0, max_connections = 0;
  std::uint64_t receive_buffers = 0;  // of the shared receive queue
  // Memory that is registered with the adapter, and shared with the ranks of the node.
  std::uint64_t registered_bytes = 0, shared_bytes = 0;
  std::uint64_t messages_sent = 0, messages_received = 0, bytes_sent = 0, bytes_received = 0;
  // Messages that came before their receive: now, and the most at a time.
  std::uint64_t unexpected = 0, max_unexpected = 0;
  // Messages that met no receive buffer at their receiver. Flow control prevents them.
  std::uint64_t rnr_events = 0;
  // Messages that waited until their receiver granted a receive buffer.
  std::uint64_t credit_waits = 0;
  // Messages, and fragments of large ones, that were sent again by another connection.
  std::uint64_t resent = 0;
  // Requests for a connection that were not answered at once.
  std::uint64_t handshakes_repeated = 0;
  // Messages about connections that did not come from this job, and were ignored.
  std::uint64_t handshakes_ignored = 0;
  // Sleeps at the node's doorbell, and how many of these ended because something came.
  std::uint64_t sleeps = 0, sleeps_woken = 0;
  std::uint64_t offload_queue_pairs = 0, max_offload_queue_pairs = 0;
  std::uint64_t offloaded = 0;  // messages sent by offloaded channels
  std::uint64_t ports = 0;      // ports of the adapter in use
  // Bytes that this process sent or fetched by each port in use, without those of offloaded
  // channels.
  std::array<std::uint64_t, 4> port_bytes{};
};

// Messages and bytes that went between this process and one rank.
struct PeerCounters {
  std::uint64_t messages_sent = 0, messages_received = 0, bytes_sent = 0, bytes_received = 0;
};

// A message that was matched by probing, so that no other receive gets it. If it is not received,
// it is dropped with the object, and its sender is told that it arrived. If the channel ends first,
// the sender gets Code::closed. The object has the channel's rule for threads, and may be destroyed
// after the channel.
class ProbedMessage {
 public:
  ProbedMessage(ProbedMessage&&) noexcept;
  ProbedMessage& operator=(ProbedMessage&&) noexcept;
  ~ProbedMessage();
  // Returns the message's source, tag and length, or an error if there is no message. Does not
  // block.
  const Status& status() const;

 private:
  friend class Channel;
  friend struct channel::Inside;
  struct State;
  explicit ProbedMessage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The channel of this process: its part in the messages of the job. An error ends the call or the
// request that it belongs to, and not the channel. If there is no memory for what the channel keeps
// of a call, the call throws std::bad_alloc.
class Channel {
 public:
  // The result of open().
  struct Opened {
    std::unique_ptr<Channel> channel;  // null if the status is not ok
    Status status;
  };
  // Opens the channel by what the launcher has put into the environment (PMIx, PMI-2, PMI-1).
  // Without a launcher the process is alone. Every rank calls it; it blocks until all have. A
  // process has one open channel at a time. If the launcher serves only one session of a process
  // (PMI_FD), the process can open one channel in all. A child process (fork) cannot use its
  // parent's channel: there every call fails with Code::closed, and the object's destructor does
  // nothing. Errors: bad_argument (an option, a variable, or a second channel) and device (the
  // launcher, the node or the adapter). Any thread may call it.
  static Opened open(const ChannelOptions& options = {});
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // Closes the channel. Requests that are left are cancelled, with Code::closed, or waited for.
  // Then it blocks until the peers have what was sent, or have closed their channels.
  ~Channel();

  // Ranks count from 0 to size() - 1, nodes from 0 to nodes() - 1. These five never change. Any
  // thread may call them, also with Threads::single.
  //
  //   const bool is_here = channel.node_of(1) == channel.node();
  int rank() const;
  int size() const;
  int node() const;  // this rank's
  int nodes() const;
  int node_of(int rank) const;  // -1: there is no such rank
  // Returns the processors that each rank of this node could run on when it opened its channel. The
  // ranks are in ascending order, the numbers are the kernel's. The list of a rank that did not say
  // is empty. Does not block.
  //
  //   for (const std::vector<int>& processors : channel.processors_of_node()) use(processors);
  std::vector<std::vector<int>> processors_of_node() const;

  // These calls send and receive. `peer` is a rank of this channel, also this rank. `source` is a
  // rank or kAnySource. The tag of a send is 0 to kMaxTag; a receive or a probe may give kAnyTag.
  // The address may be null only if there are no bytes. A wrong argument is reported by the request
  // or the status: bad_rank, bad_tag or bad_buffer. Other errors are truncated, peer_ended,
  // resources, device, cancelled, closed and, for a wait that has a timeout, timed_out. A receive
  // from kAnySource goes on if some ranks have ended, and fails with peer_ended once no other rank
  // is left.
  //
  // If a receive matches two messages of one rank, it gets the one that was sent first. If a
  // message matches two receives, the one that was begun first gets it.
  //
  // isend(), issend() and irecv() return at once. The buffer of a receive belongs to the channel
  // until the request is complete; that of a send may be read meanwhile. A send is complete when
  // its buffer may be changed. A synchronous send (issend) is complete only when its receive has
  // begun as well. A receive is `truncated` if the message is longer than `bytes`; a shorter
  // message leaves the rest of `bytes` as it is.
  //
  //   scela::Request both[] = {channel.irecv(scela::kAnySource, 7, bytes),
  //                            channel.issend(peer, 7, bytes_out)};
  //   if (scela::wait_all(both) && both[0].status().ok()) use(both[0].status().source());
  Request isend(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request issend(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request irecv(int source, int tag, std::span<std::byte> bytes, Context context = kWorld);
  // Blocks until the buffer may be used again. As MPI_Send it may wait for the receive, also if the
  // receiver is this rank. It does so for messages above the limits of ChannelOptions.
  Status send(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  // Blocks until a message was received. If the timeout passes, the status is timed_out: nothing
  // was received, and nothing will be. The call returns later than the timeout if a message is on
  // its way by then. It does so too if the sender must say whether one is (an offloaded channel).
  //
  //   status = channel.recv(0, scela::kAnyTag, bytes, scela::kWorld, std::chrono::seconds(1));
  Status recv(int source, int tag, std::span<std::byte> bytes, Context context = kWorld,
              Timeout timeout = {});
  // These return a persistent request that is not started; Request::start() starts it. A wrong
  // argument is reported by start() and wait(). Each start sends what the buffer has then.
  //
  //   scela::Request number = channel.send_init(1, 7, bytes);
  //   while (number.start().ok() && number.wait().ok()) change(bytes);
  Request send_init(int peer, int tag, std::span<const std::byte> bytes, Context context = kWorld);
  Request recv_init(int source, int tag, std::span<std::byte> bytes, Context context = kWorld);

  // These do so for a message of several pieces (scela/pieces.h has an example). The list is
  // copied; the pieces belong to the channel as a buffer does, and those of a receive must not
  // overlap. A message counts as one of contiguous bytes in all other respects. The channel keeps a
  // copy of the whole message meanwhile, unless it is short or its pieces follow each other. This
  // costs its bytes of memory, and one copy more on the side that has pieces. Without that memory
  // the error is resources. If the pieces have more than 2^63 - 1 bytes together, it is bad_count.
  // A persistent request reads its pieces at each start.
  Request isend(int peer, int tag, SendPieces pieces, Context context = kWorld);
  Request issend(int peer, int tag, SendPieces pieces, Context context = kWorld);
  Request irecv(int source, int tag, ReceivePieces pieces, Context context = kWorld);
  Status send(int peer, int tag, SendPieces pieces, Context context = kWorld);
  Status recv(int source, int tag, ReceivePieces pieces, Context context = kWorld,
              Timeout timeout = {});
  Request send_init(int peer, int tag, SendPieces pieces, Context context = kWorld);
  Request recv_init(int source, int tag, ReceivePieces pieces, Context context = kWorld);

  // Returns the message that a receive would match now, or the error that it would have. Returns
  // std::nullopt if there is neither yet. Does not block, and leaves the message where it is.
  //
  //   if (const auto found = channel.iprobe(0, 7); found && found->ok()) use(found->bytes());
  std::optional<Status> iprobe(int source, int tag, Context context = kWorld);
  // Blocks until iprobe() would return something, and returns that. If the timeout passes before,
  // the status is timed_out.
  //
  //   status = channel.probe(scela::kAnySource, 7);
  //   if (status.ok()) bytes_in.resize(status.bytes());
  Status probe(int source, int tag, Context context = kWorld, Timeout timeout = {});
  // As iprobe(), but takes the message, so that only imrecv() can receive it. If its status is not
  // ok, there is no message, and imrecv() ends with that error.
  std::optional<ProbedMessage> improbe(int source, int tag, Context context = kWorld);
  // Receives a message that improbe() has taken, once: returns at once, as irecv() does. A message
  // that was received already, or was taken by another channel, is bad_request. If the buffer is
  // wrong, the message is dropped.
  //
  //   auto message = channel.improbe(scela::kAnySource, 7);
  //   if (message && message->status().ok()) {
  //     bytes_in.resize(message->status().bytes());
  //     status = channel.imrecv(std::move(*message), bytes_in).wait();
  //   }
  Request imrecv(ProbedMessage message, std::span<std::byte> bytes);
  Request imrecv(ProbedMessage message, ReceivePieces pieces);

  // Returns the first of `count` contexts that no other caller gets, from 2^31 up. Returns kWorld
  // if there are not so many left: reserved contexts are never given back. Ranks that make the same
  // calls in the same order get the same contexts; Communicator::world() makes such calls too. The
  // call tells no other rank, and does not block. Any thread may make it.
  //
  //   const scela::Context space = channel.reserve_contexts(1);
  //   if (space != scela::kWorld) status = channel.send(1, 7, bytes, space);
  Context reserve_contexts(Context count);
  // From now on only receives that exist already get messages of these `count` contexts. Other
  // messages there are thrown away when this rank calls the channel, and their senders are told
  // that they arrived.
  void close_contexts(Context first, Context count = 1);
  // From now on messages of these contexts are kept again. Contexts are open at first. Neither call
  // tells other ranks, nor blocks.
  //
  //   channel.close_contexts(space);
  //   channel.open_contexts(space);
  void open_contexts(Context first, Context count = 1);
  // Moves what can be moved, without blocking. Returns true if something was moved. A program that
  // computes for long calls it now and then, so that its messages go on.
  //
  //   while (compute_some()) channel.progress();
  bool progress();
  // Returns true if the channel knows that the rank has ended or cannot be reached. All calls that
  // wait or move messages find that out; this one only looks. If there is no such rank, it returns
  // false.
  //
  //   if (channel.has_exited(1)) report("rank 1 has ended");
  bool has_exited(int rank) const;
  // Tells the channel that a rank has ended, as other ranks have said. Each request for that rank
  // ends with peer_ended, here and from now on, even if neither the launcher nor the adapter has
  // reported it. For a rank of this node the call does nothing, because the system reports such
  // ends itself. It tells no other rank.
  //
  //   for (const int rank : agreed.exited) channel.mark_exited(world.world_rank(rank));
  void mark_exited(int rank);
  // Ends the job: tells the launcher to end all its ranks, and ends this process with `status`. The
  // launcher's user reads `why`, on one line. The lowest eight bits of the status count; 1 replaces
  // 0, since an abort is no success. Without a launcher, and in a child process (fork), only this
  // process ends. No stream is flushed, and no destructor runs. Any thread may call it, also with
  // Threads::single.
  //
  //   if (!valid(input)) channel.abort(3, "the input is wrong in line 7");
  [[noreturn]] void abort(int status, std::string_view why);
  // These return the counters as they are now, without blocking. If there is no rank `peer`, all
  // are 0.
  //
  //   std::printf("%ju bytes to rank 1\n", std::uintmax_t{channel.counters(1).bytes_sent});
  Counters counters() const;
  PeerCounters counters(int peer) const;
  // Returns text for people: this rank, what joins it to its node and to other nodes, and what the
  // channel found on this machine. Lines are separated by newlines.
  //
  //   std::puts(channel.describe().c_str());
  std::string describe() const;

  struct State;

 private:
  friend struct channel::Inside;
  explicit Channel(std::shared_ptr<State> state, bool closes);
  std::shared_ptr<State> state_;  // requests that are left keep it
  bool closes_;                   // the destructor closes the channel
};

}  // namespace scela
#pragma GCC visibility pop
