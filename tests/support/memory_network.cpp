#include "tests/support/memory_network.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::collectives::test {

namespace {
constexpr std::byte kScribble{0x5E};
}  // namespace

class MemoryTransport final : public Transport {
 public:
  MemoryTransport(MemoryNetwork& network, int rank) : network_(network), rank_(rank) {}

  Ticket send(int peer, Route route, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(network_.mutex_);
    return keep(network_.begin({rank_, peer, route.context, route.tag}, true, bytes, {}));
  }
  Ticket receive(int peer, Route route, std::span<std::byte> bytes) override {
    const std::lock_guard lock(network_.mutex_);
    return keep(network_.begin({peer, rank_, route.context, route.tag}, false, {}, bytes));
  }
  // Takes what was sent, and never waits.
  Outcome take(int peer, Route route, std::span<std::byte> bytes) override {
    const std::lock_guard lock(network_.mutex_);
    const MemoryNetwork::Key key{peer, rank_, route.context, route.tag};
    if (!network_.was_sent(key) && !network_.fault_of(rank_, key)) return {};
    const std::unique_ptr<MemoryNetwork::End> end(network_.begin(key, false, {}, bytes));
    while (!end->over)
      network_.deliver_one();
    return {true, end->bytes, end->fault};
  }
  Outcome test(Ticket ticket) override {
    const std::lock_guard lock(network_.mutex_);
    if (network_.delivers_) network_.deliver_one();
    std::unique_ptr<MemoryNetwork::End>& end = ends_[ticket];
    if (!end->over) return {};
    Outcome outcome{true, end->bytes, end->fault};
    end.reset();
    return outcome;
  }
  bool wait_any(std::span<const Ticket> tickets, Timeout limit) override {
    std::unique_lock lock(network_.mutex_);
    const auto until = std::chrono::steady_clock::now() + limit.value_or(std::chrono::hours(1));
    for (;;) {
      if (std::exchange(woken_, false)) return true;
      for (const Ticket ticket : tickets)
        if (ends_[ticket]->over) return true;
      if (!network_.given_up_[static_cast<std::size_t>(rank_)].empty() || look()) return true;
      if (network_.delivers_ && network_.deliver_one()) continue;
      if (network_.changed_.wait_until(lock, until) == std::cv_status::timeout) return false;
    }
  }
  void wake() override {
    const std::lock_guard lock(network_.mutex_);
    woken_ = true;
    network_.changed_.notify_all();
  }
  void cancel(Ticket ticket) override {
    const std::lock_guard lock(network_.mutex_);
    std::unique_ptr<MemoryNetwork::End> end = std::move(ends_[ticket]);
    if (!end->over) network_.drop(*end->message);
  }
  std::uint32_t tags() const override { return 1u << 16; }
  std::span<const int> ended() override {
    const std::lock_guard lock(network_.mutex_);
    look();
    return ended_;
  }
  void lost(int peer) override { network_.tell(rank_, peer); }
  void give_up(std::span<const int> peers, const AbortedContext& what) override {
    const std::lock_guard lock(network_.mutex_);
    if (network_.dead_[static_cast<std::size_t>(rank_)]) return;
    for (const int peer : peers)
      if (peer != rank_) network_.given_up_[static_cast<std::size_t>(peer)].push_back(what);
    network_.changed_.notify_all();
  }
  std::optional<AbortedContext> given_up() override {
    const std::lock_guard lock(network_.mutex_);
    std::vector<AbortedContext>& all = network_.given_up_[static_cast<std::size_t>(rank_)];
    if (all.empty()) return std::nullopt;
    const AbortedContext what = all.front();
    all.erase(all.begin());
    return what;
  }
  void withdraw(Ticket ticket) override {
    const std::lock_guard lock(network_.mutex_);
    MemoryNetwork::End& end = *ends_[ticket];
    if (end.over || end.message->is_sent) return;
    network_.drop(*end.message);
    end.over = true;
    end.fault = std::make_shared<const Fault>(Fault{FaultCode::cancelled, -1, "withdrawn"});
  }
  void drop(ContextId context) override {
    const std::lock_guard lock(network_.mutex_);
    network_.drop_context(rank_, context);
  }

 private:
  bool look() {
    const std::size_t before = ended_.size();
    for (std::size_t rank = 0; rank < network_.dead_.size(); ++rank)
      if (network_.dead_[rank] && network_.hears_of(rank_, static_cast<int>(rank)) &&
          std::find(ended_.begin(), ended_.end(), static_cast<int>(rank)) == ended_.end())
        ended_.push_back(static_cast<int>(rank));
    return ended_.size() != before;
  }

  Ticket keep(MemoryNetwork::End* end) {
    const auto free = std::find(ends_.begin(), ends_.end(), nullptr);
    const auto ticket = static_cast<Ticket>(free - ends_.begin());
    if (free == ends_.end()) ends_.emplace_back();
    ends_[ticket].reset(end);
    return ticket;
  }

