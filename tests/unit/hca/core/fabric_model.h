// Runs programs of one node on an interpreter, without processes. Memory is arrays, and the
// programs do what the library would do.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/core/random.h"
#include "hca/core/model/engine.h"
#include "hca/core/wire/doorbells.h"

namespace scela::hca::test {

// Plays the machine under an engine, and records what the engine tells it.
class Machine final : public Host {
 public:
  struct Memory {
    std::vector<std::unique_ptr<std::byte[]>> shared;
    std::map<std::uint64_t, std::uint64_t> mapped;  // address -> bytes
  };

  bool read(ProcessId process, std::uint64_t address, std::span<std::byte> to) override {
    if (!has(process, address, to.size())) return false;
    std::memcpy(to.data(), at(address), to.size());
    return true;
  }
  bool write(ProcessId process, std::uint64_t address, std::span<const std::byte> from) override {
    if (!has(process, address, from.size())) return false;
    std::memcpy(at(address), from.data(), from.size());
    return true;
  }
  bool copy(ProcessId from, std::uint64_t from_address, ProcessId to, std::uint64_t to_address,
            std::uint64_t bytes) override {
    if (!has(from, from_address, bytes) || !has(to, to_address, bytes)) return false;
    std::memmove(at(to_address), at(from_address), bytes);
    copied_to.push_back(to_address);
    return true;
  }
  bool alive(ProcessId process) override { return !dead.contains(process); }

