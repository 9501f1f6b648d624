// The interpreter's private state: all objects of all processes, and the functions that its source
// files share. Only the files of hca/core include it; like the Engine it belongs to, it is used by
// one thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "common/core/random.h"
#include "hca/core/model/engine.h"
#include "hca/core/model/objects.h"
#include "hca/core/model/trace_sink.h"
#include "hca/core/wire/wire.h"

namespace scela::hca {

// A message, or a part of it, on its way from a requester to a responder.
struct Incoming {
  std::uint32_t node = 0;  // of the requester; 0: this node
  std::uint32_t round = 0;
  std::uint32_t source_qpn = 0;
  QpType source_type = QpType::rc;
  std::uint16_t source_lid = 0;
  std::uint8_t port = 0;  // target port; 0: any, for a group
  Gid source_gid;
  // The payload of the part: `bytes`, or the bytes of `pieces` of a process's memory from `offset`
  // on. For a read these say where the data of the answer must go.
  //
  // Spans and pointers are valid only during the call that gets this object.
  std::span<const std::byte> bytes;
  ProcessId from = 0;
  const std::vector<Piece>* pieces = nullptr;
  const SendRequest* request = nullptr;
  std::uint32_t psn = 0;
  std::uint64_t total = 0;   // of the whole message
  std::uint64_t offset = 0;  // bytes that came in earlier parts
  std::uint64_t count = 0;   // bytes of this part
  bool first() const { return offset == 0; }
  bool last() const { return offset + count == total; }
};

// The answer of a responder to a requester.
struct Verdict {
  enum class Kind : std::uint8_t {
    accepted,  // done, or done as far as it was sent
    silent,    // no queue pair there that listens
    // There is no receive request: the requester tries again after `rnr_timer`.
    not_ready,
    // The requester's completion gets `status`.
    refused,
    // The data of a read is on its way to another node.
    later,
    // The step waits for a process's memory and must be taken again (transfer.h).
    held,
  };
  Kind kind = Kind::accepted;
  Status status = Status::success;
  std::uint8_t rnr_timer = 0;
  // The value that an atomic operation found in memory.
  std::uint64_t before = 0;
};

struct Engine::State {
  State(Host& the_host, const Settings& the_settings);

  Host& host;
  Settings settings;
  Moment now = 0;
  Random random;
  std::map<ProcessId, Attached> processes;
  Traffic departed;  // of processes that have gone
  TraceSink* trace_sink = nullptr;
  Table<Pd, 20, 12> pds;
  Table<Mr, 22, 10> mrs;
  Table<Cq, 20, 12> cqs;
  Table<Channel, 20, 12> channels;
  Table<Srq, 16, 8> srqs;
  Table<Xrcd, 20, 12> xrcds;
  // Numbers 0 and 1 belong to the management queue pairs of every port.
  Table<Qp, 16, 8> qps{2};
  // The members (queue pairs) of each multicast group.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::set<std::uint32_t>> groups;
  // Completions that a strict engine has not reported yet, oldest first.
  struct Held {
    std::uint32_t cq = 0;
    Completion completion;
    bool solicited = false;
  };
  std::deque<Held> held;
  std::uint64_t moved_bytes = 0;                      // since run() was called
  std::deque<std::uint32_t> runnable;                 // queue pairs
  std::set<std::pair<Moment, std::uint32_t>> timers;  // queue pairs
  // Queue pairs that wait until the connection to a node can take more frames, by node.
  std::map<std::uint32_t, std::set<std::uint32_t>> blocked;
  // The queue pair that sent last to each node; it comes last in the next round.
  std::map<std::uint32_t, std::uint32_t> sent_last;
  // Holds a part of a message to another node while it is sent.
  std::vector<std::byte> part;
  // The state of Faults. Late datagrams are kept as frames, each with its destination node (0: this
  // one). The engine rests until `rests_until`, and has begun `begun` requests.
  struct Late {
    std::uint32_t node = 0;
    std::vector<std::byte> frame;
  };
  std::multimap<Moment, Late> late;
  Moment rests_until = 0;
  std::uint64_t begun = 0;
  bool died = false;
  std::set<ProcessId> distant;  // memory is not reached at once
  // Queue pairs with a held step, by the process that it waits for.
  std::map<ProcessId, std::set<std::uint32_t>> waiting_for;
  Step* step = nullptr;  // the step being taken
  // Queue pairs that wait until fewer bytes are kept for a process.
  std::map<std::pair<ProcessId, RoomFor>, std::set<std::uint32_t>> waiting_for_room;
  // The queue pair of each process that gets room before the others.
  std::map<ProcessId, std::uint32_t> first_of;
  // Counts the bytes kept for processes that have gone.
  std::shared_ptr<Keeping> of_nobody = std::make_shared<Keeping>();
  std::uint64_t takings = 0;  // counts receive requests taken

