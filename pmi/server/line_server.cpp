#include "pmi/server/line_server.h"

#include <utility>

namespace scela::pmi {

namespace {
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;
}  // namespace

LineServer::LineServer(JobServices& services, Rank rank)
    : services_(services), rank_(rank), session_(services.facts(rank)) {}

void LineServer::receive(std::string_view bytes) {
  if (closed_ || broken_) return;
  session_.receive(bytes);
  pump();
}

void LineServer::answered(RequestId id, const Answer& answer) {
  if (closed_ || broken_ || id != outstanding_) return;
  outstanding_ = 0;
  session_.answer(answer);
  pump();
}

void LineServer::closed() {
  closed_ = true;
}

void LineServer::pump() {
  // An answer given from within the call below comes back here; the outer loop goes on with it.
  if (pumping_) return;
  pumping_ = true;
  while (auto request = session_.next()) {
    const RequestId id = next_id_++;
    std::visit(Overloaded{
                   [&](ask::Put& put) {
                     outstanding_ = id;
                     services_.put(rank_, id, std::move(put.key), std::move(put.value));
                   },
                   [&](ask::Get& get) {
                     outstanding_ = id;
                     services_.get(rank_, id, std::move(get.key), false);
                   },
                   [&](ask::Fence&) {
                     outstanding_ = id;
                     services_.fence(rank_, id);
                   },
                   [&](ask::Abort& abort) {
                     broken_ = true;
                     services_.abort(rank_, abort.code, std::move(abort.message));
                   },
                   [&](ask::Violation& violation) {
                     broken_ = true;
                     services_.violation(rank_, std::move(violation.why));
                   },
               },
               *request);
  }
  pumping_ = false;
}

}  // namespace scela::pmi