  // This memory is not reached at once: orders wait until carry_out_some().
  bool at_once(ProcessId process) override { return !distant.contains(process); }
  Ticket order(ProcessId process, const RemoteMemoryOp& order,
               std::span<const std::byte> bytes) override {
    std::deque<Given>& given = orders_[process];
    if (given.size() >= max_orders) return 0;
    given.push_back({++tickets_, order, {bytes.begin(), bytes.end()}, OrderState::waits});
    given.back().bytes.resize(order.bytes);
    return tickets_;
  }
  Transfer collect(ProcessId process, Ticket ticket, std::span<std::byte> to) override {
    std::deque<Given>& given = orders_[process];
    const auto found = find(given, ticket);
    if (found == given.end()) return Transfer::refused;
    if (found->state == OrderState::waits) return Transfer::later;
    const bool done = found->state == OrderState::done;
    if (done && !to.empty()) std::memcpy(to.data(), found->bytes.data(), to.size());
    given.erase(found);
    return done ? Transfer::done : Transfer::refused;
  }
  void forget(ProcessId process, Ticket ticket) override {
    std::deque<Given>& given = orders_[process];
    const auto found = find(given, ticket);
    if (found != given.end()) given.erase(found);
    ++forgotten;
  }
  // Carries out the oldest order of one process. Returns false if there is none.
  bool carry_out_some() {
    std::vector<ProcessId> with;
    for (const auto& [process, given] : orders_)
      for (const Given& one : given)
        if (one.state == OrderState::waits && !stopped.contains(process)) {
          with.push_back(process);
          break;
        }
    if (with.empty()) return false;
    const ProcessId process = with[order_random_.below(with.size())];
    for (Given& one : orders_[process]) {
      if (one.state != OrderState::waits) continue;
      one.state = carry_out(process, one) ? OrderState::done : OrderState::refused;
      ++carried_out;
      break;
    }
    if (const auto page = order_pages_.find(process); page != order_pages_.end()) {
      page->second->words[kOrdersDoorbell / 64].fetch_or(1ULL << (kOrdersDoorbell % 64));
      page->second->summary.fetch_or(1ULL << (kOrdersDoorbell / 64));
    }
    return true;
  }
  void orders_doorbell_of(ProcessId process, ProcessPage* page) { order_pages_[process] = page; }
  std::size_t orders_given() const {
    std::size_t all = 0;
    for (const auto& [process, given] : orders_)
      all += given.size();
    return all;
  }
  std::set<ProcessId> distant;
  std::set<ProcessId> stopped;  // processes that carry out nothing
  std::size_t max_orders = 4;
  std::uint64_t carried_out = 0, forgotten = 0;
  // The addresses that were written, in the order in which they were written.
  std::vector<std::uint64_t> copied_to;
  Shared allocate(ProcessId process, std::uint64_t bytes) override {
    if (full) return {};
    auto& shared = memory_[process].shared;
    // The layout needs whole cache lines, so the memory is aligned by hand.
    shared.push_back(std::make_unique<std::byte[]>(bytes + 64));
    const auto base = (reinterpret_cast<std::uintptr_t>(shared.back().get()) + 63) / 64 * 64;
    Shared result;
    result.base = reinterpret_cast<std::byte*>(base);
    result.region = {0, 0, base, bytes};
    ++allocated;
    return result;
  }
  void release(ProcessId, const Region& region) override {
    if (region.bytes != 0) --allocated;
  }
  void wake(ProcessId process) override {
    ++woken[process];
    if (const auto page = pages_.find(process); page != pages_.end()) {
      page->second->doorbell.fetch_add(1, std::memory_order_seq_cst);
      if (page->second->waiters.load(std::memory_order_seq_cst) != 0)
        page->second->doorbell.notify_all();
    }
  }
  void completion_event(ProcessId process, std::uint32_t channel, std::uint64_t cookie) override {
    channel_events.push_back({process, channel, cookie});
    heard.fetch_add(1);
    heard.notify_all();
  }
  void async_event(ProcessId process, const AsyncEvent& event) override {
    events.push_back({process, event.type, event.cookie});
  }
  std::optional<std::uint32_t> node_of(const Gid&, bool is_global, std::uint16_t lid) override {
    const auto found = is_global ? nodes.end() : nodes.find(lid);
    return found == nodes.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::uint32_t> known_nodes() override {
    std::vector<std::uint32_t> known;
    for (const auto& [lid, number] : nodes)
      known.push_back(number);
    return known;
  }
  bool ready(std::uint32_t) override { return frames.size() < max_frames; }
  bool send(std::uint32_t node, std::span<const std::byte> header,
            std::span<const std::byte> payload) override {
    if (cut.contains(node)) return false;
    std::vector<std::byte> frame(header.begin(), header.end());
    frame.insert(frame.end(), payload.begin(), payload.end());
    frames.push_back({node, std::move(frame)});
    return true;
  }

  // Adds memory of a process that requests may name.
  void map(ProcessId process, const void* address, std::uint64_t bytes) {
    memory_[process].mapped[reinterpret_cast<std::uint64_t>(address)] = bytes;
  }
  // Adds a pool of the process. The addresses of pools begin at kPools.
  void map_pool(ProcessId process, const void* address, std::uint64_t bytes) {
    memory_[process].mapped[reinterpret_cast<std::uint64_t>(address) | kPools] = bytes;
  }
  void unmap(ProcessId process, const void* address) {
    memory_[process].mapped.erase(reinterpret_cast<std::uint64_t>(address));
  }

  // Names the page where wake() rings, for a program with a thread of its own.
  void doorbell_of(ProcessId process, ProcessPage* page) { pages_[process] = page; }
  std::atomic<std::uint64_t> heard{0};  // completion events

  std::map<std::uint16_t, std::uint32_t> nodes;  // by LID
  struct Frame {
    std::uint32_t node;
    std::vector<std::byte> bytes;
  };
  std::deque<Frame> frames;  // on their way
  std::size_t max_frames = 1000;
  std::set<std::uint32_t> cut;
  std::set<ProcessId> dead;  // processes that died untold

  struct ChannelEvent {
    ProcessId process;
    std::uint32_t channel;
    std::uint64_t cookie;
  };
  struct Event {
    ProcessId process;
    EventType type;
    std::uint64_t cookie;
    friend bool operator==(const Event&, const Event&) = default;
  };
  std::vector<ChannelEvent> channel_events;
  std::vector<Event> events;
  std::map<ProcessId, int> woken;
  int allocated = 0;
  bool full = false;

 private:
  struct Given {
    Ticket ticket = 0;
    RemoteMemoryOp order;
    std::vector<std::byte> bytes;
    OrderState state = OrderState::waits;
  };
  static std::deque<Given>::iterator find(std::deque<Given>& given, Ticket ticket) {
    return std::find_if(given.begin(), given.end(),
                        [&](const Given& one) { return one.ticket == ticket; });
  }
  bool carry_out(ProcessId process, Given& one) {
    const RemoteMemoryOp& order = one.order;
    if (order.kind == OrderKind::fetch) return read(process, order.address, one.bytes);
    if (order.kind == OrderKind::store) return write(process, order.address, one.bytes);
    std::uint64_t before = 0;
    if (!read(process, order.address, one.bytes)) return false;
    std::memcpy(&before, one.bytes.data(), sizeof before);
    const std::uint64_t after = changed(order.kind, before, order.compare_add, order.swap);
    return write(process, order.address, std::as_bytes(std::span(&after, 1)));
  }
  static std::byte* at(std::uint64_t address) {
    return reinterpret_cast<std::byte*>(address & ~kPools);
  }
  bool has(ProcessId process, std::uint64_t address, std::uint64_t bytes) {
    const auto& mapped = memory_[process].mapped;
    auto found = mapped.upper_bound(address);
    if (found == mapped.begin()) return false;
    --found;
    return address - found->first + bytes <= found->second;
  }
  std::map<ProcessId, std::deque<Given>> orders_;
  std::map<ProcessId, ProcessPage*> order_pages_;
  Ticket tickets_ = 0;
  Random order_random_{1};
  std::map<ProcessId, Memory> memory_;
  std::map<ProcessId, ProcessPage*> pages_;
};

struct Fabric {
  explicit Fabric(const Settings& settings = {}) : engine(machine, settings) {}
  // Runs until nothing can be done at once.
  void run() {
    while (engine.run(now) || (!lazy && machine.carry_out_some())) {
    }
  }
  // Goes to the next moment at which something is due. Returns false if nothing is due.
  bool advance() {
    const auto next = engine.deadline();
    if (!next) return false;
    if (*next > now) now = *next;
    run();
    return true;
  }
  Machine machine;
  Engine engine;
  Moment now = 1;
  bool lazy = false;  // run() carries out no orders
};

struct QueuePair {
  std::uint32_t handle = 0;
  Answer made;
};

struct Buffer {
  std::vector<std::byte> bytes;
  std::uint32_t key = 0;
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes.data()); }
  Sge sge(std::uint64_t offset, std::uint32_t length) const {
    return {address() + offset, length, key};
  }
  Sge all() const { return sge(0, static_cast<std::uint32_t>(bytes.size())); }
};