  // hca/core/interp/control.cpp and hca/core/interp/qp_control.cpp carry out what a process asks
  // for. Each `int` is 0 or an errno. A handle of another process's object is refused (EINVAL).
  Answer ask(ProcessId process, const Ask& ask);
  int reg_mr(ProcessId process, const Ask& ask, Answer& answer);
  int create_cq(ProcessId process, const Ask& ask, Answer& answer);
  int resize_cq(Cq& cq, const Ask& ask, Answer& answer);
  int create_srq(ProcessId process, const Ask& ask, Answer& answer);
  int modify_srq(Srq& srq, const Ask& ask);
  int open_xrcd(ProcessId process, const Ask& ask, Answer& answer);
  // Returns whether the process has an SRQ or a queue pair in this XRC domain.
  bool uses_xrcd(const Attached& process, std::uint32_t handle) const;
  // Undoes one opening. Returns EBUSY if it is the last one and the process still has objects in
  // the domain.
  int close_xrcd(ProcessId process, std::uint32_t handle);
  // Carries out the operations that destroy an object. Returns EBUSY if other objects still use it.
  int destroy(ProcessId process, const Ask& ask);
  int create_qp(ProcessId process, const Ask& ask, Answer& answer);
  int open_qp(ProcessId process, const Ask& ask, Answer& answer);
  int modify_qp(ProcessId process, const Ask& ask, Answer& answer);
  int query_qp(ProcessId process, const Ask& ask, Answer& answer);
  // Sets Qp::node and Qp::reachable from the address in the queue pair's attributes.
  void find_way(Qp& qp);
  // Undoes one creation or opening by the process. An XRC_RECV queue pair is removed when its last
  // holder has gone.
  int destroy_qp(ProcessId process, std::uint32_t handle);
  // Destroys the queue pair without completions for the requests that are left. The reference is
  // invalid afterwards.
  void remove_qp(Qp& qp);
  // Notes that one object fewer uses the protection domain.
  void release_pd(std::uint32_t handle);
  // Allocates shared memory for at least `requests` entries of `stride` bytes, and fills in `ring`.
  // Returns false if there is no memory left.
  bool make_ring(ProcessId process, std::uint32_t requests, std::uint32_t stride, Ring& ring);
  // Returns the number of a doorbell for the queue pair. If none is free, queue pairs share one.
  std::uint32_t take_doorbell(ProcessId process, std::uint32_t qpn);
  // Destroys all objects of the process. Its traffic is added to `departed`.
  void detach(ProcessId process);

  // hca/core/interp/completion.cpp
  //
  // Reports a completion to the CQ `number`; a strict engine holds it back for a while. `solicited`
  // says whether the sender's request had that flag.
  void complete(std::uint32_t number, const Completion& completion, bool solicited);
  // Writes the completion to the CQ's ring now, and wakes what waits for it. If the ring is full,
  // the CQ breaks unless it ignores overruns.
  void tell(std::uint32_t number, const Completion& completion, bool solicited);
  // Reports a random number of the held completions, or all of them if `all`.
  void release_some(bool all);
  // Reports the held completions of the queue pair's receives at once, in order.
  void release_receives(const Qp& qp);
  // These send an asynchronous event to the process, or to each holder of the queue pair. `cookie`
  // is the one that the process has given the CQ, SRQ or queue pair.
  void event(ProcessId process, EventType type, std::uint64_t cookie);
  void event(const Qp& qp, EventType type);

