#include "comm-channel/messenger/send_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::channel {

namespace {

// The bytes of a fragment. It is short enough that both sides move most of a message at once. It is
// long enough that publishing a fragment costs little beside it.
constexpr std::size_t kFragment = 2048;

bool is_agreement(Kind kind) {
  return kind == Kind::open || kind == Kind::opened || kind == Kind::begin ||
         kind == Kind::recall || kind == Kind::left || kind == Kind::closed;
}

}  // namespace

SendQueue::SendQueue(const ChannelOptions& options, Peers& peers, Transports& transports,
                     PieceSender& pieces)
    : options_(options),
      peers_(peers),
      transports_(transports),
      pieces_(pieces),
      queues_(static_cast<std::size_t>(peers.size())) {}

bool SendQueue::send_small(int to, int tag, std::span<const std::byte> bytes, Context context) {
  Header header;
  header.context = context;
  header.tag = tag;
  header.source = peers_.own_rank();
  header.length = static_cast<std::uint32_t>(bytes.size());
  if (!transports_.node()->send_small(peers_.local_number(to), shm::Header{words_of(header)},
                                      bytes))
    return false;
  peers_.count_sent(to, bytes.size());
  return true;
}

// ---- what is sent ----

void SendQueue::enqueue_eager(Operation& send) {
  Header header;
  header.context = send.context;
  header.tag = send.tag;
  if (send.synchronous) {
    header.flags = flag::kSynchronous;
    header.number = send.number;
  }
  const int rank = send.peer;
  const bool is_whole = peers_.is_local(rank) && send.length <= options_.eager.shm;
  const bool is_next = is_whole && queues(rank).ordered.empty();
  if (is_next && send_whole(send, header)) return;  // most messages on a node
  Entry entry;
  entry.operation = &send;
  entry.header = header;
  if (is_next)
    append(rank, queues(rank).ordered, entry);
  else
    enqueue(rank, entry);
}

void SendQueue::enqueue_control(int rank, Kind kind, std::uint32_t number,
                                std::span<const std::byte> body, const Operation* of) {
  Entry entry;
  entry.header.kind = kind;
  entry.header.number = number;
  if (of != nullptr) {
    entry.header.context = of->context;
    entry.header.tag = of->tag;
  }
  if (body.size() > entry.body.size()) {
    entry.longer = std::make_shared<const std::vector<std::byte>>(body.begin(), body.end());
  } else {
    std::memcpy(entry.body.data(), body.data(), body.size());
    entry.body_length = static_cast<std::uint8_t>(body.size());
  }
  enqueue(rank, entry);
}

void SendQueue::enqueue_control(int rank, const Header& header, std::vector<std::byte> body) {
  Entry entry;
  entry.header = header;
  entry.longer = std::make_shared<const std::vector<std::byte>>(std::move(body));
  enqueue(rank, entry);
}

void SendQueue::enqueue_move(Operation& operation, const Step& step) {
  Entry entry;
  entry.operation = &operation;
  entry.act = step.act;
  entry.step = step;
  entry.header.kind = Kind::piece;
  entry.header.number = operation.theirs;
  enqueue(operation.peer, entry);
}

void SendQueue::enqueue(int rank, Entry& entry) {
  // An answer to a rank that has ended would wait here for ever, and delay the end of this process.
  if (peers_.has_ended(rank) && entry.operation == nullptr) return;
  Queues& to = queues(rank);
  const bool in_order = entry.act == Act::complete && is_in_order(entry.header.kind);
  std::deque<Entry>& queue = in_order ? to.ordered : to.answers;
  // On a node, sending a message causes nothing else, so it need not be queued for that.
  const bool is_local = peers_.is_local(rank);
  if (is_local && queue.empty() && try_send(rank, entry)) return;
  if (is_local) return append(rank, queue, entry);
  queue.push_back(entry);
  if (queue.size() == 1 && try_send(rank, queue.front())) queue.pop_front();
  note_waiting(rank, queue);
}

void SendQueue::append(int rank, std::deque<Entry>& queue, const Entry& entry) {
  queue.push_back(entry);
  note_waiting(rank, queue);
}

void SendQueue::note_waiting(int rank, const std::deque<Entry>& queue) {
  Queues& to = queues(rank);
  if (queue.empty() || to.waits) return;
  to.waits = true;
  busy_.push_back(rank);
}