inline constexpr std::uint32_t kAllRights =
    access::kLocalWrite | access::kRemoteWrite | access::kRemoteRead | access::kRemoteAtomic;

// A process with one protection domain and one completion queue.
class Program {
 public:
  Program(Fabric& fabric, ProcessId id)
      : fabric_(fabric), id_(id), page_(std::make_unique<ProcessPage>()) {
    fabric.engine.attach(id, *page_);
    fabric.machine.orders_doorbell_of(id, page_.get());
    Ask ask;
    ask.operation = Operation::alloc_pd;
    pd = request(ask).handle;
    cq = make_cq(64);
  }
  Answer request(const Ask& ask) { return fabric_.engine.ask(id_, ask); }
  ProcessId id() const { return id_; }
  void leave() { fabric_.engine.detach(id_); }

  std::uint32_t make_cq(std::uint32_t entries, std::uint32_t channel = 0) {
    Ask ask;
    ask.operation = Operation::create_cq;
    ask.entries = entries;
    ask.channel = channel;
    ask.cookie = 77;
    const Answer answer = request(ask);
    if (answer.error == 0) cqs_[answer.handle] = answer;
    return answer.handle;
  }
  Buffer buffer(std::size_t bytes, unsigned char fill = 0, std::uint32_t rights = kAllRights,
                Operation operation = Operation::reg_mr) {
    Buffer made;
    made.bytes.assign(bytes, std::byte{fill});
    Ask ask;
    ask.operation = operation;
    ask.pd = pd;
    ask.address = ask.iova = made.address();
    if (operation == Operation::reg_pool) {
      ask.address |= kPools;
      fabric_.machine.map_pool(id_, made.bytes.data(), bytes);
    } else {
      fabric_.machine.map(id_, made.bytes.data(), bytes);
    }
    ask.length = bytes;
    ask.access = rights;
    made.key = request(ask).number;
    return made;
  }
  Buffer pool(std::size_t bytes, unsigned char fill = 0) {
    return buffer(bytes, fill, kAllRights, Operation::reg_pool);
  }
  QueuePair make_qp(Ask ask) {
    ask.operation = Operation::create_qp;
    if (ask.pd == 0) ask.pd = pd;
    if (ask.send_cq == 0) ask.send_cq = cq;
    if (ask.recv_cq == 0) ask.recv_cq = cq;
    if (ask.cap.send_requests == 0) ask.cap = {16, 16, 4, 4, 64};
    QueuePair made;
    made.made = request(ask);
    made.handle = made.made.handle;
    if (made.made.error == 0) qps_[made.handle] = made.made;
    if ((ask.create_flags & create_flag::kManagedSend) != 0) holds_sends_.insert(made.handle);
    return made;
  }
  // Makes a shared receive queue for this many requests. Events name it by `cookie`.
  Answer make_srq(std::uint32_t requests, std::uint64_t cookie = 0) {
    Ask ask;
    ask.operation = Operation::create_srq;
    ask.pd = pd;
    ask.cap.recv_requests = requests;
    ask.cap.recv_sges = 2;
    ask.cookie = cookie;
    return this->request(ask);
  }
  // Makes an RC queue pair that receives from the shared queue.
  QueuePair make_qp(const Answer& srq) {
    Ask ask;
    ask.srq = srq.handle;
    return make_qp(ask);
  }
  QueuePair make_qp(QpType type) {
    Ask ask;
    ask.qp_type = type;
    return make_qp(ask);
  }
  std::uint32_t modify(const QueuePair& qp, const QpAttributes& attributes, std::uint32_t mask) {
    Ask ask;
    ask.operation = Operation::modify_qp;
    ask.handle = qp.handle;
    ask.attributes = attributes;
    ask.attribute_mask = mask;
    return request(ask).error;
  }
  QpState state(const QueuePair& qp) {
    Ask ask;
    ask.operation = Operation::query_qp;
    ask.handle = qp.handle;
    return request(ask).attributes.state;
  }