  // hca/core/interp/memory.cpp: region() returns null, and pieces_of() false, if a key, a right or
  // a range is wrong.
  //
  // `address` is counted like Mr::iova, and `rights` are flags of namespace access. pieces_of()
  // replaces `pieces` by the ranges of the owner's memory that `sges` name.
  const Mr* region(std::uint32_t key, std::uint32_t pd, std::uint64_t address, std::uint64_t bytes,
                   std::uint32_t rights) const;
  bool pieces_of(const std::vector<Sge>& sges, std::uint32_t pd, ProcessId owner,
                 std::uint32_t rights, std::vector<Piece>& pieces) const;
  // Copies the bytes of this part to `pieces`, starting `skip` bytes into them. Returns `refused`
  // if some memory does not exist any more.
  Transfer deliver(const Incoming& incoming, ProcessId to, const std::vector<Piece>& pieces,
                   std::uint64_t skip);
  // A strict engine's deliver() changes the order of the bytes; deliver_in_order() never does.
  Transfer deliver_in_order(const Incoming& incoming, ProcessId to,
                            const std::vector<Piece>& pieces, std::uint64_t skip);
  // Called after a transfer has failed. Returns `done` if the payload in `pieces` can be read,
  // `refused` if it cannot, and `later` if the step is held.
  Transfer is_readable(const Incoming& incoming);
  // Overwrites the first `bytes` of a buffer before a transfer fills it. Only a strict engine does
  // this.
  Transfer spoil(ProcessId process, const std::vector<Piece>& pieces, std::uint64_t bytes);

  // hca/core/interp/transfer.cpp: steps, and the bytes that they move. If a function returns
  // `later`, the step is held and is taken again.
  //
  // Begins a step, or takes a held one again. If `key` differs from the one before, the step begins
  // with no bytes moved. Sets `step` until end_step().
  void begin_step(Qp& qp, Step& taken, const Step::Key& key);
  // Returns true if the step is held and must be taken again.
  bool end_step(Step& taken);
  // Drops the bytes that a held step keeps, because other steps need the room. They are fetched
  // again.
  void give_up(Step& taken);
  // These end a step or a move: its result is final or not needed, and an order under way is
  // dropped.
  void forget(Step& taken);
  void forget(const Move& move);
  // Drops all steps of a queue pair, and the answers that wait, if it is reset, destroyed or in
  // error.
  void forget_steps(Qp& qp);
  // Returns false if another queue pair's step is filling that receive request. The present step is
  // then held until that one has ended.
  bool may_fill(Receiving& received);
  // Called when an order of the process is over or there is room for another. Queue pairs that wait
  // for it run again.
  void carried(ProcessId process);
  // Sets the time at which a held sending step ends without success (Qp::patience), or removes it.
  void lose_patience(Qp& qp, std::optional<Moment> moment);
  // Called with a held sending step. Returns true if it has waited too long for another process:
  // the request is then settled. Returns false if it goes on waiting.
  bool is_over(Qp& qp);
  // Holds the present step until the process has carried out an order. Returns `later`.
  Transfer hold(ProcessId process);
  // Gives the process an order for the next bytes of the move, or collects the order's result.
  // `from` are bytes to store; `to` gets bytes that were fetched.
  Transfer carry(Move& move, ProcessId process, const RemoteMemoryOp& order,
                 std::span<const std::byte> from, std::span<std::byte> to);
  // Returns whether the engine itself accesses that address. If not, it gives the process orders.
  bool at_once(ProcessId process, std::uint64_t address) const {
    return address >= kPools || !distant.contains(process);
  }
  // These move bytes out of (fetch) or into (store) one process's memory, at most kOrderBytes at a
  // time. change() executes an atomic operation, and the old value goes to Move::before.
  Transfer fetch(Move& move, ProcessId process, std::uint64_t address, std::span<std::byte> to);
  Transfer store(Move& move, ProcessId process, std::uint64_t address,
                 std::span<const std::byte> from);
  Transfer change(Move& move);
  // Returns the move that the step comes to. If the step has been here before with the same `what`,
  // that move continues.
  Move& next_move(const Move::What& what);
  // Returns whether the present step may exceed the limit of kept bytes. One step for each process
  // may.
  bool goes_first(ProcessId process);
  // Allocates Move::kept. Returns false if too many bytes are kept for the process: the step is
  // then held until there is room.
  bool make_room(Move& move, ProcessId process, std::uint64_t bytes);
  // Moves the bytes of a move that are left. `from` are the bytes of a write.
  Transfer go_on(Move& move, std::span<const std::byte> from);
  // Executes the step's next move. `to` gets the bytes of a read, or the old value of a change.
  // Returns `refused` if there is no present step.
  Transfer transfer(const Move::What& what, std::span<const std::byte> from,
                    std::span<std::byte> to);
  // The other source files move bytes with these four functions. Addresses are in the process's own
  // memory, or in pools. `before` gets the old value of an atomic operation.
  Transfer read(ProcessId process, std::uint64_t address, std::span<std::byte> to);
  Transfer write(ProcessId process, std::uint64_t address, std::span<const std::byte> from);
  Transfer copy(ProcessId from, std::uint64_t from_address, ProcessId to, std::uint64_t to_address,
                std::uint64_t bytes);
  Transfer change(ProcessId process, std::uint64_t address, const SendRequest& request,
                  std::uint64_t& before);

