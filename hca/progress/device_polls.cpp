// Completions of the device: which queue pair each belongs to, whether the program sees it, and
// which tasks can go on.
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "hca/progress/payloads.h"

namespace scela::hca::progress {
namespace {

constexpr int kBatch = 16;
// Tasks that one post or poll executes; the thread does the rest. More would make calls longer,
// fewer would leave more to the thread.
constexpr int kStepsAtOnce = 64;
constexpr int kLooksAround = 4;  // other queues that one vain poll looks at

constexpr std::uint64_t kMarkMask = ~0ULL << 32;

}  // namespace

bool DeviceTasks::look(Cq& cq) {
  if (cq.leaving || cq.broken) return false;
  ibv_wc found[kBatch];
  const int count = own_.poll_cq(cq.device, kBatch, found);
  if (count < 0) cq.broken = true;
  for (int i = 0; i < count; ++i)
    take(cq, found[i]);
  return count > 0;
}

// A chain of tasks may go through queues that no thread of the program polls. With a single
// processor the progress thread would come to them only when the poller's time slice is over.
void DeviceTasks::look_around() {
  for (int i = 0; i < kLooksAround && !watched_.empty(); ++i)
    look(*watched_[next_look_++ % watched_.size()]);
}

void DeviceTasks::take(Cq& cq, const ibv_wc& wc) {
  const auto found = qps_by_number_.find(wc.qp_num);
  const bool is_marked = (wc.wr_id & kMarkMask) == mark_;
  Qp* const qp = found == qps_by_number_.end() ? nullptr : found->second;
  const Entry* const oldest =
      qp == nullptr || qp->send_cq != &cq ? nullptr : queues_.oldest_in_flight(qp->id);
  if (oldest != nullptr && wc.wr_id == (mark_ | (oldest->serial & ~kMarkMask))) {
    if (!oldest->signalled) {
      --cq.unasked;
      --qp->unasked;
    }
    current_ = &wc;
    queues_.sent(qp->id, static_cast<Status>(wc.status));
    current_ = nullptr;
    return;
  }
  if (is_marked) return;  // its queue pair has gone or was reset
  if (put(cq, wc)) queues_.counted(cq.id);
  if (qp != nullptr) queues_.received(qp->id, static_cast<Status>(wc.status));
}

bool DeviceTasks::put(Cq& cq, const ibv_wc& wc) {
  if (cq.broken) return false;
  if (cq.ready.size() >= cq.capacity) {
    cq.broken = true;
    return false;
  }
  cq.ready.push_back(wc);
  return true;
}

// After this no result is written for a queue pair that is gone: the program may use that memory
// for something else.
void DeviceTasks::drop_calculations(PairId pair) {
  std::erase_if(calculations_, [&](const Calculation& one) { return one.pair == pair; });
  std::unique_lock held(mutex_, std::adopt_lock);  // the caller holds it
  calculated_.wait(held, [&] { return calculating_ != pair; });
  held.release();
}

// Drops the completions that the queue pair left in completion queues that stay. They are not for
// the program any more.
void DeviceTasks::forget(Qp& qp) {
  drop_calculations(qp.id);
  const std::uint32_t number = qp.device->qp_num;
  for (Cq* const cq : {qp.send_cq, qp.recv_cq}) {
    if (cq == nullptr) continue;
    while (look(*cq)) {
    }
    std::erase_if(cq->ready, [&](const ibv_wc& wc) { return wc.qp_num == number; });
  }
  if (qp.send_cq != nullptr) qp.send_cq->unasked -= std::exchange(qp.unasked, 0);
}

void DeviceTasks::watch(CountId count, bool wanted) {
  const auto found = cqs_by_id_.find(count);
  if (found == cqs_by_id_.end()) return;
  Cq& cq = *found->second;
  cq.watched = wanted;
  std::erase(watched_, &cq);
  if (!wanted) return;
  watched_.push_back(&cq);
  if (!cq.armed) wanted_ = true;
}

void DeviceTasks::go_on() {
  if (queues_.run(kStepsAtOnce)) wanted_ = true;
  if (wanted_ && !serving_) wake();
}

void DeviceTasks::wake() {
  serving_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(wake_.get(), &one, sizeof one);
}

int DeviceTasks::poll_cq(ibv_cq* device, int count, ibv_wc* completions) {
  Cq* const cq = find(device);
  if (cq == nullptr) return own_.poll_cq(device, count, completions);
  bool is_thread_at_work = false;
  int filled = 0;
  {
    const Turn turn(*this);
    if (cq->ready.size() < static_cast<std::size_t>(std::max(count, 0))) {
      look(*cq);
      go_on();
    }
    if (cq->ready.empty() && count > 0) {
      look_around();
      go_on();
      look(*cq);
    }
    for (; filled < count && !cq->ready.empty(); ++filled) {
      completions[filled] = cq->ready.front();
      cq->ready.pop_front();
    }
    if (filled == 0 && count > 0 && cq->broken) {
      errno = EIO;
      return -1;
    }
    is_thread_at_work = !calculations_.empty();
  }
  if (filled == 0 && is_thread_at_work) ::sched_yield();
  return filled;
}

// There is no completion channel, so there is no event to ask for.
int DeviceTasks::req_notify_cq(ibv_cq* device, int solicited_only) {
  return find(device) == nullptr ? own_.req_notify_cq(device, solicited_only) : 0;
}

}  // namespace scela::hca::progress