  void post_send(const QueuePair& qp, SendRequest request, const std::vector<Sge>& sges) {
    request.sge_count = static_cast<std::uint32_t>(sges.size());
    post_raw(qp, request, sges);
  }
  // The list of pieces, or inline data, stands behind the request.
  void post_raw(const QueuePair& qp, const SendRequest& request, const std::vector<Sge>& body) {
    post(qps_[qp.handle].send, qps_[qp.handle].send_slots, qps_[qp.handle].send_stride, request,
         body);
    // The doorbell rings under the same condition as in the library.
    if (!holds_sends_.contains(qp.handle) || wants_doorbell(qp))
      ring_doorbell(qps_[qp.handle].send_doorbell);
  }
  // Returns true if the engine wants a doorbell although the requests are held.
  bool wants_doorbell(const QueuePair& qp) {
    return head(qps_[qp.handle].send)->ring_on_post.load() != 0;
  }
  bool knows(const QueuePair& qp) const { return qps_.contains(qp.handle); }
  // Returns true if the engine must be woken.
  bool post_and_ring(const QueuePair& qp, SendRequest request, const std::vector<Sge>& sges,
                     EnginePage& engine) {
    request.sge_count = static_cast<std::uint32_t>(sges.size());
    const Answer& made = qps_[qp.handle];
    post(made.send, made.send_slots, made.send_stride, request, sges);
    return ring(*page_, engine, made.send_doorbell);
  }
  void post_recv(const QueuePair& qp, std::uint64_t wr_id, const std::vector<Sge>& sges) {
    const Answer& made = qps_[qp.handle];
    post(made.recv, made.recv_slots, made.recv_stride,
         RecvRequest{wr_id, static_cast<std::uint32_t>(sges.size()), 0}, sges);
    if (head(made.recv)->ring_on_post.load() != 0) ring_doorbell(made.recv_doorbell);
  }
  void post_srq(const Answer& srq, std::uint64_t wr_id, const std::vector<Sge>& sges) {
    post(srq.recv, srq.recv_slots, srq.recv_stride,
         RecvRequest{wr_id, static_cast<std::uint32_t>(sges.size()), 0}, sges);
  }
  std::vector<Completion> poll(std::uint32_t queue = 0) {
    const Answer& made = cqs_[queue == 0 ? cq : queue];
    auto* ring = reinterpret_cast<CompletionRing*>(made.send.offset);
    const auto* entries = reinterpret_cast<const Completion*>(made.send.offset + kEntriesOffset);
    std::vector<Completion> result;
    std::uint64_t consumed = ring->consumed.load();
    for (; consumed != ring->produced.load(); ++consumed)
      result.push_back(entries[consumed & (made.entries - 1)]);
    ring->consumed.store(consumed);
    return result;
  }
  CompletionRing& completions(std::uint32_t queue = 0) {
    return *reinterpret_cast<CompletionRing*>(cqs_[queue == 0 ? cq : queue].send.offset);
  }
  ProcessPage& page() { return *page_; }