// ---- sending ----

bool SendQueue::try_send(int rank, Entry& entry) {
  if (entry.act == Act::pieces) return pieces_.send_pieces(*entry.operation, entry.header);
  if (entry.act == Act::write || entry.act == Act::read) return start_move(rank, entry);
  if (entry.header.kind != Kind::eager) {
    const std::span<const std::byte> body(entry.body.data(), entry.body_length);
    return transports_.transmit(rank, entry.header, entry.longer ? *entry.longer : body);
  }
  if (peers_.is_local(rank) && entry.operation->length > options_.eager.shm)
    return send_fragments(rank, entry);
  return send_whole(*entry.operation, entry.header);
}

bool SendQueue::send_whole(Operation& send, const Header& header) {
  if (!transports_.transmit(send.peer, header, send.sent_bytes())) return false;
  peers_.count_sent(send.peer, send.length);
  if (send.number == 0) send.finish();
  return true;
}

// The receiver takes a fragment out of shared memory while the sender puts in the next. The
// fragments of a message are not mixed with other ordered messages to the rank, so a fragment needs
// no identification.
bool SendQueue::send_fragments(int rank, Entry& entry) {
  const std::span<const std::byte> bytes = entry.operation->sent_bytes();
  const std::size_t most = std::min(kFragment, transports_.node()->most());
  Header header = entry.header;
  header.number = static_cast<std::uint32_t>(bytes.size());
  while (entry.sent < bytes.size()) {
    header.kind = entry.sent == 0 ? Kind::first_part : Kind::part;
    const auto fragment = bytes.subspan(entry.sent, std::min(most, bytes.size() - entry.sent));
    if (!transports_.transmit(rank, header, fragment)) return false;
    entry.sent += fragment.size();
  }
  peers_.count_sent(rank, bytes.size());
  entry.operation->finish();
  return true;
}

bool SendQueue::start_move(int rank, Entry& entry) {
  Operation& operation = *entry.operation;
  const Step& step = entry.step;
  NetworkTraffic& network = *transports_.network();
  if (step.act == Act::write)
    return network.write(rank, operation, operation.sent_bytes().first(step.bytes), step.remote,
                         step.key);
  return network.read(rank, operation, operation.received_bytes().first(step.bytes), step.remote,
                      step.key);
}

bool SendQueue::drain(int rank, std::deque<Entry>& queue, bool& some) {
  while (!queue.empty() && try_send(rank, queue.front())) {
    queue.pop_front();
    some = true;
  }
  return queue.empty();
}

bool SendQueue::retry() {
  bool some = false;
  for (std::size_t i = 0; i < busy_.size();) {
    const int rank = busy_[i];
    Queues& to = queues(rank);
    const bool answered = drain(rank, to.answers, some);
    if (!drain(rank, to.ordered, some) || !answered) {
      ++i;
      continue;
    }
    to.waits = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
  return some;
}

bool SendQueue::owes() const {
  const auto owed = [](const Entry& one) { return !is_agreement(one.header.kind); };
  return std::ranges::any_of(busy_, [&](int rank) {
    const Queues& to = queues_[static_cast<std::size_t>(rank)];
    return std::ranges::any_of(to.ordered, owed) || std::ranges::any_of(to.answers, owed);
  });
}

// ---- what is not sent any more ----

void SendQueue::drop_pieces(int rank, const Operation& send) {
  std::erase_if(queues(rank).answers,
                [&](const Entry& one) { return one.operation == &send && one.act == Act::pieces; });
}

void SendQueue::drop_agreements() {
  for (Queues& to : queues_)
    for (std::deque<Entry>* const queue : {&to.ordered, &to.answers})
      std::erase_if(*queue, [](const Entry& one) {
        const Kind kind = one.header.kind;
        return is_agreement(kind) && kind != Kind::begin && kind != Kind::left;
      });
}

SendQueue::Unsent SendQueue::remove(int rank) {
  Queues& to = queues(rank);
  Unsent unsent;
  for (const Entry& one : to.ordered)
    if (one.operation != nullptr && one.operation->number == 0)
      unsent.sends.push_back(one.operation);
  for (const Entry& one : to.answers)
    if (one.act == Act::write || one.act == Act::read) unsent.moves.push_back(one.operation);
  to = {};
  std::erase(busy_, rank);
  return unsent;
}

}  // namespace scela::channel
