#include "hca/core/queues/scheduler.h"

namespace scela::hca {

void Scheduler::wait_until(Qp& qp, std::optional<Moment> moment) {
  if (qp.until) timers_.erase({*qp.until, qp.handle});
  qp.until = moment;
  if (moment) timers_.insert({*moment, qp.handle});
}

void Scheduler::set_limit(Qp& qp, std::optional<Moment> moment) {
  if (qp.patience && qp.patience != qp.until) timers_.erase({*qp.patience, qp.handle});
  qp.patience = moment;
  if (moment) timers_.insert({*moment, qp.handle});
}

void Scheduler::run_first_timer() {
  const std::uint32_t number = timers_.begin()->second;
  timers_.erase(timers_.begin());
  if (Qp* const qp = objects_.find<Qp>(number)) schedule(*qp);
}

std::optional<Moment> Scheduler::next_timer() const {
  return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first);
}

}  // namespace scela::hca
