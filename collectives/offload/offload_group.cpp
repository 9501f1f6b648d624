#include "collectives/offload/offload_group.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "collectives/offload/factory.h"
#include "common/core/text.h"

namespace scela::collectives {

namespace {

constexpr std::uint64_t kMagic = 0x5ce1'a000'c0de'f418;
// The adapter may know that a peer is gone before the transport knows the rank at fault. The group
// waits so long for the news.
constexpr std::chrono::seconds kNews(3);

std::span<std::byte> bytes_of(EngineWord& word) {
  return std::as_writable_bytes(std::span(&word, 1));
}

EngineWord word_of(const Fault& fault, int own) {
  EngineWord word;
  word.magic = kMagic;
  word.is_fault = 1;
  word.rank = fault.rank < 0 ? own : fault.rank;
  word.code = static_cast<std::uint8_t>(fault.code);
  word.refusal = static_cast<std::uint8_t>(fault.refusal);
  return word;
}

// Returns the mark of an operation: its kind, and the lowest 16 bits of its number.
std::uint32_t mark_of(const Run& run) {
  return std::uint32_t{run.kind()} << 16 | (run.number() & 0xffff);
}

}  // namespace

// ---- messages without a waiting caller ----

Parting::~Parting() {
  for (const Message& message : messages_)
    if (!transport_.test(message.ticket).over) transport_.cancel(message.ticket);
}

void Parting::send(int peer, Route route, const EngineWord& word) {
  Message message;
  message.word = std::make_unique<EngineWord>(word);
  message.ticket = transport_.send(peer, route, bytes_of(*message.word));
  messages_.push_back(std::move(message));
}

void Parting::sweep() {
  std::erase_if(messages_,
                [this](const Message& message) { return transport_.test(message.ticket).over; });
}

// ---- one communicator ----

OffloadGroup::OffloadGroup(Adapter& adapter, Transport& transport, Parting& parting,
                           ContextId context)
    : adapter_(adapter), transport_(transport), parting_(parting), context_(context) {}

OffloadGroup::~OffloadGroup() {
  for (auto& [rank, peer] : peers_) {
    if (peer.sends) transport_.cancel(peer.sent);
    if (peer.receives) transport_.cancel(peer.received);
    if (peer.watches) transport_.cancel(peer.watch);
  }
}

Route OffloadGroup::route(bool watch) const {
  return beside(context_, watch ? kEngineNoteContext : kEngineContext);
}

int OffloadGroup::transport_rank(const Run& run, int peer) const {
  const std::span<const int> peers = run.call().peers;
  return peers.empty() ? peer : peers[static_cast<std::size_t>(peer)];
}

bool OffloadGroup::has(const Run& run) const {
  return std::ranges::any_of(runs_, [&](const auto& started) { return started->run == &run; });
}

void OffloadGroup::start(Run& run) {
  run.begin_elsewhere();
  std::unique_ptr<Started> started;
  if (spare_.empty()) {
    started = std::make_unique<Started>();
  } else {
    started = std::move(spare_.back());
    spare_.pop_back();
  }
  started->run = &run;
  ++posted_.all;
  if (ranks_.empty()) ranks_.assign(run.call().peers.begin(), run.call().peers.end());
  started->made = templates_.of(run);
  for (const Space space : {Space::input, Space::output, Space::scratch})
    started->memory[static_cast<std::size_t>(space)] = run.space(space);
  runs_.push_back(std::move(started));
  advance();
}

void OffloadGroup::give_up(Fault why) {
  told_all_ = true;  // the rank that found it has told all
  break_off(std::move(why));
  end_all();
}

std::optional<AbortedContext> OffloadGroup::word_to_all() {
  if (!broken_ || broken_->code != FaultCode::mismatch || std::exchange(told_all_, true))
    return std::nullopt;
  AbortedContext what;
  what.context = context_;
  what.rank = broken_->rank;
  what.refusal = Refusal::other;
  return what;
}

void OffloadGroup::cancel(Run& run, Fault why) {
  if (has(run)) break_off(std::move(why));
}

// ---- connecting ----

bool OffloadGroup::connects(std::vector<Transport::Ticket>& tickets) const {
  const std::size_t before = tickets.size();
  if (runs_.empty()) return false;
  for (const auto& [rank, peer] : peers_) {
    if (peer.sends) tickets.push_back(peer.sent);
    if (peer.receives) tickets.push_back(peer.received);
  }
  return tickets.size() != before;
}

// Connects the peers of a run's list. Returns true if all of them are ready.
bool OffloadGroup::connect(const Started& started) {
  bool all = true;
  for (const int listed : started.plan().peers) {
    const int rank = transport_rank(*started.run, listed);
    all = connect(rank, peers_[rank]) && all;
    if (broken_) return false;
  }
  return all;
}

bool OffloadGroup::connect(int rank, Peer& peer) {
  if (peer.stage == Stage::up) return true;
  if (peer.stage == Stage::unknown) greet(rank, peer);
  if (broken_ || !heard(rank, peer)) return false;
  if (peer.stage == Stage::greeting) {
    QueueEnd end;
    end.gid = peer.from.gid;
    end.out = peer.from.out;
    end.in = peer.from.in;
    end.tell = peer.from.tell;
    end.first_packet = peer.from.first_packet;
    end.lid = peer.from.lid;
    end.mtu = peer.from.mtu;
    if (const auto done = queues_->connect(rank, end); !done) {
      break_off({FaultCode::resources, -1, done.error().text()});
      return false;
    }
    EngineWord ready;
    ready.magic = kMagic;
    peer.stage = Stage::readying;
    say(rank, peer, ready);
    if (!heard(rank, peer)) return false;
  }
  peer.stage = Stage::up;
  peer.watch = transport_.receive(rank, route(true), bytes_of(peer.note));
  peer.watches = true;
  return true;
}

void OffloadGroup::greet(int rank, Peer& peer) {
  if (const auto added = queues_->add(rank); !added)
    return break_off({FaultCode::resources, -1, added.error().text()});
  const QueueEnd end = queues_->end_of(rank);
  EngineWord hello;
  hello.magic = kMagic;
  hello.gid = end.gid;
  hello.out = end.out;
  hello.in = end.in;
  hello.tell = end.tell;
  hello.first_packet = end.first_packet;
  hello.lid = end.lid;
  hello.mtu = end.mtu;
  peer.stage = Stage::greeting;
  say(rank, peer, hello);
}

void OffloadGroup::say(int rank, Peer& peer, const EngineWord& word) {
  peer.to = word;
  peer.sent = transport_.send(rank, route(false), bytes_of(peer.to));
  peer.sends = peer.sent != Transport::kGone;
  peer.received = transport_.receive(rank, route(false), bytes_of(peer.from));
  peer.receives = true;
}

// Returns true if the last message has been sent and the answer is here.
bool OffloadGroup::heard(int rank, Peer& peer) {
  const auto look_at = [&](bool& under_way, Transport::Ticket ticket) {
    if (!under_way) return true;
    const Outcome outcome = transport_.test(ticket);
    if (!outcome.over) return true;
    under_way = false;
    if (!outcome.fault) return true;
    break_off({outcome.fault->code, rank, outcome.fault->words});
    return false;
  };
  if (!look_at(peer.receives, peer.received)) return false;
  if (!peer.receives && peer.from.is_fault != 0) {
    learn(rank, peer);
    return false;
  }
  if (!look_at(peer.sends, peer.sent)) return false;
  if (peer.sends || peer.receives) return false;
  if (peer.from.magic == kMagic) return true;
  break_off({FaultCode::other, rank, "it speaks of its queues in another way"});
  return false;
}

// ---- posting ----

Result<void> OffloadGroup::register_memory(Started& started) {
  using For = channel::verbs::Registrations::For;
  if (started.plan().staging != 0)
    started.memory[static_cast<std::size_t>(OffloadPlace::Memory::staging)] =
        started.run->own_staging(started.plan().staging);
  const auto& ends = started.made->ends;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] == 0) continue;
    const bool is_input = i == static_cast<std::size_t>(OffloadPlace::Memory::input);
    auto registered = adapter_.registrations->get(started.memory[i], ends[i],
                                                  is_input ? For::sending : For::transfer);
    if (!registered) return fail(std::move(registered.error()));
    started.registered[i] = std::move(*registered);
  }
  return {};
}

