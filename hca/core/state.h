// The interpreter's insides: all objects of all processes, and what its files do for each other.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "common/core/random.h"
#include "hca/core/engine.h"
#include "hca/core/objects.h"
#include "hca/core/watcher.h"
#include "hca/core/wire.h"

namespace scela::hca {

// One message, or a part of it, on its way from a requester to a responder.
struct Incoming {
  std::uint32_t node = 0;  // of the requester; 0: this one
  std::uint32_t round = 0;
  std::uint32_t source_qpn = 0;
  QpType source_type = QpType::rc;
  std::uint16_t source_lid = 0;
  std::uint8_t port = 0;  // that it is sent to; 0: any, of a group
  Gid source_gid;
  // What the part carries: bytes, or from `offset` on those of pieces of a process's memory. Of a
  // read: where its answer goes.
  std::span<const std::byte> bytes;
  ProcessId from = 0;
  const std::vector<Piece>* pieces = nullptr;
  const SendRequest* request = nullptr;
  std::uint32_t psn = 0;
  std::uint64_t total = 0;   // bytes of the message
  std::uint64_t offset = 0;  // bytes of it that came before
  std::uint64_t count = 0;   // bytes of it that come now
  bool first() const { return offset == 0; }
  bool last() const { return offset + count == total; }
};

// What a responder says to a requester.
struct Verdict {
  enum class Kind : std::uint8_t {
    accepted,   // done, or as far as it was sent
    silent,     // nobody is there, or not ready to be spoken to
    not_ready,  // no receive request: try again after `rnr_timer`
    refused,    // `status` is what the requester's completion says
    later,      // what was asked to be read is on its way to another node
    held,       // a process's memory is waited for: ask again (transfer.h)
  };
  Kind kind = Kind::accepted;
  Status status = Status::success;
  std::uint8_t rnr_timer = 0;
  std::uint64_t before = 0;  // of an atomic operation: what the memory held
};

struct Engine::State {
  State(Host& the_host, const Settings& the_settings);

  Host& host;
  Settings settings;
  Moment now = 0;
  Random random;
  std::map<ProcessId, Attached> processes;
  Traffic departed;  // of processes that have gone
  Watcher* watcher = nullptr;
  Table<Pd, 20, 12> pds;
  Table<Mr, 22, 10> mrs;
  Table<Cq, 20, 12> cqs;
  Table<Channel, 20, 12> channels;
  Table<Srq, 16, 8> srqs;
  Table<Xrcd, 20, 12> xrcds;
  Table<Qp, 16, 8> qps{2};  // 0 and 1 are the management queue pairs of every port
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::set<std::uint32_t>> groups;  // multicast
  // Of a strict engine: completions that have not been told, oldest first.
  struct Held {
    std::uint32_t cq = 0;
    Completion completion;
    bool solicited = false;
  };
  std::deque<Held> held;
  std::uint64_t moved_bytes = 0;                      // bytes, since run() was called
  std::deque<std::uint32_t> runnable;                 // queue pairs
  std::set<std::pair<Moment, std::uint32_t>> timers;  // queue pairs
  // Queue pairs that wait for a way to take more, by its node.
  std::map<std::uint32_t, std::set<std::uint32_t>> blocked;
  std::map<std::uint32_t, std::uint32_t> sent_last;  // by node: a queue pair, which comes last
  std::vector<std::byte> part;  // of a message to another node, while it is sent
  // By Faults: datagrams that are late, as frames, with the node (0: this one) that they are for;
  // until when the engine rests; requests that were begun.
  struct Late {
    std::uint32_t node = 0;
    std::vector<std::byte> frame;
  };
  std::multimap<Moment, Late> late;
  Moment rests_until = 0;
  std::uint64_t begun = 0;
  bool died = false;
  std::set<ProcessId> distant;  // whose memory is not reached at once
  // Queue pairs whose step is held, by the process that it waits for.
  std::map<ProcessId, std::set<std::uint32_t>> waiting_for;
  Step* step = nullptr;  // that is being taken
  // Queue pairs that wait until less is kept for a process.
  std::map<std::pair<ProcessId, RoomFor>, std::set<std::uint32_t>> waiting_for_room;
  std::map<ProcessId, std::uint32_t> first_of;  // the queue pair that has room before others
  std::shared_ptr<Keeping> of_nobody = std::make_shared<Keeping>();
  std::uint64_t takings = 0;  // of receive requests

  // control.cpp, qp_control.cpp: what a process asks for. Each answers with an errno, or 0.
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
  std::uint32_t take_bell(ProcessId process, std::uint32_t qpn);
  void detach(ProcessId process);

  // completion.cpp
  void complete(std::uint32_t number, const Completion& completion, bool solicited);
  void tell(std::uint32_t number, const Completion& completion, bool solicited);
  void release_some(bool all);
  void release_receives(const Qp& qp);
  void event(ProcessId process, EventType type, std::uint64_t cookie);
  void event(const Qp& qp, EventType type);

  // memory.cpp: nothing if a key, a right or a range is wrong.
  const Mr* region(std::uint32_t key, std::uint32_t pd, std::uint64_t address, std::uint64_t bytes,
                   std::uint32_t rights) const;
  bool pieces_of(const std::vector<Sge>& sges, std::uint32_t pd, ProcessId owner,
                 std::uint32_t rights, std::vector<Piece>& pieces) const;
  // Copies what comes now to its place in `pieces`, which begins `skip` bytes into them. False:
  // some memory is not there any more.
  Transfer deliver(const Incoming& incoming, ProcessId to, const std::vector<Piece>& pieces,
                   std::uint64_t skip);
  Transfer deliver_in_order(const Incoming& incoming, ProcessId to,
                            const std::vector<Piece>& pieces, std::uint64_t skip);
  Transfer is_readable(const Incoming& incoming);
  Transfer spoil(ProcessId process, const std::vector<Piece>& pieces, std::uint64_t bytes);

  // transfer.cpp: steps, and what they move. `later`: the step is held, and is taken again.
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
  Transfer carry(Move& move, ProcessId process, const Order& order, std::span<const std::byte> from,
                 std::span<std::byte> to);
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

  // requester.cpp
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
  // The port at the other end that it is sent to; 0: any, of a group.
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

  // tasks.cpp
  bool manage(Qp& qp, Outgoing& out);
  Status enable(const Qp& qp, const Outgoing& out);
  std::optional<Status> compute(const Qp& qp, const Outgoing& out);

  // failure.cpp
  void flush(Qp& qp);
  void enter_error(Qp& qp);
  void reset(Qp& qp);
  void give_back(Qp& qp);

  // remote.cpp: between nodes.
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

  // waiting.cpp: what other nodes have sent and a process's memory has not taken yet.
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

  // responder.cpp
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

// An encoded "receiver not ready" time, nanoseconds (IBTA table 45).
Moment rnr_time(std::uint8_t code);

}  // namespace scela::hca