  // hca/core/interp/requester.cpp
  //
  // Puts the queue pair into `runnable`, unless it is there already.
  void schedule(Qp& qp);
  // Sets the time before which the queue pair sends nothing (Qp::until), or removes it.
  void wait_until(Qp& qp, std::optional<Moment> moment);
  // Gives the queue pair its turn: it handles answers, executes requests, or flushes them if it is
  // in error.
  bool run_queue(Qp& qp);  // true: there is more to do at once
  // Returns whether another request may be read from the send queue. It may not if the queue pair
  // is in SQD, if the window is full, or if the newest request is over but cannot complete yet.
  bool may_begin(const Qp& qp) const;
  // Reads the next request into the window. Returns false if there is none, if it is wrong and was
  // settled with an error, or if the engine dies (Faults::dies_after).
  bool begin(Qp& qp);
  // Sends the next part of the oldest request that is not sent whole. Returns true if the queue
  // pair can go on at once, and false if it waits or is in error.
  bool go_on(Qp& qp);
  // Returns whether the next request must wait for answers to earlier ones: a fence, or too many
  // reads.
  bool must_wait(const Qp& qp) const;
  // The result of sending a datagram, a part of a message or a part of a read's data. `yes`: it was
  // handed over, or a receiver dropped it. `later`: it waits for memory or for a connection, and is
  // tried again. `no_memory`: the memory that it comes from cannot be read. `no_way`: there is no
  // such node or no connection to it.
  enum class Sent : std::uint8_t { yes, later, no_memory, no_way };
  // Sends a datagram as often as the faults require, and settles it. Returns as go_on() does.
  bool datagram(Qp& qp, Outgoing& out);
  // Reads the payload into Outgoing::data if the process moves its bytes itself.
  Sent gather(Qp& qp, Outgoing& out);
  // cast() sends one datagram to its destination. It calls cast_to_group() for a group, and
  // cast_late() for a datagram that is late on purpose, which is kept until it is due.
  Sent cast(Qp& qp, Outgoing& out);
  Sent cast_to_group(Qp& qp, Outgoing& out);
  Sent cast_late(Qp& qp, const Outgoing& out);
  // Delivers the late datagrams that are due.
  void bring_late();
  // Returns whether the engine executes nothing now, because of Faults::slow_us or because it has
  // died.
  bool rests() const { return died || now < rests_until; }
  // Describes the next part of `out` to a responder. The result points into `out`.
  Incoming incoming_of(const Qp& qp, const Outgoing& out) const;
  // Returns the port at the other end that the message is sent to; 0 is any port, for a group.
  static std::uint8_t target_port(const Qp& qp, const Outgoing& out);
  // Sends the next part to a queue pair of this node. Returns as go_on() does.
  bool send_here(Qp& qp, Outgoing& out);
  // Applies a verdict to the oldest request of the window: it is settled or tried again.
  void answered(Qp& qp, const Verdict& verdict);
  // Begins a new round with the oldest request, `after` nanoseconds from now. If `unanswered`, that
  // is a transport timeout, which costs a retry.
  void try_again(Qp& qp, Moment after, bool unanswered);
  // The request is over. It completes once the requests before it have completed; so `out` may be
  // invalid afterwards.
  void settle(Qp& qp, Outgoing& out, Status status);
  // Completes the oldest requests that are over. After a failed one the queue pair enters the error
  // state (reliable) or SQE, and the rest is flushed.
  void drain(Qp& qp);
  // Reports the completion, unless the request succeeded and is unsignalled.
  void complete_send(Qp& qp, const Outgoing& out, Status status);
  // Adds a request that is over to the traffic, and tells the trace sink.
  void count(Qp& qp, const Outgoing& out, Status status);
  // Tells the trace sink, which must exist, of the requests that were posted since the last call.
  void look_at_posted(Qp& qp);
  // Returns whether the address is that of a port of this node.
  bool is_local(const Gid& gid, bool is_global, std::uint16_t lid) const;