// Breaks off because posting has failed. Returns false, for its callers to return.
bool OffloadGroup::cannot_post(const Error& why) {
  const bool works = adapter_.works();
  break_off({works ? FaultCode::resources : FaultCode::other, -1,
             works ? why.text() : "its adapter's engine has ended"});
  return false;
}

// Notes that the run needs another step of this process, and counts it once for each reason.
void OffloadGroup::put_off(Started& started, Late why) {
  started.late = why;
  const bool connects = why == Late::connecting;
  if (std::exchange(connects ? started.connected_late : started.in_parts, true)) return;
  ++(connects ? posted_.connecting : posted_.in_parts);
}

// Runs behind one that is not posted whole are not posted either, and are counted for the same
// reason.
void OffloadGroup::put_off_behind(std::size_t first) {
  const Late why = runs_[first]->late;
  const auto is_counted = [why](const Started& run) {
    return why == Late::connecting ? run.connected_late : run.in_parts;
  };
  for (std::size_t i = runs_.size(); --i > first && !is_counted(*runs_[i]);)
    put_off(*runs_[i], why);
}

bool OffloadGroup::post_next(Started& started) {
  static const OffloadTask end;  // a signal
  const bool is_end = started.posted == started.plan().tasks.size();
  const OffloadTask& task = is_end ? end : started.plan().tasks[started.posted];
  const int rank = task.peer < 0 ? -1 : transport_rank(*started.run, task.peer);
  if (!queues_->has_room(task, rank)) {
    if (const auto done = queues_->flush(); !done) return cannot_post(done.error());
    queues_->drain_all();
    queues_->over();
    if (queues_->is_full_for(task)) {
      put_off(started, Late::full);
      return false;
    }
  }
  const auto piece_of = [&](const OffloadPlace& place) {
    const auto index = static_cast<std::size_t>(place.memory);
    Piece piece;
    piece.mark = mark_of(*started.run);
    if (place.bytes == 0) return piece;
    piece.address = started.memory[index] + place.offset;
    piece.bytes = static_cast<std::uint32_t>(place.bytes);
    piece.lkey = started.registered[index].lkey();
    piece.rkey = started.registered[index].rkey();
    return piece;
  };
  const std::size_t waiting = queues_->waiting();
  const auto posted = queues_->post(task, rank, piece_of(task.from), piece_of(task.to),
                                    started.run->call().reduction.calculation);
  if (!posted) return cannot_post(posted.error());
  if (queues_->waiting() != waiting) put_off(started, Late::full);
  if (is_end) started.last = *posted;
  if (!is_end && task.kind == OffloadTask::Kind::signal) started.signals.push_back(*posted);
  ++started.posted;
  return true;
}

