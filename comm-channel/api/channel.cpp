#include "comm-channel/include/scela/channel.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "comm-channel/api/channel_state.h"
#include "comm-channel/api/counters_file.h"
#include "comm-channel/api/environment_options.h"
#include "common/os/affinity.h"

namespace scela {

using namespace channel;

Channel::Channel(std::shared_ptr<State> state, bool closes)
    : state_(std::move(state)), closes_(closes) {}

std::unique_ptr<Channel> channel::Inside::share(Channel& channel) {
  return std::unique_ptr<Channel>(new Channel(channel.state_, false));
}
std::shared_ptr<void>& channel::Inside::kept_for(Channel& channel) {
  return channel.state_->kept_for_user;
}
bool channel::Inside::allows_threads(const Channel& channel) {
  return channel.state_->options.threads == Threads::multiple;
}
bool channel::Inside::is_closed(const Channel& channel) {
  return closed(channel).load(std::memory_order_relaxed);
}
const std::atomic<bool>& channel::Inside::closed(const Channel& channel) {
  return channel.state_->is_closed;
}

namespace {

// The longest wait for others to close: they may never look again, since they compute or hang.
constexpr std::chrono::seconds kFarewell{2};

// A process opens one channel at a time, since a launcher's server talks to one party in each
// process.
std::atomic<bool> is_open{false};

Channel::Opened already_open() {
  return {nullptr,
          call_error(Code::bad_argument,
                     "open the channel: this process has one already (give its parts contexts "
                     "of that one, or close it first)")};
}

}  // namespace

// Messages that were sent go first, since others may wait for them. Then the others are told to
// send no more.
Channel::~Channel() {
  if (!closes_ && !state_->progress.is_copy()) return;
  if (state_->progress.is_copy()) {
    // A child process (fork) must not destroy what belongs to its parent.
    static_cast<void>(new std::shared_ptr<State>(std::move(state_)));
    return;
  }
  state_->is_closed.store(true, std::memory_order_relaxed);
  state_->progress.with([&](Messenger& messenger) { state_->probed.refuse_all(messenger); });
  state_->progress.wait_until([](Messenger& messenger) { return messenger.end_requests(); }, {});
  state_->progress.with([](Messenger& messenger) { messenger.finish(); });
  const auto all_gone = [](Messenger& messenger, bool blocked) {
    return !blocked && (messenger.network() == nullptr || messenger.network()->idle());
  };
  state_->progress.wait_until(
      [&](Messenger& messenger) { return all_gone(messenger, messenger.owes()); }, {});
  // A peer that does not answer for so long need not know about channels. It has mostly ended:
  // nothing reports a rank that ends well.
  state_->progress.wait_until(
      [&](Messenger& messenger) { return all_gone(messenger, messenger.blocked()); },
      std::chrono::seconds(state_->options.unreachable_after));
  std::vector<PeerCounters> peers;
  for (int peer = 0; peer < size(); ++peer)
    peers.push_back(counters(peer));
  write_counters(counters(), peers);  // while it has its connections
  state_->progress.wait_until(
      [](Messenger& messenger) {
        return messenger.network() == nullptr || messenger.network()->leave();
      },
      kFarewell);
  const std::size_t left =
      state_->progress.with([](Messenger& messenger) { return messenger.close(); });
  if (std::exchange(state_->bootstrap, nullptr)) is_open = false;
  if (left != 0) state_->progress.keep(state_, left);
}

namespace {

Channel::Opened open_first(ChannelOptions options) {
  const auto failed = [](const Error& why) {
    return Channel::Opened{nullptr, call_error(Code::device, why.text())};
  };
  auto bootstrap = Bootstrap::join();
  if (!bootstrap) return failed(bootstrap.error());
  auto links = open_links(**bootstrap, options);
  if (!links) return failed(links.error());
  World world = (*bootstrap)->world();
  return {Channel::State::channel(std::make_unique<Channel::State>(
              std::move(options), std::move(world), std::move(*bootstrap), std::move(*links))),
          {}};
}

}  // namespace

Channel::Opened Channel::open(const ChannelOptions& options) {
  std::vector<const char*> environment;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word)
    environment.push_back(*word);
  Result<ChannelOptions> chosen = overruled(options, environment);
  if (!chosen) return {nullptr, call_error(Code::bad_argument, chosen.error().text())};
  if (const auto checked = Bootstrap::check_variable(); !checked)
    return {nullptr,
            call_error(Code::bad_argument, cat("open the channel: ", checked.error().text()))};
  if (is_open.exchange(true)) return already_open();
  Opened opened = open_first(std::move(*chosen));
  if (!opened.channel) is_open = false;
  return opened;
}

