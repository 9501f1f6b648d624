// The scene of a random sequence of verbs: two engines and a model of them (model.h), processes
// with the objects that they have made, and connected queue pairs. The engines and the model are
// told the same.
#pragma once

#include <array>
#include <cerrno>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "common/core/random.h"
#include "tests/unit/hca/core/fabric_model.h"
#include "tests/unit/hca/core/model.h"

namespace scela::hca::test::model {

namespace a = attribute;

inline constexpr std::uint64_t kSlotBytes = 256;
// Each queue pair and each shared queue has a slot.
inline constexpr std::uint64_t kSlots = 20;
enum Zone : std::uint64_t { source, landing, receives, target, zones };

// Returns the attributes that a change must name (ibv_modify_qp(3)).
inline std::uint32_t required(QpType type, QpState to) {
  const bool answers = type == QpType::rc || type == QpType::xrc_recv;
  const bool asks = type == QpType::rc || type == QpType::xrc_send;
  const bool ud = type == QpType::ud;
  switch (to) {
    case QpState::init:
      return a::kPkeyIndex | a::kPort | (ud ? a::kQkey : a::kAccessFlags);
    case QpState::rtr:
      return (ud ? 0 : a::kAv | a::kPathMtu | a::kDestQpn | a::kRqPsn) |
             (answers ? a::kMaxDestRdAtomic | a::kMinRnrTimer : 0);
    case QpState::rts:
      return a::kSqPsn |
             (asks ? a::kTimeout | a::kRetryCount | a::kRnrRetry | a::kMaxRdAtomic : 0) |
             (type == QpType::xrc_recv ? a::kTimeout : 0);
    default:
      return 0;
  }
}

class Scene {
 public:
  // If `distant` is true, the memory of some processes is not reached at once.
  Scene(std::uint64_t seed, bool loud, bool distant)
      : random_(seed),
        loud_(loud),
        distant_(distant),
        remote_(random_.chance(1, 2)),
        managed_(random_.chance(1, 4)),
        strict_(random_.chance(1, 2)),
        left_(settings(1)),
        right_(settings(11)) {
    left_.machine.nodes[11] = 2;
    right_.machine.nodes[1] = 1;
    for (Fabric* fabric : {&left_, &right_})
      fabric->machine.max_frames = std::array{1U, 2U, 1000U}[random_.below(3)];
    for (Fabric* fabric : {&left_, &right_})
      fabric->lazy = distant_;
    if (distant_) left_.machine.max_orders = right_.machine.max_orders = random_.between(1, 4);
  }

 protected:
  // Queue pairs that are connected, or may be.
  struct Joined {
    int one = -1, other = -1;
    // Without a receive request, the sender tries for ever.
    bool patient = false;
  };

  Settings settings(std::uint16_t lid) {
    Settings made;
    made.first_lid = lid;
    made.seed = strict_ ? random_.next() | 1 : 0;
    return made;
  }
  std::ostream& say() {
    if (loud_) return std::cerr << "\n" << ++said_ << " ";
    return silence_;
  }
  std::ostream& differs() {
    static std::ostringstream text;
    text.str({});
    wrong_ = "different";
    if (loud_) return std::cerr << "\nDIFFERENT: ";
    return text;
  }
  void expect(std::uint32_t error, std::uint32_t wanted, const char* what) {
    if (error != wanted) differs() << what << ": error " << error << " for " << wanted;
  }
  Program& program(int process) { return *programs_.at(process); }
  Fabric& fabric(int process) { return world_.node_of.at(process) == 0 ? left_ : right_; }
  static std::uint16_t lid(int node) { return node == 0 ? 1 : 11; }

  template <class Objects>
  int any(const Objects& objects) {
    return objects.empty()
               ? -1
               : std::next(objects.begin(), static_cast<long>(random_.below(objects.size())))
                     ->first;
  }

  // ---- objects