  // hca/core/interp/tasks.cpp
  //
  // Executes a management request. Returns true if it succeeded. Returns false if the queue pair
  // waits or the request has failed.
  bool manage(Qp& qp, Outgoing& out);
  // Lets the target queue execute more of its held requests.
  Status enable(const Qp& qp, const Outgoing& out);
  // Executes a calculation. Returns std::nullopt if the step is held.
  std::optional<Status> compute(const Qp& qp, const Outgoing& out);

  // hca/core/interp/failure.cpp
  //
  // Completes all send requests with the status `flushed`, and in the error state the receives as
  // well.
  void flush(Qp& qp);
  // Sets the error state and flushes all requests. Does nothing if the queue pair is in that state.
  void enter_error(Qp& qp);
  // Sets the RESET state and drops all requests without completions.
  void reset(Qp& qp);
  // Returns the receive request that the queue pair is filling to its SRQ. One from its own receive
  // queue is dropped.
  void give_back(Qp& qp);

  // hca/core/interp/remote.cpp: messages between nodes.
  //
  // Sends the next part to a queue pair of another node. Returns as go_on() does.
  bool send_there(Qp& qp, Outgoing& out);
  // Sends the next part of `out` as one frame. If `out` is late on purpose, the frame is kept until
  // then.
  Sent send_part(std::uint32_t node, std::uint32_t target_qpn, const Qp& qp, const Outgoing& out);
  // Returns false if there is no connection to the node. A frame that is kept because `out` is late
  // counts as sent.
  bool pass_on(std::uint32_t node, const FrameHeader& header, std::span<const std::byte> bytes,
               const Outgoing& out);
  // Does what Engine::receive() does. The node 0 stands for a late datagram of this node.
  bool receive(std::uint32_t node, std::span<const std::byte> frame);
  // Executes an answer, or drops it if the queue pair does not wait for it. Returns false for a
  // frame that no engine sends; the connection is then dropped.
  bool receive_answer(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame);
  // Executes a part of a message, of which header_of() has accepted the frame. Answers it if its
  // requester expects an answer.
  void receive_request(std::uint32_t node, std::span<const std::byte> frame);
  // Stores `bytes` of a read, or the result of an atomic operation, in the oldest request's buffer.
  void receive_data(Qp& qp, const FrameHeader& header, std::span<const std::byte> bytes);
  // Passes a frame to each member of its group on this node.
  void receive_of_group(std::uint32_t node, FrameHeader header, std::span<const std::byte> frame);
  // Sends the next part of a read's data. After `no_memory` the refusal was sent and `read` is
  // invalid.
  Sent send_data(Qp& qp, Answering& read);
  // Sends the verdict to the requester of `incoming`. `source_qpn` is the queue pair that answers.
  void answer(const Incoming& incoming, std::uint32_t source_qpn, const Verdict& verdict);
  // Sends a frame without payload to the peer of the queue pair; only `kind` and the numbers are
  // set.
  void say(FrameKind kind, const Qp& qp, std::uint32_t psn, std::uint32_t round,
           std::uint64_t offset);
  // Sends the data of reads, then executes the frames that wait behind them (Qp::inbox).
  bool run_answers(Qp& qp);  // true: there is more to do at once

