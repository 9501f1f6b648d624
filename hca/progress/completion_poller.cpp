#include "hca/progress/completion_poller.h"

#include <algorithm>
#include <utility>

namespace scela::hca::progress {
namespace {

constexpr int kBatch = 16;
constexpr int kLooksAround = 4;  // other queues that one vain poll looks at

}  // namespace

bool CompletionPoller::look(TaskCq& cq) {
  if (cq.leaving || cq.broken) return false;
  ibv_wc found[kBatch];
  const int count = device_.poll_cq(cq.device, kBatch, found);
  if (count < 0) cq.broken = true;
  for (int i = 0; i < count; ++i)
    handle(cq, found[i]);
  return count > 0;
}

// A chain of tasks may go through queues that no thread of the program polls. With a single
// processor the progress thread would come to them only when the poller's time slice is over.
void CompletionPoller::look_around() {
  for (int i = 0; i < kLooksAround && !watched_.empty(); ++i)
    look(*watched_[next_look_++ % watched_.size()]);
}

void CompletionPoller::handle(TaskCq& cq, const ibv_wc& wc) {
  TaskQp* const qp = objects_.find_qp_numbered(wc.qp_num);
  const Entry* const oldest =
      qp == nullptr || qp->send_cq != &cq ? nullptr : queues_.oldest_in_flight(qp->id);
  if (oldest != nullptr && wc.wr_id == mark_.wr_id(oldest->serial)) {
    if (!oldest->signalled) {
      --cq.unsignalled;
      --qp->unsignalled;
    }
    current_ = &wc;
    queues_.sent(qp->id, static_cast<Status>(wc.status));
    current_ = nullptr;
    return;
  }
  if (mark_.is_on(wc.wr_id)) return;  // its queue pair has gone or was reset
  if (put(cq, wc)) queues_.counted(cq.id);
  if (qp != nullptr) queues_.received(qp->id, static_cast<Status>(wc.status));
}

bool CompletionPoller::put(TaskCq& cq, const ibv_wc& wc) {
  if (cq.broken) return false;
  if (cq.ready.size() >= cq.capacity) {
    cq.broken = true;
    return false;
  }
  cq.ready.push_back(wc);
  return true;
}

// The completions are dropped that the queue pair left in completion queues that stay. They are not
// for the program any more.
void CompletionPoller::forget(TaskQp& qp) {
  const std::uint32_t number = qp.device->qp_num;
  for (TaskCq* const cq : {qp.send_cq, qp.recv_cq}) {
    if (cq == nullptr) continue;
    while (look(*cq)) {
    }
    std::erase_if(cq->ready, [&](const ibv_wc& wc) { return wc.qp_num == number; });
  }
  if (qp.send_cq != nullptr) qp.send_cq->unsignalled -= std::exchange(qp.unsignalled, 0);
}

void CompletionPoller::watch(TaskCq& cq, bool wanted) {
  cq.watched = wanted;
  std::erase(watched_, &cq);
  if (wanted) watched_.push_back(&cq);
}

std::size_t CompletionPoller::unarmed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(watched_, [](const TaskCq* cq) { return !cq->armed; }));
}

bool CompletionPoller::look_at_unarmed() {
  bool found = false;
  // A completion may change `watched_`.
  for (std::size_t i = 0; i < watched_.size(); ++i)
    if (!watched_[i]->armed && look(*watched_[i])) found = true;
  return found;
}

}  // namespace scela::hca::progress