// Posts as much of the run as possible. Returns true if all of it is posted.
bool OffloadGroup::post(Started& started) {
  if (started.last != 0) return true;
  if (!queues_) {
    auto made = QueueSet::make(adapter_);
    if (!made) {
      break_off({FaultCode::resources, -1, made.error().text()});
      return false;
    }
    queues_ = std::move(*made);
  }
  if (!connect(started)) {
    put_off(started, Late::connecting);
    return false;
  }
  if (started.posted == 0) {
    if (const auto done = register_memory(started); !done) {
      break_off({FaultCode::resources, -1, done.error().text()});
      return false;
    }
  }
  while (started.last == 0)
    if (!post_next(started)) break;
  if (broken_) return false;
  if (const auto done = queues_->flush(); !done) return cannot_post(done.error());
  return started.last != 0;
}

bool OffloadGroup::advance() {
  const std::size_t before = runs_.size();
  if (!broken_ && queues_)
    if (const auto done = queues_->refill(); !done) cannot_post(done.error());
  // A break-off ends all runs, even in the middle of this loop.
  for (std::size_t i = 0; !broken_ && i < runs_.size(); ++i) {
    if (post(*runs_[i])) continue;
    if (!broken_) put_off_behind(i);
    break;
  }
  if (broken_) {
    end_all();
    return before != 0;
  }
  return finish();
}

bool OffloadGroup::finish() {
  if (!queues_ || runs_.empty()) return false;
  const std::uint64_t over = queues_->over();
  bool ended = false;
  while (!runs_.empty()) {
    Started& first = *runs_.front();
    for (; first.passed < first.signals.size() && first.signals[first.passed] <= over;
         ++first.passed)
      first.run->passed(1);
    if (first.last == 0 || first.last > over) break;
    for (const int listed : first.plan().peers)
      queues_->drain(transport_rank(*first.run, listed));
    if (queues_->trouble()) break;
    Run& run = *first.run;
    drop_first();
    run.end_elsewhere(nullptr);
    ended = true;
  }
  if (queues_->trouble()) {
    suspect(*queues_->trouble());
    if (broken_) end_all();
  }
  return ended || broken_;
}

void OffloadGroup::drop_first() {
  std::unique_ptr<Started> first = std::move(runs_.front());
  runs_.erase(runs_.begin());
  for (auto& registered : first->registered)
    registered.reset();
  first->made.reset();
  first->posted = 0;
  first->last = 0;
  first->signals.clear();
  first->passed = 0;
  first->connected_late = false;
  first->in_parts = false;
  spare_.push_back(std::move(first));
}

// ---- what goes wrong ----

// Reads the note of a peer, or its fault from the transport. Returns true if the rank at fault is
// known from it.
bool OffloadGroup::learn(int rank, Peer& peer) {
  EngineWord word = peer.from;
  if (peer.stage == Stage::up) {
    if (!peer.watches) return false;
    const Outcome outcome = transport_.test(peer.watch);
    if (!outcome.over) return false;
    peer.watches = false;
    if (outcome.fault) {
      peer.ended = outcome.fault;
      return true;
    }
    word = peer.note;
  }
  const bool known = word.magic == kMagic && word.code <= static_cast<int>(FaultCode::other);
  const auto code = known ? static_cast<FaultCode>(word.code) : FaultCode::other;
  const bool refused =
      known && word.refusal != 0 && word.refusal <= static_cast<int>(Refusal::other);
  const auto refusal = refused ? static_cast<Refusal>(word.refusal) : Refusal::none;
  const std::string what = refused ? reason_of(refusal) : std::string(name_of(code));
  break_off({code, known ? word.rank : rank, cat(what, " (rank ", rank, " of the job says so)"),
             refusal});
  return true;
}