  void add_process() {
    const int process = static_cast<int>(world_.node_of.size());
    world_.node_of[process] = remote_ ? process % 2 : 0;
    if (distant_ && random_.chance(3, 4))
      fabric(process).machine.distant.insert(static_cast<ProcessId>(process + 1));
    programs_[process] =
        std::make_unique<Program>(fabric(process), static_cast<ProcessId>(process + 1));
    Program& made = program(process);
    auto& buffer = buffers_[process];
    buffer.resize(zones * kSlots * kSlotBytes);
    const std::uint64_t fill = random_.next();
    for (std::size_t i = 0; i < buffer.size(); ++i)
      buffer[i] = static_cast<std::byte>(fill + i * 37);
    fabric(process).machine.map(made.id(), buffer.data(), buffer.size());
    world_.memory[process] = {reinterpret_cast<std::uint64_t>(buffer.data()), buffer};
    own_pd_[process] = ++numbers_;
    pds_[numbers_] = made.pd;
    Ask ask;
    ask.operation = Operation::alloc_pd;
    other_pd_[process] = ++numbers_;
    pds_[numbers_] = made.request(ask).handle;
    ask.operation = Operation::open_xrcd;
    ask.file_inode = 7;
    ask.open_flags = 0100;
    xrcds_[process] = made.request(ask).handle;
    own_cq_[process] = add_cq(process, made.cq, 64);
    add_region(process, own_pd_[process], kAllRights);
    add_region(process, own_pd_[process], 0);
    add_region(process, other_pd_[process], kAllRights);
  }
  int add_cq(int process, std::uint32_t handle, std::uint64_t entries) {
    const int number = ++numbers_;
    cqs_[number] = handle;
    world_.cqs[number] = {process, 77, entries, 0, false, {}};
    return number;
  }
  int new_cq(int process) {
    const std::uint32_t entries = random_.chance(1, 6) && !managed_ ? 4 : 64;
    if (random_.chance(1, 2)) return own_cq_.at(process);
    return add_cq(process, program(process).make_cq(entries), entries);
  }
  int add_region(int process, int pd, std::uint32_t rights) {
    const model::Memory& memory = world_.memory.at(process);
    const std::uint64_t shift = random_.chance(1, 4) ? 1ULL << 40 : 0;
    Ask ask;
    ask.operation = Operation::reg_mr;
    ask.pd = pds_.at(pd);
    ask.address = memory.address;
    ask.iova = memory.address + shift;
    ask.length = memory.bytes.size();
    ask.access = rights;
    const Answer answer = program(process).request(ask);
    expect(answer.error, 0, "reg_mr");
    world_.regions[++numbers_] = {process, pd, answer.number, ask.iova, 0, ask.length, rights};
    return numbers_;
  }
  int add_srq(int process, bool xrc) {
    Ask ask;
    ask.operation = Operation::create_srq;
    ask.pd = program(process).pd;
    ask.cap.recv_requests = 16;
    ask.cap.recv_sges = 2;
    ask.limit = static_cast<std::uint32_t>(random_.below(3));
    const int number = ++numbers_;
    ask.cookie = static_cast<std::uint64_t>(number);
    model::Srq srq;
    srq.process = process;
    srq.pd = own_pd_.at(process);
    if (xrc) {
      ask.srq_type = SrqType::xrc;
      ask.xrcd = xrcds_.at(process);
      srq.xrcd = static_cast<int>(ask.xrcd);
      srq.cq = own_cq_.at(process);
      ask.cq = cqs_.at(srq.cq);
    }
    const Answer answer = program(process).request(ask);
    expect(answer.error, 0, "create_srq");
    srq.number = answer.number;
    srq.cookie = ask.cookie;
    srq.limit = ask.limit;
    srq.sges = answer.cap.recv_sges;
    srqs_[number] = answer;
    world_.srqs[number] = srq;
    slot_[number] = next_slot_++ % kSlots;
    return number;
  }
  int add_qp(int process, QpType type, bool shared) {
    model::Qp qp;
    Ask ask;
    ask.qp_type = qp.type = type;
    qp.process = process;
    const int number = ++numbers_;
    ask.cookie = qp.cookie = static_cast<std::uint64_t>(number);
    ask.cap = {32, 32, 3, 2, 64};
    const bool sends = type != QpType::xrc_recv, both = sends && type != QpType::xrc_send;
    if (sends) {
      qp.pd = own_pd_.at(process);
      qp.send_cq = new_cq(process);
      ask.send_cq = cqs_.at(qp.send_cq);
      ask.signal_all = random_.chance(1, 4) ? 1 : 0;
      qp.signal_all = ask.signal_all != 0;
    } else {
      ask.xrcd = xrcds_.at(process);
      qp.xrcd = static_cast<int>(ask.xrcd);
      qp.holders = {{process, qp.cookie}};
    }
    if (both) {
      qp.recv_cq = new_cq(process);
      ask.recv_cq = cqs_.at(qp.recv_cq);
    }
    if (both && shared) {
      qp.srq = add_srq(process, false);
      ask.srq = srqs_.at(qp.srq).handle;
    }
    if (managed_ && both) {
      qp.holds_sends = random_.chance(1, 3);
      qp.holds_receives = random_.chance(1, 3);
      ask.create_flags = (qp.holds_sends ? create_flag::kManagedSend : 0) |
                         (qp.holds_receives ? create_flag::kManagedRecv : 0);
    }
    const QueuePair made = program(process).make_qp(ask);
    expect(made.made.error, 0, "create_qp");
    qp.number = made.handle;
    qp.sges = made.made.cap.send_sges;
    qp.inline_bytes = made.made.cap.inline_bytes;
    qps_[number] = made;
    world_.qps[number] = qp;
    slot_[number] = next_slot_++ % kSlots;
    say() << "create qp " << number << " type " << static_cast<int>(type) << " at " << process
          << (qp.srq >= 0 ? " shared" : "");
    return number;
  }
  void add_pair() {
    constexpr std::array kTypes{QpType::rc, QpType::rc, QpType::uc, QpType::ud, QpType::xrc_send};
    const QpType type = managed_ ? QpType::rc : kTypes[random_.below(kTypes.size())];
    const int p = any(programs_), q = any(programs_);
    if (type == QpType::xrc_send && remote_ && p % 2 == q % 2 && random_.chance(1, 2)) return;
    const bool shared = !managed_ && random_.chance(1, 3);
    Joined pair;
    pair.patient = managed_ || (!shared && type == QpType::rc && random_.chance(1, 3));
    pair.one = add_qp(p, type, shared);
    if (type == QpType::rc && p == q && random_.chance(1, 4) && !managed_)
      pair.other = pair.one;
    else
      pair.other = add_qp(q, type == QpType::xrc_send ? QpType::xrc_recv : type, shared);
    if (type == QpType::xrc_send) {
      add_srq(q, true);
      if (random_.chance(1, 2)) open_other(pair.other);
    }
    join(pair);
    pairs_.push_back(pair);
  }
  // Another process of the node opens the queue pair as well.
  void open_other(int number) {
    model::Qp& qp = world_.qps.at(number);
    const int other = any(programs_);
    if (world_.node_of.at(other) != world_.node_of.at(qp.process)) return;
    Ask ask;
    ask.operation = Operation::open_qp;
    ask.number = qp.number;
    ask.xrcd = xrcds_.at(other);
    ask.qp_type = QpType::xrc_recv;
    ask.cookie = static_cast<std::uint64_t>(++numbers_);
    expect(program(other).request(ask).error, 0, "open_qp");
    qp.holders.emplace_back(other, ask.cookie);
  }

