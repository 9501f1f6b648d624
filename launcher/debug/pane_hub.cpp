#include "launcher/debug/pane_hub.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <set>
#include <utility>

#include "launcher/debug/pane_relay.h"
#include "nla/core/wire/terminal_input.h"

namespace scela {

namespace {

using Protocol = boost::asio::local::stream_protocol;
using boost::system::error_code;
using nla::TerminalInput;

constexpr std::size_t kPiece = std::size_t{32} * 1024;
// Bytes of input that wait for the ranks. While there are more, nothing is read from panes.
constexpr std::size_t kMaxWaiting = std::size_t{256} * 1024;

bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

// A connection of a pane.
struct Connection {
  explicit Connection(Protocol::socket taken) : socket(std::move(taken)) {}
  Protocol::socket socket;
  char bytes[4096] = {};
  nla::TerminalInputReader records;
  std::optional<Rank> pane;  // known by its first record
  bool paused = false;       // nothing is read, see kMaxWaiting
};
using Held = std::shared_ptr<Connection>;

// A pane, and the bytes that it is to show.
struct Pane {
  Held connection;      // none before the pane has opened it, and after its end
  std::string waiting;  // not yet given to the connection
  std::string writing;  // given to it
  bool ended = false;   // the rank writes no more
  bool closed = false;  // nothing is shown any more
};

}  // namespace

struct PaneHub::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& io, Hooks wanted) : acceptor(io), hooks(std::move(wanted)) {}

  void accept();
  void read(const Held& one);
  void take(const Held& one, std::size_t size);
  bool take_record(const Held& one, const TerminalInput& record);
  void type(const TerminalInput& record);
  void flush_input();
  void write(Rank rank);
  void drop(const Held& one);
  void close_pane(Pane& pane);
  void close();

  Protocol::acceptor acceptor;
  Hooks hooks;
  std::set<Held> connections;
  std::map<Rank, Pane> panes;
  std::string typed;  // waits until more is allowed
  std::uint64_t allowed = 0;
  bool open = true, discards = false;
};

void PaneHub::State::accept() {
  acceptor.async_accept(
      [state = shared_from_this()](const error_code& error, Protocol::socket socket) {
        if (error || !state->open) return;
        if (is_of_this_user(socket.native_handle()))
          state->read(
              *state->connections.insert(std::make_shared<Connection>(std::move(socket))).first);
        state->accept();
      });
}

void PaneHub::State::read(const Held& one) {
  one->paused = typed.size() > kMaxWaiting;
  if (one->paused) return;
  one->socket.async_read_some(
      boost::asio::buffer(one->bytes),
      [state = shared_from_this(), one](const error_code& error, std::size_t size) {
        if (!state->open) return;
        if (error) return state->drop(one);
        state->take(one, size);
      });
}

void PaneHub::State::take(const Held& one, std::size_t size) {
  one->records.add({one->bytes, size});
  bool fits = true;
  while (const auto record = one->records.next())
    fits = fits && take_record(one, *record);
  flush_input();
  if (!fits || one->records.broken()) return drop(one);
  read(one);
}

// Returns false if the connection is not one of a pane that waits for one.
bool PaneHub::State::take_record(const Held& one, const TerminalInput& record) {
  if (!one->pane) {
    const auto at = panes.find(record.rank);
    if (at == panes.end() || at->second.connection || at->second.closed) return false;
    one->pane = record.rank;
    at->second.connection = one;
    write(record.rank);
  }
  if (record.rank != *one->pane || record.kind == TerminalInput::Kind::hang_up) return false;
  type(record);
  return true;
}

void PaneHub::State::type(const TerminalInput& record) {
  if (record.rank != kOtherRanks) typed += encode(record);
}

void PaneHub::State::flush_input() {
  while (open && allowed > 0 && !typed.empty()) {
    const std::size_t size = std::min<std::uint64_t>({allowed, typed.size(), kPiece});
    allowed -= size;
    hooks.typed(Chunk(typed.substr(0, size)));
    typed.erase(0, size);
  }
  if (typed.size() > kMaxWaiting) return;
  for (const Held& one : connections)
    if (one->paused) read(one);
}

void PaneHub::State::write(Rank rank) {
  Pane& pane = panes[rank];
  if (!pane.connection || !pane.writing.empty()) return;
  if (pane.waiting.empty()) {
    if (pane.ended) close_pane(pane);
    return;
  }
  pane.writing = std::exchange(pane.waiting, {});
  boost::asio::async_write(
      pane.connection->socket, boost::asio::buffer(pane.writing),
      [state = shared_from_this(), rank](const error_code& error, std::size_t /*size*/) {
        Pane& shown = state->panes[rank];
        const std::size_t size = std::exchange(shown.writing, {}).size();
        if (!state->open) return;
        if (size > 0) state->hooks.shown(size);
        if (!error) state->write(rank);
      });
}

// The pane has gone. Its rank is hung up unless it has ended, and not kept by what it still writes.
void PaneHub::State::drop(const Held& one) {
  error_code ignored;
  one->socket.close(ignored);
  connections.erase(one);
  if (!one->pane) return;
  Pane& pane = panes[*one->pane];
  if (pane.closed) return;
  if (!pane.ended) type({*one->pane, TerminalInput::Kind::hang_up, {}, {}});
  close_pane(pane);
  flush_input();
}

void PaneHub::State::close_pane(Pane& pane) {
  pane.closed = true;
  if (const Held one = std::exchange(pane.connection, nullptr)) {
    error_code ignored;
    one->socket.close(ignored);
    connections.erase(one);
  }
  const std::size_t size = std::exchange(pane.waiting, {}).size();
  if (size > 0) hooks.shown(size);
}

void PaneHub::State::close() {
  open = false;
  error_code ignored;
  acceptor.close(ignored);
  for (const Held& one : std::exchange(connections, {}))
    one->socket.close(ignored);
}

PaneHub::PaneHub(boost::asio::io_context& io, Fd listener, const RankSet& ranks, Hooks hooks)
    : state_(std::make_shared<State>(io, std::move(hooks))) {
  ranks.for_each([this](Rank rank) { state_->panes[rank]; });
  state_->panes[kOtherRanks];
  error_code error;
  state_->acceptor.assign(Protocol(), listener.release(), error);
  if (!error) state_->accept();
}

PaneHub::~PaneHub() {
  state_->close();
}

void PaneHub::allow(std::uint64_t bytes) {
  state_->allowed += bytes;
  state_->flush_input();
}

void PaneHub::show(Rank rank, std::string_view bytes, bool end) {
  Pane& pane = state_->panes[rank];
  pane.ended = pane.ended || end;
  if (pane.closed || state_->discards) {
    if (!bytes.empty()) state_->hooks.shown(bytes.size());
  } else {
    pane.waiting += bytes;
  }
  state_->write(rank);
}

void PaneHub::discard() {
  state_->discards = true;
  for (auto& [rank, pane] : state_->panes) {
    const std::size_t size = std::exchange(pane.waiting, {}).size();
    if (size > 0) state_->hooks.shown(size);
  }
}

}  // namespace scela