  std::uint32_t pd = 0;
  std::uint32_t cq = 0;

 private:
  static RequestRing* head(const Region& region) {
    return reinterpret_cast<RequestRing*>(region.offset);
  }
  template <class Request>
  static void post(const Region& region, std::uint32_t slots, std::uint32_t stride,
                   const Request& request, const std::vector<Sge>& sges) {
    const std::uint64_t posted = head(region)->posted.load();
    auto* entry = reinterpret_cast<std::byte*>(region.offset + kEntriesOffset +
                                               (posted & (slots - 1)) * stride);
    std::memcpy(entry, &request, sizeof request);
    if (!sges.empty()) std::memcpy(entry + sizeof request, sges.data(), sges.size() * sizeof(Sge));
    head(region)->posted.store(posted + 1);
  }
  void ring_doorbell(std::uint32_t doorbell) {
    page_->words[doorbell / 64].fetch_or(1ULL << (doorbell % 64));
    page_->summary.fetch_or(1ULL << (doorbell / 64));
  }

  Fabric& fabric_;
  ProcessId id_;
  std::unique_ptr<ProcessPage> page_;
  std::map<std::uint32_t, Answer> cqs_;
  std::map<std::uint32_t, Answer> qps_;
  std::set<std::uint32_t> holds_sends_;
};

inline SendRequest request(Opcode opcode, std::uint64_t id = 1,
                           std::uint32_t flags = send_flag::kSignaled) {
  SendRequest made;
  made.wr_id = id;
  made.opcode = opcode;
  made.flags = flags;
  return made;
}

inline SendRequest remote(Opcode opcode, const Buffer& to, std::uint64_t offset = 0) {
  SendRequest made = request(opcode);
  made.remote_address = to.address() + offset;
  made.rkey = to.key;
  return made;
}

// The way of a queue pair to ready-to-send, towards a queue pair of the same node.
struct Way {
  std::uint32_t access = kAllRights;
  std::uint8_t timeout = 14, retries = 7, rnr_retries = 7, rnr_timer = 12, rd_atomic = 16;
  std::uint32_t psn = 100;
  std::uint16_t lid = 1;
};
inline std::uint32_t connect(Program& program, const QueuePair& qp, QpType type,
                             std::uint32_t other, const Way& way = {}) {
  namespace a = attribute;
  QpAttributes value;
  value.port = 1;
  value.access_flags = way.access;
  value.qkey = 0x1111;
  value.dlid = way.lid;
  value.path_mtu = 5;
  value.dest_qpn = other;
  value.rq_psn = value.sq_psn = way.psn;
  value.max_dest_rd_atomic = value.max_rd_atomic = way.rd_atomic;
  value.min_rnr_timer = way.rnr_timer;
  value.timeout = way.timeout;
  value.retry_count = way.retries;
  value.rnr_retry = way.rnr_retries;
  const bool ud = type == QpType::ud;
  const bool full = type == QpType::rc || type == QpType::xrc_recv;
  value.state = QpState::init;
  std::uint32_t error = program.modify(
      qp, value, a::kState | a::kPkeyIndex | a::kPort | (ud ? a::kQkey : a::kAccessFlags));
  value.state = QpState::rtr;
  if (error == 0)
    error = program.modify(qp, value,
                           a::kState | (ud ? 0 : a::kAv | a::kPathMtu | a::kDestQpn | a::kRqPsn) |
                               (full ? a::kMaxDestRdAtomic | a::kMinRnrTimer : 0));
  value.state = QpState::rts;
  const bool sends = type == QpType::rc || type == QpType::xrc_send;
  if (error == 0)
    error = program.modify(
        qp, value,
        a::kState | a::kSqPsn | (type == QpType::xrc_recv ? a::kTimeout : 0) |
            (sends ? a::kTimeout | a::kRetryCount | a::kRnrRetry | a::kMaxRdAtomic : 0));
  return error;
}

}  // namespace scela::hca::test
