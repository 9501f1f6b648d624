#include "pmi/server/pmgr_server.h"

#include <utility>

#include "common/core/overloaded.h"

namespace scela::pmi {

void PmgrServer::receive(std::string_view bytes) {
  if (closed_ || broken_ || hangs_up_) return;
  began_ = true;
  session_->receive(bytes);
  pump();
}

void PmgrServer::collected(RequestId id, const Collected& result) {
  if (broken_ || id != outstanding_) return;
  outstanding_ = 0;
  session_->answer(result);
  pump();
}

// A client that has sent CLOSE is gone before the others are. A result that comes later may still
// show that the ranks disagree.
void PmgrServer::pump() {
  // If a service answers from within the call below, the nested pump() returns at once, and the
  // outer loop goes on.
  if (pumping_) return;
  pumping_ = true;
  while (auto request = session_->next()) {
    std::visit(Overloaded{
                   [&](Collective& call) {
                     outstanding_ = next_id_++;
                     services_.collective(rank_, outstanding_, std::move(call));
                   },
                   [&](pmgr::Abort& abort) {
                     broken_ = true;
                     services_.submit(rank_, 0, ask::Abort{abort.code, {}});
                   },
                   [&](pmgr::Violation& violation) {
                     broken_ = true;
                     services_.submit(rank_, 0, ask::Violation{std::move(violation.why)});
                   },
                   [&](pmgr::HangUp&) { hangs_up_ = true; },
               },
               *request);
  }
  pumping_ = false;
}

}  // namespace scela::pmi
