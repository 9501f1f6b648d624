// The depths of an adapter's queues (docs/design/collectives.md, The engine), and what becomes of
// requests that find no room. The engine, which posts lists, and the checker share these rules. An
// object belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace scela::collectives {

// The numbers of requests that the queues of one communicator on an adapter hold.
struct QueueDepths {
  std::uint32_t messages = 128;        // sends to one peer; receives likewise
  std::uint32_t announcements = 8192;  // to all peers; more than `tasks`
  std::uint32_t tasks = 2048;          // tasks of the management queue
  std::uint32_t copies = 128;          // writes to the rank itself

  // Returns n: every n-th task raises a completion, by which the process learns how far the
  // management queue is and that there is room again.
  std::uint32_t says() const { return std::clamp(tasks / 8, 1u, 256u); }
};

// The requests for one queue of a peer that found no room there. They wait in this object, beside
// the queue, in their order, and the list goes on without them.
//
// So no list that the checker proves stands still, whatever the depth. A task of the management
// queue enables each request. It is posted in the list's order, whether there is room for the
// request or not. The messages of a rank to another complete in their order. If both ends of a
// message have begun, so have both ends of all earlier ones. The first of these that is not
// complete stands on both queues, since all earlier ones have left them. So it completes, and then
// the next one does. (An announcement leaves its queue as soon as it is enabled. Those that are not
// enabled are fewer than the tasks of the management queue. So room comes to be among the
// announcements to all peers too.) So messages complete as on queues without end, and waits see no
// difference. If a request without room held up the list, it would hold up the receives behind it.
// The peer's sends may need these to make room.
template <class Request>
class Beside {
 public:
  // Returns true if no request waits here.
  bool empty() const { return taken_ == requests_.size(); }
  // Returns how many requests wait here.
  std::size_t size() const { return requests_.size() - taken_; }

  // Decides for a new request: if the queue has room and no earlier request waits here, returns
  // false, and the caller posts it. Otherwise keeps it here and returns true.
  bool keeps(const Request& request, bool has_room) {
    if (empty() && has_room) return false;
    requests_.push_back(request);
    return true;
  }
  // Removes and returns the first request that waits here. The caller calls this if some request
  // waits and the queue has room for it.
  Request take() {
    const Request request = requests_[taken_++];
    if (empty()) {
      requests_.clear();
      taken_ = 0;
    } else if (taken_ >= kMany && taken_ >= requests_.size() / 2) {
      requests_.erase(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(taken_));
      taken_ = 0;
    }
    return request;
  }

 private:
  static constexpr std::size_t kMany = 1024;
  std::vector<Request> requests_;
  std::size_t taken_ = 0;
};

}  // namespace scela::collectives