  MemoryNetwork& network_;
  const int rank_;
  std::vector<std::unique_ptr<MemoryNetwork::End>> ends_;
  std::vector<int> ended_;
  bool woken_ = false;
};

MemoryNetwork::MemoryNetwork(int ranks, std::uint64_t seed)
    : random_(seed),
      dead_(static_cast<std::size_t>(ranks), false),
      messages_left_(static_cast<std::size_t>(ranks), 0),
      next_fault_(static_cast<std::size_t>(ranks)),
      given_up_(static_cast<std::size_t>(ranks)) {}

MemoryNetwork::~MemoryNetwork() = default;

std::unique_ptr<Transport> MemoryNetwork::transport(int rank) {
  return std::make_unique<MemoryTransport>(*this, rank);
}

bool MemoryNetwork::deliver() {
  const std::lock_guard lock(mutex_);
  return deliver_one();
}

void MemoryNetwork::end(End*& end, std::uint64_t bytes, std::shared_ptr<const Fault> fault) {
  if (end == nullptr) return;
  end->over = true;
  end->bytes = bytes;
  end->fault = std::move(fault);
  end = nullptr;
}

std::shared_ptr<const Fault> MemoryNetwork::fault_of(int asker, const Key& key) const {
  int peer = key.from == asker ? key.to : key.from;
  if (dead_[static_cast<std::size_t>(asker)]) peer = asker;
  if (!dead_[static_cast<std::size_t>(peer)] || !hears_of(asker, peer)) return nullptr;
  return std::make_shared<const Fault>(Fault{FaultCode::peer_ended, peer, "it was killed"});
}

bool MemoryNetwork::was_sent(const Key& key) const {
  const auto sent = waiting_.find(key);
  return sent != waiting_.end() && !sent->second.empty() && sent->second.front()->is_sent;
}

MemoryNetwork::End* MemoryNetwork::begin(Key key, bool is_send, std::span<const std::byte> from,
                                         std::span<std::byte> to) {
  ++begun_;
  auto* const end_of = new End;  // its transport owns it
  const int asker = is_send ? key.from : key.to;
  int& left = messages_left_[static_cast<std::size_t>(asker)];
  if (left != 0 && --left == 0) kill_now(asker);
  std::shared_ptr<const Fault> fault =
      std::exchange(next_fault_[static_cast<std::size_t>(asker)], nullptr);
  std::fill(to.begin(), to.end(), kScribble);
  const bool has_come = !is_send && was_sent(key);
  if (std::shared_ptr<const Fault> dead = has_come ? nullptr : fault_of(asker, key)) {
    end_of->over = true;
    end_of->fault = std::move(dead);
    return end_of;
  }
  std::deque<std::unique_ptr<Message>>& queue = waiting_[key];
  if (is_send && dropped_.contains({key.to, key.context}) &&
      (queue.empty() || queue.front()->is_sent)) {
    end_of->over = true;
    return end_of;
  }
  const bool meets = !queue.empty() && (is_send ? !queue.front()->is_sent : queue.front()->is_sent);
  if (!meets) {
    queue.push_back(std::make_unique<Message>());
    queue.back()->key = key;
  }
  Message& message = meets ? *queue.front() : *queue.back();
  end_of->message = &message;
  if (fault) message.fault = std::move(fault);
  if (is_send) {
    message.is_sent = true;
    message.send = end_of;
    message.from = from;
    if (random_.chance(1, 2)) {
      message.copied = true;
      message.copy.assign(from.begin(), from.end());
      message.from = message.copy;
      if (!message.fault) end(message.send, 0, nullptr);
    }
  } else {
    message.is_received = true;
    message.receive = end_of;
    message.to = to;
  }
  if (meets) {
    met_.push_back(std::move(queue.front()));
    queue.pop_front();
    changed_.notify_all();
  }
  return end_of;
}

bool MemoryNetwork::deliver_one() {
  if (met_.empty()) return false;
  std::swap(met_[random_.below(met_.size())], met_.back());
  const std::unique_ptr<Message> message = std::move(met_.back());
  met_.pop_back();
  if (!message->fault && message->receive != nullptr)
    std::copy_n(message->from.begin(), std::min(message->from.size(), message->to.size()),
                message->to.begin());
  end(message->send, 0, message->fault);
  end(message->receive, message->from.size(), message->fault);
  changed_.notify_all();
  return true;
}

