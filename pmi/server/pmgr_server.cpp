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

void PmgrServer::answered(ask::RequestId id, const ask::Response& answer) {
  if (broken_ || id != outstanding_) return;
  outstanding_ = 0;
  session_->answer(answer);
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
                   [&](ask::Request& asked) { submit(std::move(asked)); },
                   [&](HangUp&) { hangs_up_ = true; },
               },
               *request);
  }
  pumping_ = false;
}

void PmgrServer::submit(ask::Request request) {
  if (std::holds_alternative<ask::Collective>(request)) {
    outstanding_ = next_id_++;
    services_.submit(rank_, outstanding_, std::move(request));
  } else {
    broken_ = true;
    services_.submit(rank_, 0, std::move(request));
  }
}

}  // namespace scela::pmi
