#include "launcher/debug/attach_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <optional>
#include <set>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

using Protocol = boost::asio::local::stream_protocol;
using boost::system::error_code;

constexpr std::size_t kMaxRequest = 4096;  // bytes
constexpr std::size_t kMaxClients = 16;    // more are closed at once

std::string name_of_socket(pid_t launcher) {
  return cat('\0', "scela-run.", launcher);
}

// Returns the user and the process at the other end.
std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

// Only the user of the job, and root, may look at it, also if it is root's job.
bool may_look(int socket) {
  const auto peer = peer_of(socket);
  return peer && (peer->uid == ::geteuid() || peer->uid == 0);
}

}  // namespace

struct AttachSocket::State : std::enable_shared_from_this<State> {
  struct Connection {
    explicit Connection(Protocol::socket taken) : socket(std::move(taken)) {}
    Protocol::socket socket;
    std::string request, answer;
  };
  using Held = std::shared_ptr<Connection>;

  State(boost::asio::io_context& io, Handler wanted) : acceptor(io), handler(std::move(wanted)) {
    error_code error;
    acceptor.open(Protocol(), error);
    if (!error) acceptor.bind(Protocol::endpoint(name_of_socket(::getpid())), error);
    if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
    if (error) acceptor.close(error);
  }

  void accept() {
    if (!acceptor.is_open()) return;
    acceptor.async_accept(
        [state = shared_from_this()](const error_code& error, Protocol::socket socket) {
          if (error) return;
          if (may_look(socket.native_handle()) && state->connections.size() < kMaxClients) {
            state->read(
                *state->connections.insert(std::make_shared<Connection>(std::move(socket))).first);
          }
          state->accept();
        });
  }

  void read(const Held& one) {
    boost::asio::async_read_until(
        one->socket, boost::asio::dynamic_buffer(one->request, kMaxRequest), '\n',
        [state = shared_from_this(), one](const error_code& error, std::size_t size) {
          if (error || !state->acceptor.is_open()) return state->drop(one);
          state->handler(std::string_view(one->request).substr(0, size - 1),
                         [state, one](std::string text) { state->write(one, std::move(text)); });
        });
  }

  void write(const Held& one, std::string text) {
    one->answer = std::move(text) + "\n";
    boost::asio::async_write(
        one->socket, boost::asio::buffer(one->answer),
        [state = shared_from_this(), one](const error_code& error, std::size_t) {
          if (error) return state->drop(one);
          state->wait_for_end(one);
        });
  }

  // Notices that the client has gone.
  void wait_for_end(const Held& one) {
    one->socket.async_wait(
        Protocol::socket::wait_read,
        [state = shared_from_this(), one](const error_code&) { state->drop(one); });
  }

  void drop(const Held& one) {
    error_code ignored;
    one->socket.close(ignored);
    connections.erase(one);
  }

  void close() {
    error_code ignored;
    acceptor.close(ignored);
    for (const Held& one : std::exchange(connections, {}))
      one->socket.close(ignored);
  }

  Protocol::acceptor acceptor;
  Handler handler;
  std::set<Held> connections;
};

AttachSocket::AttachSocket(boost::asio::io_context& io, Handler handler)
    : state_(std::make_shared<State>(io, std::move(handler))) {
  state_->accept();
}
AttachSocket::~AttachSocket() {
  state_->close();
}

Result<JobAnswer> ask_job(pid_t launcher, std::string_view request) {
  const auto failed = [&](std::string why, ErrorKind kind = ErrorKind::io) {
    return fail(Error{
        kind, cat("attach to the scela-run with the process number ", launcher), "", std::move(why),
        "give the number of a scela-run on this machine that has a job (pgrep scela-run)"});
  };
  JobAnswer out;
  out.connection.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out.connection) return failed(errno_text(errno));
  const std::string name = name_of_socket(launcher);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const int fd = out.connection.get();
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno != ECONNREFUSED) return failed(errno_text(errno));
    std::string program = read_small_file(cat("/proc/", launcher, "/comm").c_str());
    if (program.ends_with('\n')) program.pop_back();
    if (program.empty()) return failed("there is no such process", ErrorKind::usage);
    if (program != "scela-run")
      return failed(cat("that is '", printable(program), "', which has no job"), ErrorKind::usage);
    return failed("it has no job, or none yet");
  }
  // Root looks at the jobs of all users.
  const auto peer = peer_of(fd);
  if (!peer || peer->pid != launcher ||
      (peer->uid != ::geteuid() && peer->uid != 0 && ::geteuid() != 0)) {
    return failed("another process answers in its place");
  }
  const std::string line = cat(request, '\n');
  if (::send(fd, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    return failed(errno_text(errno));
  }
  char bytes[4096];
  while (!out.text.ends_with("\n\n") && out.text != "\n") {
    const ssize_t got = retry([&] { return ::read(fd, bytes, sizeof bytes); });
    if (got < 0) return failed(errno_text(errno));
    if (got == 0) return failed("its job has ended, or it serves another user");
    out.text.append(bytes, static_cast<std::size_t>(got));
  }
  out.text.pop_back();
  return out;
}

void wait_for_end(const JobAnswer& answer) {
  char byte = 0;
  retry([&] { return ::read(answer.connection.get(), &byte, 1); });
}

}  // namespace scela