  // ---- states

  QpAttributes values(const Joined& pair, int other) {
    QpAttributes value;
    const model::Qp& peer = world_.qps.at(other);
    value.port = 1;
    value.access_flags = random_.chance(1, 8) ? access::kLocalWrite : kAllRights;
    value.qkey = 0x1111;
    value.dlid = lid(world_.node_of.at(peer.process));
    value.path_mtu = 5;
    value.dest_qpn = peer.number;
    value.rq_psn = value.sq_psn = 0xFFFFFE;
    // The peer does not expect this number.
    if (!managed_ && random_.chance(1, 30)) value.sq_psn = 5;
    if (managed_) value.access_flags = kAllRights;
    value.max_dest_rd_atomic = value.max_rd_atomic = random_.chance(1, 10) && !managed_ ? 0 : 2;
    value.min_rnr_timer = pair.patient ? 20 : 1;
    value.timeout = 1;
    value.retry_count = static_cast<std::uint8_t>(random_.below(4));
    value.rnr_retry = pair.patient ? 7 : static_cast<std::uint8_t>(random_.below(3));
    return value;
  }
  std::uint32_t modify(int number, QpAttributes value, QpState to, std::uint32_t mask) {
    value.state = to;
    const model::Qp& qp = world_.qps.at(number);
    const int holder = qp.holders.empty() ? qp.process : qp.holders.front().first;
    say() << "modify qp " << number << " to " << static_cast<int>(to) << " mask " << mask;
    return program(holder).modify(qps_.at(number), value, a::kState | mask);
  }
  // Raises the state in steps. Sometimes it leaves out an attribute, or does not go on to the end.
  void raise(int number, const QpAttributes& value) {
    for (const QpState to : {QpState::init, QpState::rtr, QpState::rts}) {
      const std::uint32_t mask = required(world_.qps.at(number).type, to);
      if (random_.chance(1, 20)) {
        const std::uint32_t bit = 1U << random_.below(21);
        if ((mask & bit) != 0) expect(modify(number, value, to, mask & ~bit), EINVAL, "modify");
      }
      if (random_.chance(1, 20) && to != QpState::init)
        expect(modify(number, value, QpState::init, a::kSqPsn), EINVAL, "modify back");
      expect(modify(number, value, to, mask), 0, "modify");
      world_.change(number, to, value, mask);
      if (to == QpState::rtr && !managed_ && random_.chance(1, 10)) return;
    }
  }
  void join(const Joined& pair) {
    if (!alive(pair)) return;
    raise(pair.one, values(pair, pair.other));
    if (pair.other != pair.one) raise(pair.other, values(pair, pair.one));
  }
  bool alive(const Joined& pair) const {
    return world_.qps.contains(pair.one) && world_.qps.contains(pair.other);
  }

  static std::ptrdiff_t offset_of(Zone zone, std::uint64_t slot) {
    return static_cast<std::ptrdiff_t>((zone * kSlots + slot) * kSlotBytes);
  }

  Random random_;
  bool loud_;
  bool distant_;
  bool remote_;
  bool managed_;
  bool strict_;
  Fabric left_, right_;
  model::World world_;
  std::map<int, std::unique_ptr<Program>> programs_;
  std::map<int, std::vector<std::byte>> buffers_;
  std::map<int, int> own_pd_, other_pd_, own_cq_;
  std::map<int, std::uint32_t> pds_, cqs_, xrcds_;
  std::map<int, Answer> srqs_;
  std::map<int, QueuePair> qps_;
  std::map<int, std::uint64_t> slot_;
  std::vector<Joined> pairs_;
  std::uint64_t next_slot_ = 0;
  std::uint64_t wr_id_ = 0;
  int numbers_ = 0;
  int said_ = 0;
  std::ostream silence_{nullptr};
  std::string wrong_;
};

}  // namespace scela::hca::test::model
