// Random sequences of verbs on the interpreter and on a model of it (model.h): after each of them
// completions, memory, events and states are compared.
//
// SCELA_MODEL_SEQUENCES=1000000 in the environment runs so many sequences, SCELA_MODEL_SEED=N only
// the one of that seed, and says what it does.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <tuple>

#include "common/core/random.h"
#include "tests/unit/hca/fabric.h"
#include "tests/unit/hca/model.h"

namespace scela::hca::test {
namespace {

namespace a = attribute;

constexpr std::uint64_t kSlotBytes = 256;
constexpr std::uint64_t kSlots = 20;  // one for each queue pair, and for each shared queue
enum Zone : std::uint64_t { source, landing, receives, target, zones };
constexpr Moment kSoon = 1'000'000, kLater = 20'000'000;  // finite retries; RNR for ever

// Which attributes a change must name (ibv_modify_qp(3)).
std::uint32_t required(QpType type, QpState to) {
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

class Sequence {
 public:
  // `distant`: of some processes, memory is not reached at once.
  Sequence(std::uint64_t seed, bool loud, bool distant)
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
      fabric->machine.most_frames = std::array{1U, 2U, 1000U}[random_.below(3)];
    for (Fabric* fabric : {&left_, &right_})
      fabric->lazy = distant_;
    if (distant_) left_.machine.most_orders = right_.machine.most_orders = random_.between(1, 4);
  }

  // What is different, or nothing.
  std::optional<std::string> run() {
    say() << (remote_ ? "two nodes" : "one node") << (managed_ ? ", managed" : "");
    const std::uint64_t processes = random_.between(2, 4);
    for (std::uint64_t i = 0; i < processes; ++i)
      add_process();
    const std::uint64_t pairs = random_.between(1, 4);
    for (std::uint64_t i = 0; i < pairs; ++i)
      add_pair();
    const std::uint64_t steps = random_.between(10, 40);
    for (std::uint64_t i = 0; i < steps && wrong_.empty(); ++i) {
      managed_ ? managed_step() : step();
      compare();
    }
    while (!programs_.empty() && wrong_.empty()) {
      leave(programs_.begin()->first);
      compare();
    }
    if (left_.machine.allocated + right_.machine.allocated != 0) differs() << "memory is left";
    if (left_.machine.orders_given() + right_.machine.orders_given() != 0)
      differs() << "orders are left";
    return wrong_.empty() ? std::nullopt : std::optional(wrong_);
  }

 private:
  struct Joined {  // what is connected, or may be
    int one = -1, other = -1;
    bool patient = false;  // no receive request: tried again for ever
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
  // Another process of the node holds it as well.
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
    if (!managed_ && random_.chance(1, 30)) value.sq_psn = 5;  // nobody hears it
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
  // In steps, with an attribute left out now and then; perhaps not to the end.
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

  // ---- requests

  const model::Region* region_of(int process, std::uint32_t rights) {
    for (const auto& [number, region] : world_.regions)
      if (region.process == process && region.pd == own_pd_.at(process) &&
          (region.rights & rights) == rights)
        return &region;
    return nullptr;
  }
  Sge piece(int process, int of, Zone zone, std::uint64_t offset, std::uint32_t length) {
    const model::Region* region = region_of(process, kAllRights);
    if (!region) return {1, length, 99};
    const auto at = static_cast<std::uint64_t>(offset_of(zone, slot_.at(of)));
    return {region->iova + at + offset, length, region->key};
  }
  // Makes an element of a list wrong.
  void spoil(int process, Sge& sge) {
    switch (random_.below(4)) {
      case 0:
        sge.lkey ^= 0x80000000;
        break;
      case 1: {
        const model::Region* region = nullptr;
        for (const auto& [number, other] : world_.regions)
          if (other.process == process && other.rights == 0) region = &other;
        if (region) sge.lkey = region->key;
        break;
      }
      case 2:
        for (const auto& [number, other] : world_.regions)
          if (other.process == process && other.pd != own_pd_.at(process)) sge.lkey = other.key;
        break;
      default:
        sge.address += zones * kSlots * kSlotBytes;
    }
  }
  static bool changes_memory(Opcode opcode) {
    return opcode == Opcode::rdma_read || opcode == Opcode::fetch_add ||
           opcode == Opcode::compare_swap;
  }
  model::Send make_send(int number) {
    const model::Qp& qp = world_.qps.at(number);
    constexpr std::array kOpcodes{
        Opcode::send,      Opcode::send_with_imm, Opcode::rdma_write,   Opcode::rdma_write_with_imm,
        Opcode::rdma_read, Opcode::fetch_add,     Opcode::compare_swap, Opcode::bind_mw};
    const bool may_fail = !managed_;
    model::Send send;
    SendRequest& request = send.request;
    request.wr_id = ++wr_id_;
    request.opcode = kOpcodes[random_.below(kOpcodes.size() - (random_.chance(1, 10) ? 0 : 1))];
    if (qp.type == QpType::ud && !random_.chance(1, 20))
      request.opcode = kOpcodes[random_.below(2)];
    if (qp.type == QpType::uc && !random_.chance(1, 20))
      request.opcode = kOpcodes[random_.below(4)];
    if (managed_ && request.opcode == Opcode::bind_mw) request.opcode = Opcode::send;
    request.flags = static_cast<std::uint32_t>(random_.below(8));
    request.immediate = static_cast<std::uint32_t>(random_.next());
    request.compare_add = random_.below(3);
    request.swap = random_.next();
    const bool atomic =
        request.opcode == Opcode::fetch_add || request.opcode == Opcode::compare_swap;
    const Zone zone = changes_memory(request.opcode) ? landing : source;
    std::uint32_t bytes = std::array{0U, 8U, 40U, 200U}[random_.below(4)];
    if (atomic) bytes = may_fail && random_.chance(1, 20) ? 4 : 8;
    if (random_.chance(1, 5) &&
        (!changes_memory(request.opcode) || (may_fail && random_.chance(1, 20)))) {
      request.flags |= send_flag::kInlined;
      send.data.resize(std::min(bytes, 40U) + (may_fail && random_.chance(1, 20) ? 200 : 0));
      for (std::byte& byte : send.data)
        byte = static_cast<std::byte>(random_.next());
      bytes = static_cast<std::uint32_t>(send.data.size());
    } else if (bytes > 8 && random_.chance(1, 2)) {
      send.sges = {piece(qp.process, number, zone, 0, 8),
                   piece(qp.process, number, zone, 8, bytes - 8)};
    } else if (bytes > 0 || random_.chance(1, 2)) {
      send.sges = {piece(qp.process, number, zone, 8, bytes)};
    }
    if (may_fail && !send.sges.empty() && random_.chance(1, 15))
      spoil(qp.process, send.sges[random_.below(send.sges.size())]);
    if (may_fail && random_.chance(1, 60) && send.data.empty())
      send.sges.resize(qp.sges + 1, piece(qp.process, number, zone, 0, 0));
    aim(number, request, bytes);
    return send;
  }
  // At the memory of who is at the other end, or near it.
  void aim(int number, SendRequest& request, std::uint64_t bytes) {
    const model::Qp& qp = world_.qps.at(number);
    int process = -1;
    for (const Joined& pair : pairs_)
      if (alive(pair) && (pair.one == number || pair.other == number))
        process = world_.qps.at(pair.one == number ? pair.other : pair.one).process;
    if (qp.type == QpType::xrc_send) {
      for (const auto& [index, srq] : world_.srqs)
        if (srq.xrcd >= 0 && (process < 0 || random_.chance(1, 2))) {
          request.remote_srqn = srq.number;
          process = srq.process;
        }
      if (random_.chance(1, 20)) request.remote_srqn ^= 0x10000;
    }
    if (qp.type == QpType::ud) {
      int other = -1;
      for (const auto& [index, candidate] : world_.qps)
        if (candidate.type == QpType::ud && (other < 0 || random_.chance(1, 2))) other = index;
      const model::Qp& to = world_.qps.at(other);
      request.destination.lid = lid(world_.node_of.at(to.process));
      if (random_.chance(1, 20)) request.destination.lid = 99;
      request.destination.qpn = to.number;
      request.destination.qkey = random_.chance(1, 10) ? 0x2222 : 0x1111;
      request.destination.port = 1;
      return;
    }
    if (process < 0 || !programs_.contains(process)) process = qp.process;
    Sge there = piece(process, number, target, random_.below(2) * 8, 0);
    if (!managed_ && random_.chance(1, 12)) spoil(process, there);
    if (!managed_ && random_.chance(1, 40)) there.address += 4;
    if (!managed_ && random_.chance(1, 40)) there.address = ~0ULL - bytes / 2;
    request.remote_address = there.address;
    request.rkey = there.lkey;
  }
  void post_send(int number, const model::Send& send) {
    const model::Qp& qp = world_.qps.at(number);
    SendRequest request = send.request;
    say() << "post to qp " << number << " opcode " << static_cast<int>(request.opcode) << " id "
          << request.wr_id << " flags " << request.flags << " bytes " << model::bytes_of(send)
          << " sges " << send.sges.size();
    std::vector<Sge> body = send.sges;
    world_.post_send(number, send);
    if (!send.data.empty()) {
      // In the place of the list.
      request.inline_bytes = static_cast<std::uint32_t>(send.data.size());
      body.resize((std::min<std::size_t>(send.data.size(), qp.inline_bytes) + 15) / 16);
      std::memcpy(body.data(), send.data.data(), std::min(send.data.size(), body.size() * 16));
    }
    const std::size_t fits = (qps_.at(number).made.send_stride - sizeof request) / sizeof(Sge);
    request.sge_count = static_cast<std::uint32_t>(send.sges.size());
    body.resize(std::min(body.size(), fits));
    program(qp.process).post_raw(qps_.at(number), request, body);
  }
  std::vector<Sge> make_list(int process, int of, bool whole) {
    std::vector<Sge> sges;
    if (whole || random_.chance(3, 4)) {
      sges = {piece(process, of, receives, 0, 100), piece(process, of, receives, 100, 156)};
    } else if (random_.chance(1, 2)) {
      sges = {piece(process, of, receives, 0, 48)};
    }
    if (!managed_ && !sges.empty() && random_.chance(1, 20)) spoil(process, sges.back());
    return sges;
  }
  void post_receive(int number) {
    const model::Qp& qp = world_.qps.at(number);
    // What a message that is too long does to an unreliable connection is told in different ways.
    const auto sges = make_list(qp.process, number, managed_ || qp.type == QpType::uc);
    say() << "receive at qp " << number << " sges " << sges.size();
    world_.post_receive(number, {++wr_id_, sges, 0});
    program(qp.process).post_recv(qps_.at(number), wr_id_, sges);
  }
  void post_shared(int number) {
    model::Srq& srq = world_.srqs.at(number);
    if (srq.receives.size() >= 16) return;
    const auto sges = make_list(srq.process, number, true);
    say() << "receive at srq " << number;
    world_.post_shared(number, {++wr_id_, sges, 0});
    program(srq.process).post_srq(srqs_.at(number), wr_id_, sges);
  }

  // ---- steps

  bool takes_sends(const model::Qp& qp) const {
    return qp.type != QpType::xrc_recv && qp.state >= QpState::rts && qp.sends.size() < 20;
  }
  bool takes_receives(const model::Qp& qp) const {
    return qp.type != QpType::xrc_recv && qp.type != QpType::xrc_send && qp.srq < 0 &&
           qp.state != QpState::reset && qp.receives.size() < 20;
  }
  void batch(int number) {
    for (std::uint64_t i = random_.between(1, 4); i > 0; --i)
      if (takes_sends(world_.qps.at(number))) post_send(number, make_send(number));
  }
  int peer(int number) const {
    for (const Joined& pair : pairs_)
      if (pair.one == number || pair.other == number)
        return pair.one == number ? pair.other : pair.one;
    return -1;
  }
  // Queue pairs that have nothing to do with each other send at once.
  void crowd() {
    std::set<int> busy;
    for (const Joined& pair : pairs_) {
      if (!alive(pair)) continue;
      const model::Qp& one = world_.qps.at(pair.one);
      if ((one.type != QpType::rc && one.type != QpType::uc) || one.srq >= 0) continue;
      const int sender = random_.chance(1, 2) ? pair.one : pair.other;
      if (takes_sends(world_.qps.at(sender))) batch(sender);
    }
  }
  void step() {
    const int number = any(world_.qps);
    if (number < 0) return add_pair_again();
    model::Qp& qp = world_.qps.at(number);
    const std::uint64_t what = random_.below(100);
    if (what < 40) {
      if (takes_sends(qp)) batch(number);
    } else if (what < 60) {
      for (std::uint64_t i = random_.between(1, 4); i > 0; --i)
        if (takes_receives(qp)) post_receive(number);
    } else if (what < 70) {
      const int srq = any(world_.srqs);
      for (std::uint64_t i = random_.between(1, 4); i > 0 && srq >= 0; --i)
        post_shared(srq);
    } else if (what < 75) {
      crowd();
    } else if (what < 85) {
      change_state(number);
    } else if (what < 90) {
      for (const Joined& pair : pairs_)
        if (pair.one == number || pair.other == number) again(pair);
    } else if (what < 93) {
      destroy(number);
    } else if (what < 96) {
      change_regions();
    } else if (what < 98) {
      busy_objects();
    } else if (what < 99) {
      if (programs_.size() > 1) leave(any(programs_));
    } else {
      add_pair_again();
    }
  }
  void add_pair_again() {
    if (!programs_.empty() && next_slot_ + 4 < kSlots) add_pair();
  }
  void change_state(int number) {
    model::Qp& qp = world_.qps.at(number);
    QpAttributes value;
    const auto change = [&](QpState to, std::uint32_t mask) {
      expect(modify(number, value, to, mask), 0, "modify");
      world_.change(number, to, value, mask);
    };
    switch (random_.below(4)) {
      case 0:
        if (qp.state == QpState::reset)
          expect(modify(number, value, QpState::err, 0), EINVAL, "reset to error");
        else
          change(QpState::err, 0);
        break;
      case 1:
        change(QpState::reset, 0);
        break;
      case 2:
        // Which of several requests have begun is known to nobody.
        if (qp.state == QpState::rts && qp.sends.size() <= 1 && qp.type != QpType::xrc_recv) {
          value.sqd_notify = 1;
          change(QpState::sqd, random_.chance(1, 2) ? a::kSqdNotify : 0);
        }
        break;
      default:
        if (qp.state == QpState::sqd || qp.state == QpState::sqe) {
          change(QpState::rts, 0);
        } else if (qp.state == QpState::err || qp.state == QpState::init) {
          expect(modify(number, value, QpState::rts, 0), EINVAL, "modify to rts");
        }
    }
  }
  void again(const Joined& pair) {
    if (!alive(pair)) return;
    for (const int number : std::set<int>{pair.one, pair.other}) {
      expect(modify(number, {}, QpState::reset, 0), 0, "reset");
      world_.change(number, QpState::reset, {}, 0);
    }
    join(pair);
  }
  void destroy(int number) {
    model::Qp& qp = world_.qps.at(number);
    Ask ask;
    ask.operation = Operation::destroy_qp;
    ask.handle = qp.number;
    int process = qp.process;
    if (!qp.holders.empty()) {
      process = qp.holders.front().first;
      qp.holders.erase(qp.holders.begin());
    }
    say() << "destroy qp " << number << " by " << process;
    expect(program(process).request(ask).error, 0, "destroy_qp");
    if (qp.holders.empty()) world_.qps.erase(number);
  }
  void change_regions() {
    if (random_.chance(1, 2)) {
      const int process = any(programs_);
      add_region(process, own_pd_.at(process), kAllRights);
      say() << "register at " << process;
      return;
    }
    const int number = any(world_.regions);
    if (number < 0) return;
    const model::Region& region = world_.regions.at(number);
    Ask ask;
    ask.operation = Operation::dereg_mr;
    ask.handle = region.key;
    say() << "deregister at " << region.process;
    expect(program(region.process).request(ask).error, 0, "dereg_mr");
    for (const auto& [process, other] : programs_)  // it is gone, and nobody else's
      if (world_.node_of.at(process) == world_.node_of.at(region.process))
        expect(other->request(ask).error, EINVAL, "dereg_mr again");
    world_.regions.erase(number);
  }
  void busy_objects() {
    Ask ask;
    for (const auto& [number, qp] : world_.qps) {
      if (qp.type == QpType::xrc_recv) continue;
      ask.operation = Operation::destroy_cq;
      ask.handle = cqs_.at(qp.send_cq);
      expect(program(qp.process).request(ask).error, EBUSY, "destroy_cq");
      ask.operation = Operation::dealloc_pd;
      ask.handle = pds_.at(qp.pd);
      expect(program(qp.process).request(ask).error, EBUSY, "dealloc_pd");
      if (qp.srq < 0) continue;
      ask.operation = Operation::destroy_srq;
      ask.handle = srqs_.at(qp.srq).handle;
      expect(program(qp.process).request(ask).error, EBUSY, "destroy_srq");
    }
  }
  void leave(int process) {
    say() << "process " << process << " leaves";
    program(process).leave();
    programs_.erase(process);
    for (auto at = world_.qps.begin(); at != world_.qps.end();) {
      model::Qp& qp = at->second;
      std::erase_if(qp.holders, [&](const auto& holder) { return holder.first == process; });
      const bool goes = qp.type == QpType::xrc_recv ? qp.holders.empty() : qp.process == process;
      at = goes ? world_.qps.erase(at) : std::next(at);
    }
    const auto his = [&](const auto& entry) { return entry.second.process == process; };
    std::erase_if(world_.srqs, his);
    std::erase_if(world_.cqs, his);
    std::erase_if(world_.regions, his);
    world_.memory.erase(process);
  }

  // Requests that wait for completions and release others; nothing of it fails, so that it does not
  // matter in which order the queue pairs come to their turns.
  void managed_step() {
    const int number = any(world_.qps);
    if (number < 0) return;
    const model::Qp& qp = world_.qps.at(number);
    const std::uint64_t what = random_.below(10);
    if (what < 4) {
      if (takes_sends(qp)) batch(number);
    } else if (what < 7) {
      for (std::uint64_t i = random_.between(1, 4); i > 0; --i)
        if (takes_receives(qp)) post_receive(number);
    } else if (takes_sends(qp)) {
      post_task(number);
    }
  }
  void post_task(int number) {
    const model::Qp& qp = world_.qps.at(number);
    // A task begins when what is before it has left: on a node that is when it has arrived.
    const bool behind_messages =
        std::any_of(qp.sends.begin(), qp.sends.end(),
                    [](const model::Send& before) { return before.request.opcode < Opcode::wait; });
    if (remote_ && behind_messages) return;
    model::Send send;
    SendRequest& request = send.request;
    request.wr_id = ++wr_id_;
    request.flags = send_flag::kSignaled;
    std::vector<int> queues, held;
    for (const auto& [index, cq] : world_.cqs)
      if (cq.process == qp.process) queues.push_back(index);
    for (const auto& [index, other] : world_.qps)
      if (other.process == qp.process && (other.holds_sends || other.holds_receives))
        held.push_back(index);
    const std::uint64_t what = random_.below(3);
    if (what == 0) {
      const int cq = queues[random_.below(queues.size())];
      request.opcode = Opcode::wait;
      request.wait_until = world_.cqs.at(cq).produced + random_.below(3);
      request.compare_add = static_cast<std::uint64_t>(cq);
      request.target = cqs_.at(cq);
    } else if (what == 1 && !held.empty()) {
      const int other = held[random_.below(held.size())];
      const model::Qp& to = world_.qps.at(other);
      const bool is_send = to.holds_sends && (!to.holds_receives || random_.chance(1, 2));
      request.opcode = is_send ? Opcode::send_enable : Opcode::recv_enable;
      request.wait_until = random_.between(1, 3);
      request.compare_add = static_cast<std::uint64_t>(other);
      request.target = qps_.at(other).handle;
    } else {
      request.opcode = Opcode::calc;
      request.target = 2 << 8;  // a sum of 32 bits without sign
      // Of bytes that no send is reading.
      for (std::uint64_t operand = 0; operand < 3; ++operand)
        send.sges.push_back(piece(qp.process, number, source, 208 + 8 * operand, 8));
    }
    post_send(number, send);
  }

  // ---- time, and what there is to compare

  void carry() {
    for (bool more = true; more;) {
      left_.run();
      right_.run();
      if (distant_ && random_.chance(1, 2)) {
        Machine& one = (random_.chance(1, 2) ? left_ : right_).machine;
        if (one.carry_out_some()) continue;
      }
      const bool first = random_.chance(1, 2);
      more = first ? bring(left_, 1, right_) || bring(right_, 2, left_)
                   : bring(right_, 2, left_) || bring(left_, 1, right_);
      if (!more) more = left_.machine.carry_out_some() || right_.machine.carry_out_some();
    }
  }
  bool bring(Fabric& from, std::uint32_t number, Fabric& to) {
    if (from.machine.frames.empty()) return false;
    const Machine::Frame frame = std::move(from.machine.frames.front());
    from.machine.frames.pop_front();
    if (!to.engine.receive(number, frame.bytes, to.now)) differs() << "a frame is refused";
    from.engine.writable(number == 1 ? 2 : 1);
    return true;
  }
  void advance_to(Moment end) {
    for (;;) {
      const Moment next = std::min(left_.engine.deadline().value_or(~0ULL),
                                   right_.engine.deadline().value_or(~0ULL));
      if (next > end) return;
      left_.now = right_.now = std::max(left_.now, next);
      carry();
    }
  }
  // Whether all has come that the model has: who tries again for ever finds a receive request that
  // a chain of tasks has released at its next attempt only.
  bool all_came() {
    return std::all_of(world_.cqs.begin(), world_.cqs.end(), [&](const auto& entry) {
      const model::Cq& cq = entry.second;
      return cq.overrun ||
             program(cq.process).completions(cqs_.at(entry.first)).produced >= cq.produced;
    });
  }
  void settle() {
    carry();
    advance_to(left_.now + kSoon);
    for (int attempts = 0; attempts == 0 || (attempts < 50 && !all_came()); ++attempts) {
      left_.now = right_.now = left_.now + kLater;
      carry();
      advance_to(left_.now + kSoon);
    }
  }
  using Key = std::pair<std::uint32_t, bool>;
  static std::map<Key, std::vector<Completion>> by_queue(const std::vector<Completion>& all) {
    std::map<Key, std::vector<Completion>> result;
    for (const Completion& completion : all)
      result[{completion.owner,
              (completion.opcode & done::kReceive) != 0 && completion.opcode < done::kWait}]
          .push_back(completion);
    return result;
  }
  static bool same(const Completion& one, const Completion& other) {
    const auto always = [](const Completion& c) {
      return std::tuple(c.wr_id, c.queue_index, c.status, c.qpn, c.owner);
    };
    if (always(one) != always(other)) return false;
    if (one.status != Status::success) return true;
    const auto of_success = [](const Completion& c) {
      const bool received = c.opcode >= done::kReceive && c.opcode < done::kWait;
      return std::tuple(c.opcode, c.flags, c.immediate, c.source_qpn, received ? c.bytes : 0);
    };
    return of_success(one) == of_success(other);
  }
  void compare() {
    world_.run();
    settle();
    for (auto& [number, cq] : world_.cqs) {
      const auto got = program(cq.process).poll(cqs_.at(number));
      std::vector<Completion> waiting;
      waiting.swap(cq.waiting);
      if (loud_)
        for (const Completion& c : got)
          std::cerr << "\n   cq " << number << " id " << c.wr_id << " status "
                    << static_cast<int>(c.status) << " of " << c.owner;
      if (cq.overrun) {  // which were too many is for chance to say
        if (program(cq.process).completions(cqs_.at(number)).broken == 0)
          differs() << "a queue did not run over";
        continue;
      }
      const auto have = by_queue(got), want = by_queue(waiting);
      if (!std::equal(
              have.begin(), have.end(), want.begin(), want.end(), [](const auto& x, const auto& y) {
                return x.first == y.first && std::equal(x.second.begin(), x.second.end(),
                                                        y.second.begin(), y.second.end(), same);
              })) {
        auto& out = differs() << "completions; wanted";
        for (const Completion& c : waiting)
          out << "\n   cq " << number << " id " << c.wr_id << " status "
              << static_cast<int>(c.status) << " of " << c.owner << " opcode " << c.opcode
              << " bytes " << c.bytes;
      }
    }
    forget_spoilt();
    for (const auto& [process, memory] : world_.memory) {
      const auto& has = buffers_.at(process);
      if (std::memcmp(has.data(), memory.bytes.data(), has.size()) == 0) continue;
      const auto first = std::mismatch(has.begin(), has.end(), memory.bytes.begin()).first;
      const auto at = static_cast<std::uint64_t>(first - has.begin());
      differs() << "memory of " << process << " in zone " << at / kSlotBytes / kSlots << " of slot "
                << at / kSlotBytes % kSlots << " at " << at % kSlotBytes;
    }
    for (const auto& [number, qp] : world_.qps) {
      const int holder = qp.holders.empty() ? qp.process : qp.holders.front().first;
      const QpState state = program(holder).state(qps_.at(number));
      if (state != qp.state)
        differs() << "state of " << number << " is " << static_cast<int>(state) << " for "
                  << static_cast<int>(qp.state);
    }
    compare_events();
  }
  // A strict adapter has spoilt the places of reads that did not end well, or have not ended.
  void forget_spoilt() {
    for (const auto& [number, slot] : slot_)
      for (auto& [process, memory] : world_.memory)
        if (const auto qp = world_.qps.find(number);
            strict_ && (qp == world_.qps.end() || qp->second.state != QpState::rts ||
                        !qp->second.sends.empty()))
          std::copy_n(buffers_.at(process).begin() + offset_of(landing, slot), kSlotBytes,
                      memory.bytes.begin() + offset_of(landing, slot));
  }
  static std::ptrdiff_t offset_of(Zone zone, std::uint64_t slot) {
    return static_cast<std::ptrdiff_t>((zone * kSlots + slot) * kSlotBytes);
  }
  void compare_events() {
    std::vector<model::Event> got, want;
    for (Fabric* fabric : {&left_, &right_}) {
      for (const Machine::Event& event : fabric->machine.events)
        got.push_back({static_cast<int>(event.process) - 1, event.type, event.cookie});
      fabric->machine.events.clear();
    }
    want.swap(world_.events);
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    if (got == want) return;
    auto& out = differs() << "events; got";
    for (const auto& event : got)
      out << " " << event.process << ":" << static_cast<int>(event.type) << ":" << event.cookie;
    out << " wanted";
    for (const auto& event : want)
      out << " " << event.process << ":" << static_cast<int>(event.type) << ":" << event.cookie;
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

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

}  // namespace

static void run_sequences(bool distant) {
  if (const std::uint64_t seed = number_of("SCELA_MODEL_SEED", 0); seed != 0) {
    CHECK_FALSE(Sequence(seed, true, distant).run());
    return;
  }
  const std::uint64_t sequences = number_of("SCELA_MODEL_SEQUENCES", 2000);
  const std::uint64_t first = number_of("SCELA_MODEL_FIRST", 1);
  for (std::uint64_t seed = first; seed < first + sequences; ++seed) {
    INFO("SCELA_MODEL_SEED=" << seed);
    REQUIRE_FALSE(Sequence(seed, false, distant).run());
  }
}

TEST_CASE("hca model: random sequences of verbs do what the model says") {
  run_sequences(false);
}

TEST_CASE("hca model: random sequences do the same where memory is not reached at once") {
  run_sequences(true);
}

}  // namespace scela::hca::test
