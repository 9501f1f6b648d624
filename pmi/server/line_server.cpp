#include "pmi/server/line_server.h"

#include <utility>

#include "common/core/overloaded.h"

namespace scela::pmi {

LineServer::LineServer(JobServices& services, Rank rank)
    : services_(services), rank_(rank), pmi1_(services.facts(rank)) {}

void LineServer::receive(std::string_view bytes) {
  if (closed_ || broken_) return;
  if (pmi2_) {
    pmi2_->receive(bytes);
  } else {
    pmi1_.receive(bytes);
  }
  pump();
}

void LineServer::answered(ask::RequestId id, const ask::Response& answer) {
  if (closed_ || broken_) return;
  if (pmi2_) {
    pmi2_->answer(id, answer);
  } else {
    pmi1_.answer(id, answer);
  }
  pump();
}

void LineServer::closed() {
  closed_ = true;
}

std::vector<Chunk> LineServer::take_chunks() {
  std::string output = take_output();
  if (output.empty()) return {};
  return {Chunk(std::move(output))};
}

std::string LineServer::take_output() {
  std::string output = pmi1_.take_output();
  if (pmi2_) output += pmi2_->take_output();
  return output;
}

std::optional<SessionRequest> LineServer::next() {
  if (!pmi2_) {
    if (auto request = pmi1_.next()) return request;
    const auto rest = pmi1_.handed_over();
    if (!rest) return std::nullopt;
    pmi2_.emplace(services_.facts(rank_));
    pmi2_->receive(*rest);
  }
  return pmi2_->next();
}

void LineServer::pump() {
  // If a service answers from within the call below, the nested pump() returns at once, and the
  // outer loop goes on.
  if (pumping_) return;
  pumping_ = true;
  while (auto request = next())
    submit(std::move(*request));
  pumping_ = false;
}

void LineServer::submit(SessionRequest request) {
  const ask::RequestId id = next_id_++;
  std::visit(Overloaded{
                 [&](ask::Request& asked) {
                   broken_ = broken_ || std::holds_alternative<ask::Abort>(asked) ||
                             std::holds_alternative<ask::Violation>(asked);
                   services_.submit(rank_, id, std::move(asked));
                 },
                 [&](SegmentRequest&) {
                   answer_now(id, services_.offer_segment(rank_), "there is no shared memory");
                 },
                 [&](RingRequest&) {
                   answer_now(id, services_.lend_ring(rank_), "this connection is all there is");
                 },
                 [&](LeftRequest& left) {
                   answered(id, {.found = services_.has_left(rank_, left.about)});
                 },
             },
             request);
}

void LineServer::answer_now(ask::RequestId id, bool ok, std::string why) {
  ask::Response answer{.ok = ok};
  if (!ok) answer.error = std::move(why);
  answered(id, answer);
}

}  // namespace scela::pmi