// One end of the message was cancelled. Its other end waits for something that does not come.
void MemoryNetwork::drop(Message& message) {
  std::erase_if(met_, [&](const std::unique_ptr<Message>& one) {
    if (one.get() != &message) return false;
    const auto fault =
        std::make_shared<const Fault>(Fault{FaultCode::cancelled, -1, "the other end is gone"});
    end(message.send, 0, fault);
    end(message.receive, 0, fault);
    return true;
  });
  for (auto& [key, queue] : waiting_)
    std::erase_if(queue,
                  [&](const std::unique_ptr<Message>& one) { return one.get() == &message; });
  changed_.notify_all();
}

void MemoryNetwork::drop_context(int rank, ContextId context) {
  dropped_.insert({rank, context});
  for (auto& [key, queue] : waiting_) {
    if (key.to != rank || key.context != context) continue;
    std::erase_if(queue, [](const std::unique_ptr<Message>& one) {
      if (one->is_received) return false;
      end(one->send, 0, nullptr);
      return true;
    });
  }
  changed_.notify_all();
}

void MemoryNetwork::kill_after(int rank, int messages) {
  const std::lock_guard lock(mutex_);
  messages_left_[static_cast<std::size_t>(rank)] = messages;
}

void MemoryNetwork::kill(int rank) {
  const std::lock_guard lock(mutex_);
  kill_now(rank);
}

void MemoryNetwork::leave(int rank) {
  const std::lock_guard lock(mutex_);
  leave_now(rank);
}

void MemoryNetwork::leave_now(int rank) {
  while (deliver_one()) {
  }
  std::map<Key, std::deque<std::unique_ptr<Message>>> sent;
  for (auto& [key, queue] : waiting_)
    if (key.from == rank && !queue.empty() && queue.front()->is_sent)
      sent.emplace(key, std::exchange(queue, {}));
  kill_now(rank);
  for (auto& [key, queue] : sent)
    waiting_[key] = std::move(queue);
}

void MemoryNetwork::leave_unheard(int rank, std::span<const int> by) {
  const std::lock_guard lock(mutex_);
  for (const int other : by)
    unheard_.insert({other, rank});
  leave_now(rank);
}

void MemoryNetwork::tell(int rank, int of_dead) {
  const std::lock_guard lock(mutex_);
  if (unheard_.erase({rank, of_dead}) != 0) end_all(of_dead, rank);
}

void MemoryNetwork::kill_now(int rank) {
  dead_[static_cast<std::size_t>(rank)] = true;
  for (int other = 0; other < static_cast<int>(dead_.size()); ++other)
    hears_of(other, rank) ? end_all(rank, other) : end_own(rank, other);
}

// The operations that the dead rank has begun are gone, but what it has sent is still there.
void MemoryNetwork::end_own(int rank, int other) {
  const auto leave = [&](Message& message) {
    const std::shared_ptr<const Fault> fault = fault_of(rank, message.key);
    if (message.key.from == rank && message.is_sent && !message.copied) {
      message.copied = true;
      message.copy.assign(message.from.begin(), message.from.end());
      message.from = message.copy;
    }
    end(message.key.from == rank ? message.send : message.receive, 0, fault);
  };
  for (const std::unique_ptr<Message>& message : met_)
    if (is_between(*message, rank, other)) leave(*message);
  for (auto& [key, queue] : waiting_)
    std::erase_if(queue, [&](const std::unique_ptr<Message>& one) {
      if (!is_between(*one, rank, other)) return false;
      leave(*one);
      return one->key.to == rank && !one->is_sent;
    });
}

bool MemoryNetwork::is_between(const Message& message, int one, int other) {
  const Key& key = message.key;
  return (key.from == one && key.to == other) || (key.from == other && key.to == one);
}

// Ends all messages of the dead rank with the other one.
void MemoryNetwork::end_all(int rank, int other) {
  const auto ends = [&](Message& message) {
    if (!is_between(message, rank, other)) return false;
    const std::shared_ptr<const Fault> fault = fault_of(other, message.key);
    end(message.send, 0, fault);
    end(message.receive, 0, fault);
    return true;
  };
  std::erase_if(met_, [&](const std::unique_ptr<Message>& one) { return ends(*one); });
  for (auto& [key, queue] : waiting_)
    std::erase_if(queue, [&](const std::unique_ptr<Message>& one) { return ends(*one); });
  changed_.notify_all();
}

void MemoryNetwork::fail_next(int rank, FaultCode code) {
  const std::lock_guard lock(mutex_);
  next_fault_[static_cast<std::size_t>(rank)] =
      std::make_shared<const Fault>(Fault{code, -1, "it was told to fail"});
}

std::uint64_t MemoryNetwork::begun() {
  const std::lock_guard lock(mutex_);
  return begun_;
}

std::size_t MemoryNetwork::under_way() {
  const std::lock_guard lock(mutex_);
  std::size_t count = met_.size();
  for (const auto& [key, queue] : waiting_)
    count += queue.size();
  return count;
}

}  // namespace scela::collectives::test
