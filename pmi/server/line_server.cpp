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
  while (auto request = next())
    pass_on(next_id_++, *request);
  pumping_ = false;
}

void LineServer::pass_on(RequestId id, Request& request) {
  std::visit(
      Overloaded{
          [&](ask::Put& put) {
            services_.put(rank_, id, std::move(put.key), std::move(put.value));
          },
          [&](ask::Get& get) { services_.get(rank_, id, std::move(get.key), false); },
          [&](ask::Fence&) { services_.fence(rank_, id); },
          [&](ask::GroupFence& fence) {
            services_.group_fence(rank_, id, std::move(fence.group), fence.tag);
          },
          [&](ask::Exchange& exchange) {
            services_.exchange(rank_, id, std::move(exchange.bytes));
          },
          [&](ask::PutNode& put) {
            services_.put_node(rank_, id, std::move(put.key), std::move(put.value));
          },
          [&](ask::GetNode& get) { services_.get_node(rank_, id, std::move(get.key), get.wait); },
          [&](ask::Publish& publish) {
            services_.publish(rank_, id, std::move(publish.name), std::move(publish.port));
          },
          [&](ask::Lookup& lookup) { services_.lookup(rank_, id, std::move(lookup.name)); },
          [&](ask::Unpublish& gone) { services_.unpublish(rank_, id, std::move(gone.name)); },
          [&](ask::Failed&) { services_.failed(rank_, id); },
          [&](ask::Spawn& spawn) { services_.spawn(rank_, id, std::move(spawn)); },
          [&](ask::Segment&) { services_.segment(rank_, id); },
          [&](ask::Ring&) { services_.ring(rank_, id); },
          [&](ask::Left& left) { services_.left(rank_, id, left.about); },
          [&](ask::Abort& abort) {
            broken_ = true;
            services_.abort(rank_, abort.code, std::move(abort.message));
          },
          [&](ask::Violation& violation) {
            broken_ = true;
            services_.violation(rank_, std::move(violation.why));
          },
      },
      request);
}

}  // namespace scela::pmi