std::unique_ptr<Channel> channel::channel_over(World world, const ChannelOptions& options,
                                               Links links) {
  return Channel::State::channel(std::make_unique<Channel::State>(
      options, std::move(world), std::unique_ptr<Bootstrap>(), std::move(links)));
}

int Channel::rank() const {
  return state_->world().rank;
}
int Channel::size() const {
  return state_->world().size;
}
int Channel::node() const {
  return state_->world().node();
}
int Channel::nodes() const {
  return state_->world().nodes;
}
int Channel::node_of(int rank) const {
  return rank < 0 || rank >= size() ? -1 : state_->world().node_of[static_cast<std::size_t>(rank)];
}
std::vector<std::vector<int>> Channel::processors_of_node() const {
  std::vector<std::vector<int>> processors;
  state_->progress.with([&](Messenger& messenger) {
    const shm::NodeLink* const link = messenger.node();
    for (std::uint32_t rank = 0; link != nullptr && rank < link->ranks(); ++rank)
      processors.push_back(link->processors_of(rank));
  });
  if (processors.empty()) processors.push_back(allowed_cpus());  // alone there
  return processors;
}

Request Channel::isend(int peer, int tag, std::span<const std::byte> bytes, Context context) {
  if (state_->send_at_once(peer, tag, bytes, context)) return Request(&sent_at_once());
  return Request(&state_->send(peer, tag, bytes, context, false, State::Begin::now));
}
Request Channel::isend(int peer, int tag, SendPieces pieces, Context context) {
  if (state_->send_at_once(peer, tag, pieces, context)) return Request(&sent_at_once());
  return Request(&state_->send(peer, tag, pieces, context, false, State::Begin::now));
}
Request Channel::issend(int peer, int tag, SendPieces pieces, Context context) {
  return Request(&state_->send(peer, tag, pieces, context, true, State::Begin::now));
}
Request Channel::irecv(int source, int tag, ReceivePieces pieces, Context context) {
  return Request(&state_->receive(source, tag, pieces, context, State::Begin::now));
}
Request Channel::send_init(int peer, int tag, SendPieces pieces, Context context) {
  return Request(&state_->send(peer, tag, pieces, context, false, State::Begin::later));
}
Request Channel::recv_init(int source, int tag, ReceivePieces pieces, Context context) {
  return Request(&state_->receive(source, tag, pieces, context, State::Begin::later));
}
Status Channel::send(int peer, int tag, SendPieces pieces, Context context) {
  return isend(peer, tag, pieces, context).wait();
}
Status Channel::recv(int source, int tag, ReceivePieces pieces, Context context, Timeout timeout) {
  Request request = irecv(source, tag, pieces, context);
  return Inside::received(request, timeout);
}
Request Channel::issend(int peer, int tag, std::span<const std::byte> bytes, Context context) {
  return Request(&state_->send(peer, tag, bytes, context, true, State::Begin::now));
}
Request Channel::irecv(int source, int tag, std::span<std::byte> bytes, Context context) {
  return Request(&state_->receive(source, tag, bytes, context, State::Begin::now));
}
Request Channel::send_init(int peer, int tag, std::span<const std::byte> bytes, Context context) {
  return Request(&state_->send(peer, tag, bytes, context, false, State::Begin::later));
}
Request Channel::recv_init(int source, int tag, std::span<std::byte> bytes, Context context) {
  return Request(&state_->receive(source, tag, bytes, context, State::Begin::later));
}

Status Channel::send(int peer, int tag, std::span<const std::byte> bytes, Context context) {
  if (state_->send_at_once(peer, tag, bytes, context)) return {};
  return Request(&state_->send(peer, tag, bytes, context, false, State::Begin::now)).wait();
}

