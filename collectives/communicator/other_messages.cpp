#include "collectives/communicator/other_messages.h"

#include <mutex>
#include <set>

namespace scela::collectives {

namespace {

std::mutex in_use_mutex;

std::set<const PointToPoint*>& in_use() {
  static std::set<const PointToPoint*> all;
  return all;
}

class OtherMessages final : public Transport {
 public:
  explicit OtherMessages(PointToPoint& messages) : messages_(messages) {}

  Ticket send(int peer, Route route, std::span<const std::byte> bytes) override {
    return messages_.send(peer, route_of(route), bytes);
  }
  Ticket receive(int peer, Route route, std::span<std::byte> bytes) override {
    return messages_.receive(peer, route_of(route), bytes);
  }
  Outcome test(Ticket ticket) override {
    const PointToPoint::Outcome state = messages_.test(ticket);
    Outcome outcome;
    outcome.over = state.over;
    outcome.bytes = state.bytes;
    if (state.over && !state.status.ok() && state.status.code() != Code::truncated)
      outcome.fault = std::make_shared<const Fault>(
          Fault{fault_code_of(state.status.code()), state.status.rank(), state.status.message()});
    return outcome;
  }
  bool wait_any(std::span<const Ticket> tickets, Timeout limit) override {
    return messages_.wait_any(tickets, limit);
  }
  void wake() override { messages_.wake(); }
  void cancel(Ticket ticket) override { messages_.cancel(ticket); }
  std::span<const int> ended() override { return messages_.exited(); }
  std::uint32_t tags() const override { return messages_.tags(); }

 private:
  // An agreement's route names its communicator by the tag (beside()).
  PointToPoint::Route route_of(Route route) const {
    const auto context = static_cast<std::uint32_t>(route.context);
    return {context == kAgreementContext ? messages_.contexts() : context,
            static_cast<std::uint32_t>(route.context >> 32), route.tag};
  }

  PointToPoint& messages_;
};

}  // namespace

bool take_messages(const PointToPoint& messages) {
  const std::lock_guard lock(in_use_mutex);
  return in_use().insert(&messages).second;
}

void give_messages_back(const PointToPoint& messages) {
  const std::lock_guard lock(in_use_mutex);
  in_use().erase(&messages);
}

std::unique_ptr<Transport> make_transport_over(PointToPoint& messages) {
  return std::make_unique<OtherMessages>(messages);
}

}  // namespace scela::collectives
