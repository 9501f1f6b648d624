// The work requests of a process to other nodes: messages in buffers of its own, and bytes of moves
// (writes and reads of registered memory), in parts. LinkRequests posts them, posts those again
// that came back, and ends them. NetworkLink (network_link.h) owns one, and LinkMessages,
// RefusedMoves and PeerChecks use it.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "comm-channel/engine/device_health.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/pool.h"
#include "comm-channel/net/link_device.h"
#include "comm-channel/net/port/network_buffers.h"
#include "comm-channel/net/port_set.h"
#include "comm-channel/net/rank_table.h"
#include "comm-channel/net/send_slots.h"
#include "common/core/result.h"

namespace scela::channel {

// Bytes of an operation that are under way, in parts.
struct LinkMove {
  Operation* operation = nullptr;
  std::uint32_t parts = 0;          // not ended yet
  Outcome outcome = Outcome::none;  // of the first part that failed
  LinkMove* next_free = nullptr;
};

// A work request. Its address is the wr_id.
struct LinkWork {
  PortPair* pair = nullptr;  // that it was posted to last
  std::size_t port = 0;
  connect::QpId qp = connect::kNone;  // the name of `pair`
  int rank = -1;                      // the peer
  LinkMove* move = nullptr;           // its bytes are moved; null: a message
  std::byte* bytes = nullptr;         // a message's buffer; null: a question
  std::uint32_t length = 0;           // bytes of this request
  std::uint64_t left = 0;             // bytes behind `bytes` that are to follow
  ibv_wr_opcode opcode = IBV_WR_SEND;
  std::uint64_t remote_address = 0;
  std::uint32_t key = 0;
  bool posted = false;
  LinkWork* next_free = nullptr;
};

class LinkRequests {
 public:
  // All arguments must outlive this object.
  LinkRequests(const LinkDevice& device, PortSet& ports, RankTable& ranks, SendSlots& slots,
               UnsettledRanks& unsettled)
      : device_(device), ports_(ports), ranks_(ranks), slots_(slots), unsettled_(unsettled) {}
  LinkRequests(const LinkRequests&) = delete;
  LinkRequests& operator=(const LinkRequests&) = delete;

  // Makes buffers for messages of at most `most` bytes.
  Result<void> make(std::size_t most);

  // Returns a buffer for a message, or null if all are taken. take_or_add() adds buffers then, as
  // long as requests may be under way.
  std::byte* take_buffer() { return buffers_->take(); }
  std::byte* take_or_add_buffer();
  void give_back(std::byte* buffer) { buffers_->give_back(buffer); }
  std::size_t buffer_bytes() const { return buffers_->bytes(); }
  std::uint64_t registered() const { return buffers_->registered(); }  // bytes

  // Posts the requests of Remote::again, which have come back, in order. Returns false if some are
  // left.
  bool send_again(Remote& remote);
  // Posts a message of so many bytes that is in a buffer. If the device does not take it now, it is
  // posted with those that came back.
  void post_message(Remote& remote, const SendSlot& slot, std::byte* buffer, std::uint32_t length);
  // Posts a write of no bytes: its completion shows if the rank is there. It uses no buffer, and
  // the other program need not look. It names the queue where the rank receives, so it is refused
  // if that rank has ended.
  void post_question(Remote& remote);
  // Does NetworkTraffic::write() and read(), by all ports that take something now.
  bool move(int rank, Operation& operation, const std::byte* bytes, std::size_t size,
            ibv_wr_opcode opcode, std::uint64_t remote_address, std::uint32_t key);

  // Counts a request as complete. The caller must still end `work`, or have it posted again.
  void complete(Remote& remote, LinkWork& work);
  // Posts the next part of `work` after one part was moved, or ends it if the rank is lost. Returns
  // false if no bytes are left: the work is then the caller's.
  bool go_on(Remote& remote, LinkWork& work);
  // Keeps the work to be posted again, with the same number.
  void go_again(Remote& remote, LinkWork& work);
  // Reports the queue pair of the work as broken, once.
  void break_pair(const LinkWork& work);
  // Gives the work and the buffer of its message back.
  void free(LinkWork& work);
  // Ends the work. If it is the last part of a move, the user is notified by report_moves().
  void end(LinkWork& work, Outcome outcome);
  // Ends one part of a move. If it was the last one, the user is notified at once.
  void end_part(LinkMove& move, Outcome outcome, NetworkUser& user);
  // Ends the requests that wait to be posted again, because the rank is gone.
  void end_waiting(Remote& remote);
  // Ends all requests under way. The device is gone: they may not come back, and it must not use
  // memory that belongs to the program again.
  void abandon();

  // Returns how many ended moves are not reported yet. report_moves() reports them, and returns how
  // many.
  std::size_t unreported() const { return over_.size(); }
  unsigned report_moves(NetworkUser& user);

 private:
  // Posts the request. Returns false if the device does not take it now: it is still the caller's.
  bool post(std::size_t port, const SendSlot& slot, LinkWork& work);
  // Ends one part of a move. Returns the operation if it was the last part, otherwise null.
  Operation* over(LinkMove& move, Outcome outcome);

  const LinkDevice& device_;
  PortSet& ports_;
  RankTable& ranks_;
  SendSlots& slots_;
  UnsettledRanks& unsettled_;
  std::optional<Buffers> buffers_;
  Pool<LinkWork> works_;
  Pool<LinkMove> moves_;
  std::vector<std::pair<Operation*, Outcome>> over_;  // ended, and not reported
  DeviceHealth health_;
};

}  // namespace scela::channel
