#include "hca/core/queues/fault_injector.h"

namespace scela::hca {

bool FaultInjector::may_begin_request(Moment now) {
  has_died_ = faults_.dies_after != 0 && begun_ == faults_.dies_after;
  if (has_died_) return false;
  ++begun_;
  rests_until_ = now + Moment{faults_.slow_us} * 1000;
  return true;
}

}  // namespace scela::hca