void OffloadGroup::look() {
  if (broken_ || !queues_ || runs_.empty()) return;
  queues_->drain_all();
  queues_->over();
  for (auto& [rank, peer] : peers_) {
    if (peer.stage != Stage::up) continue;
    if (!peer.ended) learn(rank, peer);
    if (broken_) break;
    if (!peer.ended) continue;
    // The peer may have done its part of all runs before it ended.
    queues_->drain(rank);
    const bool is_needed = std::ranges::any_of(runs_, [&, of = rank](const auto& started) {
      if (started->last != 0) return false;
      const auto& listed = started->plan().peers;
      return std::ranges::any_of(listed,
                                 [&](int one) { return transport_rank(*started->run, one) == of; });
    });
    if (!is_needed && !queues_->needs(rank)) continue;
    break_off({peer.ended->code, rank, peer.ended->words});
    break;
  }
  if (!broken_ && queues_->trouble()) suspect(*queues_->trouble());
  if (broken_) end_all();
}

// Breaks off for a failure of the adapter. Other ranks may know the rank at fault better, so the
// group waits for a note or an end for kNews.
void OffloadGroup::suspect(const QueueSet::PeerFailure& trouble) {
  if (trouble.mismatch) return break_off({FaultCode::mismatch, trouble.peer, trouble.words});
  if (trouble.peer < 0 || !adapter_.works())
    return break_off({FaultCode::other, -1,
                      adapter_.works() ? trouble.words : "its adapter's engine has ended"});
  Peer& peer = peers_[trouble.peer];
  if (!peer.ended) learn(trouble.peer, peer);
  if (broken_) return;
  if (peer.ended) return break_off({peer.ended->code, trouble.peer, peer.ended->words});
  if (!suspected_) suspected_ = Clock::now() + kNews;
  if (Clock::now() < *suspected_) return;
  break_off(
      {FaultCode::other, trouble.peer, cat("the adapter cannot reach it (", trouble.words, ")")});
}

void OffloadGroup::break_off(Fault why) {
  if (broken_) return;
  broken_ = std::move(why);
  if (runs_.empty()) return;
  const Run& run = *runs_.front()->run;
  const EngineWord word = word_of(*broken_, transport_rank(run, run.call().rank));
  for (auto& [rank, peer] : peers_) {
    if (peer.ended || is_of_dead(rank)) continue;
    // A peer that was told that this rank is ready listens for notes from then on.
    if (peer.stage == Stage::up || peer.stage == Stage::readying)
      parting_.send(rank, route(true), word);
    else if (peer.stage == Stage::greeting)
      parting_.send(rank, route(false), word);  // it expects "ready" there
  }
}

// Ends all runs. The adapter touches no buffers from here on, because the queues are destroyed.
void OffloadGroup::end_all() {
  queues_.reset();
  for (auto& [rank, peer] : peers_) {
    if (std::exchange(peer.receives, false)) transport_.cancel(peer.received);
    if (std::exchange(peer.watches, false)) transport_.cancel(peer.watch);
  }
  while (!runs_.empty()) {
    Started& first = *runs_.front();
    // A peer that has not heard of this rank yet waits for its greeting, and gets the fault
    // instead.
    for (const int listed : first.plan().peers) {
      const int rank = transport_rank(*first.run, listed);
      Peer& peer = peers_[rank];
      if (peer.stage != Stage::unknown || is_of_dead(rank)) continue;
      peer.stage = Stage::up;
      parting_.send(rank, route(false),
                    word_of(*broken_, transport_rank(*first.run, first.run->call().rank)));
    }
    Run& run = *first.run;
    const Fault fault = fault_for(run);
    drop_first();
    run.end_elsewhere(&fault);
  }
}

bool OffloadGroup::is_of_dead(int rank) const {
  return broken_->code == FaultCode::peer_ended && broken_->rank == rank;
}

Fault OffloadGroup::fault_for(const Run& run) const {
  Fault fault = *broken_;
  if (fault.rank < 0) fault.rank = transport_rank(run, run.call().rank);
  const std::span<const int> peers = run.call().peers;
  if (!peers.empty()) {
    const auto at = std::ranges::find(peers, fault.rank);
    fault.rank = at == peers.end() ? run.call().rank : static_cast<int>(at - peers.begin());
  }
  fault.words = cat("rank ", fault.rank, ": ", fault.words);
  return fault;
}

}  // namespace scela::collectives