  // hca/core/interp/waiting.cpp: frames of other nodes that a process's memory has not taken yet.
  //
  // Takes a frame with a part of a message: executes it, keeps it in Qp::inbox, or turns it away if
  // there is no room.
  void take_request(std::uint32_t node, const FrameHeader& header,
                    std::span<const std::byte> frame);
  // Takes any other frame. Returns false for a frame that no engine sends; the connection is then
  // dropped.
  bool take_answer(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame);
  // Returns the counters of the bytes kept for the process. The result is never null.
  std::shared_ptr<Keeping> keeping(ProcessId process) const;
  // Returns whether no more frames may be kept. `waits` says that other frames of the queue pair
  // wait already.
  bool is_full(const Qp& qp, bool waits) const;
  // Schedules the queue pairs that wait for room (waiting_for_room), if there is room now.
  void let_in();
  // Drops a frame for which there is no room. A reliable queue pair requests it again later
  // (ask_again).
  void turn_away(Qp& qp);
  // Requests the frames that were turned away, or waits for room.
  void ask_again(Qp& qp);
  // Begins a new round because the responder has turned frames away (FrameKind::again).
  void send_again(Qp& qp, const FrameHeader& header);
  // Returns false while there is no room for answers; the queue pair runs again once there is.
  bool may_go_on(Qp& qp);
  // Drops the frames that wait, because their requester sends them again. A step that is held for
  // the oldest of them goes on.
  void drop_waiting(Qp& qp);
  // Drops the frames that wait because the queue pair ends. If there are any, the peer of a
  // reliable queue pair gets the verdict `silent`.
  void drop_requests(Qp& qp);
  // Keeps an answer in Qp::arrived. If there is no room, a new round begins later.
  void keep_answer(Qp& qp, std::span<const std::byte> frame);
  // Executes the answers in Qp::arrived until one must wait.
  void run_arrived(Qp& qp);
  // Executes the frames in Qp::inbox until one must wait, then requests those that were turned
  // away.
  void run_inbox(Qp& qp);
  // Does what Engine::lost() does.
  void lost(std::uint32_t node);

  // hca/core/interp/responder.cpp
  //
  // Executes a part of a message for the queue pair `qpn`, which need not exist.
  Verdict respond(std::uint32_t qpn, const Incoming& incoming);
  // Answers a message that is not the expected one. One that was executed before gets its answer
  // again.
  Verdict repeated(Qp& qp, const Incoming& incoming);
  // Executes the part by its opcode, without a check of its sequence number.
  Verdict carry_out(Qp& qp, const Incoming& incoming);
  // Returns the verdict of an injected fault (Faults), or std::nullopt.
  std::optional<Verdict> injected(const Qp& qp, const Incoming& incoming);
  // Returns the verdict `refused` with `status`. A reliable queue pair enters the error state, and
  // `type` is sent as an event.
  Verdict refuse(Qp& qp, Status status, EventType type);
  // Called after a transfer has failed. Returns std::nullopt if this side's memory is at fault, or
  // else the verdict for the requester.
  std::optional<Verdict> others_fault(const Incoming& incoming, ProcessId owner);
  // These execute one kind of message. `srq` is null if the queue pair has a receive queue of its
  // own. Keys are checked against `pd`, which for XRC is that of the SRQ.
  Verdict receive_send(Qp& qp, const Incoming& incoming, Srq* srq);
  Verdict receive_write(Qp& qp, const Incoming& incoming, std::uint32_t pd, Srq* srq);
  Verdict receive_read(Qp& qp, const Incoming& incoming, std::uint32_t pd);
  Verdict receive_atomic(Qp& qp, const Incoming& incoming, std::uint32_t pd);
  // Takes the next receive request into Qp::received, unless a message is filling one. Returns
  // false if there is none.
  bool take_receive(Qp& qp, Srq* srq);
  // Reports the completion of Qp::received, which is over.
  void finish_receive(Qp& qp, const Incoming& incoming, Status status);
  // Takes a datagram. Returns `later` if the step is held. After any other result the datagram is
  // over; `refused` means that it was not delivered.
  Transfer receive_datagram(std::uint32_t qpn, const Incoming& incoming);
  // Returns the queue pairs of this node that are members of the group.
  std::set<std::uint32_t> members_of(const Gid& group) const;
};

// Returns the time, in nanoseconds, that a "receiver not ready" code stands for (IBTA table 45).
Moment rnr_time(std::uint8_t code);

}  // namespace scela::hca
