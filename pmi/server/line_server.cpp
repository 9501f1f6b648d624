#include "pmi/server/line_server.h"

#include <utility>

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

void LineServer::answered(RequestId id, const Answer& answer) {
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

std::optional<Request> LineServer::next() {
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
  while (auto request = next()) {
    broken_ = broken_ || std::holds_alternative<ask::Abort>(*request) ||
              std::holds_alternative<ask::Violation>(*request);
    services_.submit(rank_, next_id_++, std::move(*request));
  }
  pumping_ = false;
}

}  // namespace scela::pmi