Status Channel::recv(int source, int tag, std::span<std::byte> bytes, Context context,
                     Timeout timeout) {
  Request request = irecv(source, tag, bytes, context);
  if (request.operation_->everybodys) return request.operation_->status;
  const bool is_complete = request.completes(timeout);
  // If source and tag are known to the caller, the status need not be loaded.
  const Status& got = request.operation_->status;
  if (is_complete && source != kAnySource && tag != kAnyTag && got.ok()) [[likely]] {
    const std::size_t length = got.bytes();
    state_->release(*std::exchange(request.operation_, nullptr));
    return StatusWriter::of_message(source, tag, length);
  }
  return Inside::received(request, std::chrono::nanoseconds(0));
}

Status channel::Inside::received(Request& request, Timeout timeout) {
  Status status = request.wait(timeout);
  if (status.code() != Code::timed_out || request.cancel()) return status;
  // The message is on its way, or the sender has to say whether it is.
  Status last = request.wait();
  return last.code() == Code::cancelled ? status : last;
}

void channel::Inside::set_group(Request& request, const std::shared_ptr<const RankGroup>& group) {
  Operation* const operation = request.operation_;
  if (operation == nullptr || operation->everybodys) return;
  operation->progress->with([&](Messenger& messenger) { messenger.set_group(*operation, group); });
}

Context Channel::reserve_contexts(Context count) {
  // The last context is used by an executor that wakes itself (collectives/executors).
  constexpr Context kEnd = 0xffff'0000;
  std::atomic<Context>& next = state_->next_reserved;
  Context first = next;
  do {
    if (count > kEnd - first) return kWorld;
  } while (!next.compare_exchange_weak(first, first + count));
  return first;
}

void Channel::close_contexts(Context first, Context count) {
  if (state_->progress.is_copy()) return;
  state_->progress.with([&](Messenger& messenger) { messenger.discard(first, count); });
}

void Channel::open_contexts(Context first, Context count) {
  if (state_->progress.is_copy()) return;
  state_->progress.with([&](Messenger& messenger) { messenger.accept(first, count); });
}

bool Channel::progress() {
  if (state_->progress.is_copy()) return false;
  return state_->progress.with([&](Messenger&) { return state_->progress.poll(); });
}

bool Channel::has_exited(int rank) const {
  if (rank < 0 || rank >= size() || state_->progress.is_copy()) return false;
  return state_->progress.with([&](Messenger& messenger) { return messenger.has_ended(rank); });
}

void Channel::mark_exited(int rank) {
  if (rank < 0 || rank >= size()) return;
  state_->progress.with([&](Messenger&) { state_->progress.mark_exited(rank); });
}

// The launcher's connection of a child process (fork) is that of its parent.
void Channel::abort(int status, std::string_view why) {
  if (state_->bootstrap && !state_->progress.is_copy()) state_->bootstrap->abort(status, why);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(why.size()), why.data());
  std::_Exit((status & 255) == 0 ? 1 : status & 255);
}

PeerCounters Channel::counters(int peer) const {
  if (peer < 0 || peer >= size() || state_->progress.is_copy()) return {};
  return state_->progress.with([&](Messenger& messenger) { return messenger.counters(peer); });
}

Counters Channel::counters() const {
  if (state_->progress.is_copy()) return {};
  return state_->progress.with([](Messenger& messenger) { return messenger.counters(); });
}

std::string Channel::describe() const {
  std::string text = cat("rank ", rank(), " of ", size(), ", node ", node(), " of ", nodes());
  if (state_->progress.is_copy())
    return text + "; copy in a child process (fork), which cannot use it";
  if (state_->bootstrap) text += cat("; ", state_->bootstrap->describe());
  state_->progress.with([&](Messenger& messenger) {
    if (const shm::NodeLink* const link = messenger.node())
      text += cat("\nnode ", node(), ": shared memory, ", link->describe());
    if (const NetworkDevice* const network = messenger.network())
      text += cat("\nother nodes: ", network->describe());
  });
  return text;
}

}  // namespace scela
