#include "nla/spawn/auth_gate.h"

#include <utility>

namespace scela::nla {

void AuthGate::enter(std::function<void(bool)> go) {
  if (closed_) return go(false);
  if (open_ || !std::exchange(trying_, true)) return go(true);
  waiting_.push_back(std::move(go));
}

void AuthGate::answer(bool accepted) {
  if (open_ || closed_) return;
  (accepted ? open_ : closed_) = true;
  release(accepted);
}

void AuthGate::left() {
  if (open_ || closed_ || !std::exchange(trying_, false) || waiting_.empty()) return;
  trying_ = true;
  auto next = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  next(true);
}

void AuthGate::release(bool go) {
  for (auto& one : std::exchange(waiting_, {}))
    one(go);
}

}  // namespace scela::nla
