// How much the queues of an adapter hold (docs/collectives.md, The engine), and what becomes of
// requests that find no room. The engine that posts lists goes by it, and so does the checker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace scela::collectives {

struct QueueDepths {
  std::uint32_t messages = 128;        // with a peer: sends, and likewise receives
  std::uint32_t announcements = 8192;  // to all peers; more than there are tasks
  std::uint32_t tasks = 2048;          // of the management queue
  std::uint32_t copies = 128;          // to the rank itself

  // Each task of that number says how far the management queue is, so that there is room again.
  std::uint32_t says() const { return std::clamp(tasks / 8, 1u, 256u); }
};

// Requests for one queue of a peer that found no room there: they wait beside it, in their order,
// and the list goes on without them.
//
// So no list that the checker proves stands still, whatever the depth. What enables a request is a
// task of the management queue, which is posted where the list has it, with room for the request or
// without. Messages of a rank to another complete in their order. Once both ends of one have begun,
// so have both ends of those before. The first of these that is not complete stands on both queues,
// since all before it have left them, and so it completes, and then the next one. (Announcements
// leave their queues as soon as they are enabled, and those that are not are fewer than the tasks
// of the management queue, so there comes to be room among those to all peers too.) So messages
// complete as on queues without end, and waits see no difference. If a request without room held up
// the list, it would hold up the receives behind it, which the peer's sends may need to make room.
template <class Request>
class Beside {
 public:
  bool empty() const { return taken_ == requests_.size(); }
  std::size_t size() const { return requests_.size() - taken_; }

  // Whether the request waits here; else the caller posts it.
  bool keeps(const Request& request, bool has_room) {
    if (empty() && has_room) return false;
    requests_.push_back(request);
    return true;
  }
  // The first of those that wait, for which there is room now.
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
