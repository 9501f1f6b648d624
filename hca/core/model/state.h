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
  std::shared_ptr<Keeping> of_nobody = std::make_shared<Keeping>();
  std::uint64_t takings = 0;  // counts receive requests taken

  // hca/core/interp/control.cpp and hca/core/interp/qp_control.cpp carry out what a process asks
  // for. Each `int` is 0 or an errno.
  Answer ask(ProcessId process, const Ask& ask);
  int reg_mr(ProcessId process, const Ask& ask, Answer& answer);
  int create_cq(ProcessId process, const Ask& ask, Answer& answer);
  int resize_cq(Cq& cq, const Ask& ask, Answer& answer);
  int create_srq(ProcessId process, const Ask& ask, Answer& answer);
  int modify_srq(Srq& srq, const Ask& ask);
  int open_xrcd(ProcessId process, const Ask& ask, Answer& answer);
  bool uses_xrcd(const Attached& process, std::uint32_t handle) const;
  int close_xrcd(ProcessId process, std::uint32_t handle);
  int destroy(ProcessId process, const Ask& ask);
  int create_qp(ProcessId process, const Ask& ask, Answer& answer);
  int open_qp(ProcessId process, const Ask& ask, Answer& answer);
  int modify_qp(ProcessId process, const Ask& ask, Answer& answer);
  int query_qp(ProcessId process, const Ask& ask, Answer& answer);
  void find_way(Qp& qp);
  int destroy_qp(ProcessId process, std::uint32_t handle);
  void remove_qp(Qp& qp);
  void release_pd(std::uint32_t handle);
  bool make_ring(ProcessId process, std::uint32_t requests, std::uint32_t stride, Ring& ring);
  std::uint32_t take_doorbell(ProcessId process, std::uint32_t qpn);
  void detach(ProcessId process);

  // hca/core/interp/completion.cpp
  void complete(std::uint32_t number, const Completion& completion, bool solicited);
  void tell(std::uint32_t number, const Completion& completion, bool solicited);
  void release_some(bool all);
  void release_receives(const Qp& qp);
  void event(ProcessId process, EventType type, std::uint64_t cookie);
  void event(const Qp& qp, EventType type);

  // hca/core/interp/memory.cpp: region() returns null, and pieces_of() false, if a key, a right or
  // a range is wrong.
  const Mr* region(std::uint32_t key, std::uint32_t pd, std::uint64_t address, std::uint64_t bytes,
                   std::uint32_t rights) const;
  bool pieces_of(const std::vector<Sge>& sges, std::uint32_t pd, ProcessId owner,
                 std::uint32_t rights, std::vector<Piece>& pieces) const;
  // Copies the bytes of this part to `pieces`, starting `skip` bytes into them. Returns `refused`
  // if some memory does not exist any more.
  Transfer deliver(const Incoming& incoming, ProcessId to, const std::vector<Piece>& pieces,
                   std::uint64_t skip);
  Transfer deliver_in_order(const Incoming& incoming, ProcessId to,
                            const std::vector<Piece>& pieces, std::uint64_t skip);
  Transfer is_readable(const Incoming& incoming);
  Transfer spoil(ProcessId process, const std::vector<Piece>& pieces, std::uint64_t bytes);

  // hca/core/interp/transfer.cpp: steps, and the bytes that they move. If a function returns
  // `later`, the step is held and is taken again.
  void begin_step(Qp& qp, Step& taken, const Step::Key& key);
  bool end_step(Step& taken);
  void give_up(Step& taken);
  void forget(Step& taken);
  void forget(const Move& move);
  void forget_steps(Qp& qp);
  bool may_fill(Receiving& received);
  void carried(ProcessId process);
  void lose_patience(Qp& qp, std::optional<Moment> moment);
  bool is_over(Qp& qp);
  Transfer hold(ProcessId process);
  Transfer carry(Move& move, ProcessId process, const RemoteMemoryOp& order,
                 std::span<const std::byte> from, std::span<std::byte> to);
  bool at_once(ProcessId process, std::uint64_t address) const {
    return address >= kPools || !distant.contains(process);
  }
  Transfer fetch(Move& move, ProcessId process, std::uint64_t address, std::span<std::byte> to);
  Transfer store(Move& move, ProcessId process, std::uint64_t address,
                 std::span<const std::byte> from);
  Transfer change(Move& move);
  Move& next_move(const Move::What& what);
  bool goes_first(ProcessId process);
  bool make_room(Move& move, ProcessId process, std::uint64_t bytes);
  Transfer go_on(Move& move, std::span<const std::byte> from);
  Transfer transfer(const Move::What& what, std::span<const std::byte> from,
                    std::span<std::byte> to);
  Transfer read(ProcessId process, std::uint64_t address, std::span<std::byte> to);
  Transfer write(ProcessId process, std::uint64_t address, std::span<const std::byte> from);
  Transfer copy(ProcessId from, std::uint64_t from_address, ProcessId to, std::uint64_t to_address,
                std::uint64_t bytes);
  Transfer change(ProcessId process, std::uint64_t address, const SendRequest& request,
                  std::uint64_t& before);

  // hca/core/interp/requester.cpp
  void schedule(Qp& qp);
  void wait_until(Qp& qp, std::optional<Moment> moment);
  bool run_queue(Qp& qp);  // true: there is more to do at once
  bool may_begin(const Qp& qp) const;
  bool begin(Qp& qp);
  bool go_on(Qp& qp);
  bool must_wait(const Qp& qp) const;
  enum class Sent : std::uint8_t { yes, later, no_memory, no_way };
  bool datagram(Qp& qp, Outgoing& out);
  Sent gather(Qp& qp, Outgoing& out);
  Sent cast(Qp& qp, Outgoing& out);
  Sent cast_to_group(Qp& qp, Outgoing& out);
  Sent cast_late(Qp& qp, const Outgoing& out);
  void bring_late();
  bool rests() const { return died || now < rests_until; }
  Incoming incoming_of(const Qp& qp, const Outgoing& out) const;
  // Returns the port at the other end that the message is sent to; 0 is any port, for a group.
  static std::uint8_t target_port(const Qp& qp, const Outgoing& out);
  bool send_here(Qp& qp, Outgoing& out);
  void answered(Qp& qp, const Verdict& verdict);
  void try_again(Qp& qp, Moment after, bool unanswered);
  void settle(Qp& qp, Outgoing& out, Status status);
  void drain(Qp& qp);
  void complete_send(Qp& qp, const Outgoing& out, Status status);
  void count(Qp& qp, const Outgoing& out, Status status);
  void look_at_posted(Qp& qp);
  bool is_local(const Gid& gid, bool is_global, std::uint16_t lid) const;

  // hca/core/interp/tasks.cpp
  bool manage(Qp& qp, Outgoing& out);
  Status enable(const Qp& qp, const Outgoing& out);
  std::optional<Status> compute(const Qp& qp, const Outgoing& out);

  // hca/core/interp/failure.cpp
  void flush(Qp& qp);
  void enter_error(Qp& qp);
  void reset(Qp& qp);
  void give_back(Qp& qp);

  // hca/core/interp/remote.cpp: messages between nodes.
  bool send_there(Qp& qp, Outgoing& out);
  Sent send_part(std::uint32_t node, std::uint32_t target_qpn, const Qp& qp, const Outgoing& out);
  bool pass_on(std::uint32_t node, const FrameHeader& header, std::span<const std::byte> bytes,
               const Outgoing& out);
  bool receive(std::uint32_t node, std::span<const std::byte> frame);
  bool receive_answer(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame);
  void receive_request(std::uint32_t node, std::span<const std::byte> frame);
  void receive_data(Qp& qp, const FrameHeader& header, std::span<const std::byte> bytes);
  void receive_of_group(std::uint32_t node, FrameHeader header, std::span<const std::byte> frame);
  Sent send_data(Qp& qp, Answering& read);
  void answer(const Incoming& incoming, std::uint32_t source_qpn, const Verdict& verdict);
  void say(FrameKind kind, const Qp& qp, std::uint32_t psn, std::uint32_t round,
           std::uint64_t offset);
  bool run_answers(Qp& qp);  // true: there is more to do at once

  // hca/core/interp/waiting.cpp: frames of other nodes that a process's memory has not taken yet.
  void take_request(std::uint32_t node, const FrameHeader& header,
                    std::span<const std::byte> frame);
  bool take_answer(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame);
  std::shared_ptr<Keeping> keeping(ProcessId process) const;
  bool is_full(const Qp& qp, bool waits) const;
  void let_in();
  void turn_away(Qp& qp);
  void ask_again(Qp& qp);
  void send_again(Qp& qp, const FrameHeader& header);
  bool may_go_on(Qp& qp);
  void drop_waiting(Qp& qp);
  void drop_requests(Qp& qp);
  void keep_answer(Qp& qp, std::span<const std::byte> frame);
  void run_arrived(Qp& qp);
  void run_inbox(Qp& qp);
  void lost(std::uint32_t node);

  // hca/core/interp/responder.cpp
  Verdict respond(std::uint32_t qpn, const Incoming& incoming);
  Verdict repeated(Qp& qp, const Incoming& incoming);
  Verdict carry_out(Qp& qp, const Incoming& incoming);
  std::optional<Verdict> injected(const Qp& qp, const Incoming& incoming);
  Verdict refuse(Qp& qp, Status status, EventType type);
  std::optional<Verdict> others_fault(const Incoming& incoming, ProcessId owner);
  Verdict receive_send(Qp& qp, const Incoming& incoming, Srq* srq);
  Verdict receive_write(Qp& qp, const Incoming& incoming, std::uint32_t pd, Srq* srq);
  Verdict receive_read(Qp& qp, const Incoming& incoming, std::uint32_t pd);
  Verdict receive_atomic(Qp& qp, const Incoming& incoming, std::uint32_t pd);
  bool take_receive(Qp& qp, Srq* srq);
  void finish_receive(Qp& qp, const Incoming& incoming, Status status);
  Transfer receive_datagram(std::uint32_t qpn, const Incoming& incoming);
  std::set<std::uint32_t> members_of(const Gid& group) const;
};

// Returns the time, in nanoseconds, that a "receiver not ready" code stands for (IBTA table 45).
Moment rnr_time(std::uint8_t code);

}  // namespace scela::hca
