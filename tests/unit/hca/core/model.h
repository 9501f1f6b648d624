// A model of what verbs promise, as plain as possible: queue pairs with lists of requests, memory
// as arrays, and messages that happen at once. It was written from the rules (InfiniBand's chapters
// 9 to 11 and the manual pages of verbs), not from the engine.
//
// The model knows no time. Where a requester would try again, the model waits if the requester may
// try for ever, and fails if not. So its users change nothing while a requester tries again a few
// times only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "hca/core/wire/engine_messages.h"
#include "hca/core/wire/shared_layout.h"

namespace scela::hca::test::model {

struct Memory {
  std::uint64_t address = 0;
  std::vector<std::byte> bytes;
};

struct Region {
  int process = 0;
  int pd = 0;
  std::uint32_t key = 0;
  std::uint64_t iova = 0;
  std::uint64_t offset = 0;  // in its process's memory
  std::uint64_t length = 0;
  std::uint32_t rights = 0;
};

struct Send {
  SendRequest request;
  std::vector<Sge> sges;
  std::vector<std::byte> data;  // inlined
  std::uint64_t index = 0;
};

struct Receive {
  std::uint64_t wr_id = 0;
  std::vector<Sge> sges;
  std::uint64_t index = 0;
};

struct Cq {
  int process = 0;
  std::uint64_t cookie = 0;
  std::uint64_t entries = 0;
  std::uint64_t produced = 0;
  bool overrun = false;
  std::vector<Completion> waiting;  // not polled
};

struct Srq {
  int process = 0;
  int pd = 0;
  int xrcd = -1;  // -1: a basic one
  int cq = -1;
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;
  std::uint32_t limit = 0;
  std::uint32_t sges = 0;
  std::uint64_t posted = 0;
  std::deque<Receive> receives;
};

struct Qp {
  int process = 0;
  QpType type = QpType::rc;
  int pd = 0;
  int send_cq = -1;
  int recv_cq = -1;
  int srq = -1;
  int xrcd = -1;
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;
  bool signal_all = false;
  std::uint32_t sges = 0;
  std::uint32_t inline_bytes = 0;
  bool holds_sends = false, holds_receives = false;  // until they are enabled

  QpState state = QpState::reset;
  QpAttributes attributes;
  std::uint32_t send_psn = 0, expected_psn = 0;
  bool established = false;
  bool notify = false;
  bool begun = false;                    // the first request has been tried
  std::uint64_t sent = 0, received = 0;  // requests posted
  std::uint64_t send_enabled = 0, recv_enabled = 0;
  std::deque<Send> sends;
  std::deque<Receive> receives;

  // For XRC_RECV: the processes that hold it, each with the cookie that its events carry.
  std::vector<std::pair<int, std::uint64_t>> holders;

  bool reliable() const { return type != QpType::uc && type != QpType::ud; }
};

struct Event {
  int process = 0;
  EventType type = EventType::device_fatal;
  std::uint64_t cookie = 0;
  friend auto operator<=>(const Event&, const Event&) = default;
};

class World {
 public:
  // All objects have numbers of the model, which are not used again. An object that has gone is not
  // found.
  std::map<int, Memory> memory;  // by process
  std::map<int, int> node_of;    // by process
  std::map<int, Region> regions;
  std::map<int, Cq> cqs;
  std::map<int, Srq> srqs;
  std::map<int, Qp> qps;
  std::vector<Event> events;

  void post_send(int qp, Send send);
  void post_receive(int qp, Receive receive);
  void post_shared(int srq, Receive receive);
  // Makes a change that is allowed.
  void change(int number, QpState to, const QpAttributes& value, std::uint32_t mask);
  // Runs until nothing moves.
  void run();

 private:
  enum class What { done, nobody, not_ready, failed };
  struct Outcome {
    What what = What::done;
    Status status = Status::success;
  };
  bool step(Qp& qp);
  Outcome execute(Qp& qp, const Send& send);
  Outcome manage(Qp& qp, const Send& send);
  Outcome carry(Qp& from, Qp& to, const Send& send);
  Outcome receive(Qp& from, Qp& to, Srq* srq, const Send& send, std::uint64_t gap);
  void datagram(Qp& from, const Send& send);
  Outcome refuse(Qp& qp, Status status, EventType event);
  void finish_send(Qp& qp, const Send& send, Status status);
  void tell(const Qp& qp, EventType type);
  void complete(int number, const Completion& completion);
  void flush_sends(Qp& qp);
  void fail(Qp& qp);
  Qp* target(std::uint16_t lid, std::uint32_t number);
  const Region* find(std::uint32_t key, int pd, std::uint64_t address, std::uint64_t bytes,
                     std::uint32_t rights) const;
  // Finds the bytes that a list names, one pointer for each byte. Returns false if the list is not
  // allowed.
  bool gather(const std::vector<Sge>& sges, int pd, std::uint32_t rights,
              std::vector<std::byte*>& bytes);
  std::byte* at(const Region& region, std::uint64_t address);
};

inline std::uint64_t bytes_of(const Send& send) {
  if ((send.request.flags & send_flag::kInlined) != 0) return send.data.size();
  std::uint64_t bytes = 0;
  for (const Sge& sge : send.sges)
    bytes += sge.length;
  return bytes;
}

}  // namespace scela::hca::test::model
