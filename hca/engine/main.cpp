// scela-hca: the software InfiniBand adapter of one node (hca/core/engine.h), for the processes of
// one user.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "common/os/clock.h"
#include "common/os/syscall.h"
#include "hca/core/strictness.h"
#include "hca/engine/connection.h"
#include "hca/engine/fabric.h"
#include "hca/engine/home.h"
#include "hca/engine/options.h"
#include "hca/engine/report.h"
#include "hca/engine/server.h"

namespace {

using namespace scela;
using namespace scela::hca;

int failed(const Error& error) {
  report(error.text());
  return error.kind == ErrorKind::usage ? 64 : 71;
}

// What the engine answers with; invalid: it is not one, or has gone.
Fd receive_file(int socket) {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (retry([&] { return ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC); }) != 1) return {};
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int)))
    return {};
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
  return Fd(descriptor);
}

int print_status(const Home& home, bool json) {
  const auto engine = home.connect();
  if (!engine) return failed(engine.error());
  const StatusAsk ask{.is_json = json ? 1u : 0u};
  const ssize_t sent = retry([&] { return ::send(engine->get(), &ask, sizeof ask, MSG_NOSIGNAL); });
  const Fd file = sent < 0 ? Fd() : receive_file(engine->get());
  if (!file) {
    return failed(
        {ErrorKind::unreachable, "ask the engine for its status", "", "it did not answer", ""});
  }
  char text[1 << 16];
  off_t offset = 0;
  for (ssize_t got = 0; (got = ::pread(file.get(), text, sizeof text, offset)) > 0; offset += got)
    std::fwrite(text, 1, static_cast<std::size_t>(got), stdout);
  return std::fflush(stdout) == 0 ? 0 : failed(os_error(ErrorKind::io, "print the status", errno));
}

// A node that nobody has given an address: a link-local one, of a number drawn at random.
Settings of_no_fabric() {
  Settings settings;
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = monotonic_ns();
  // Locally administered, and even: the second port has the next one.
  settings.guid = (number | 0x0200'0000'0000'0000) & ~std::uint64_t{1};
  settings.gid.bytes[0] = 0xFE;
  settings.gid.bytes[1] = 0x80;
  for (std::size_t i = 0; i < 8; ++i)
    settings.gid.bytes[8 + i] = static_cast<std::uint8_t>(settings.guid >> (56 - 8 * i));
  return settings;
}

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Result<std::unique_ptr<Fabric>> make_fabric(int descriptor) {
  if (descriptor < 0) return nullptr;
  Fd from(descriptor);
  auto record = read_fabric_record(from.get());
  if (!record) return fail(record.error());
  ::fcntl(from.get(), F_SETFD, FD_CLOEXEC);
  Directory directory;
  if (record->asks) directory = Directory(std::move(from));
  auto made = Fabric::listen(std::move(*record), std::move(directory));
  if (!made) return fail(made.error());
  return std::make_unique<Fabric>(std::move(*made));
}

// What is inherited must be a socket that listens.
Result<Fd> inherited(int descriptor) {
  Fd socket(descriptor);
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
      ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0 || !set_nonblocking(socket.get())) {
    return fail(os_error(ErrorKind::usage, "use the descriptor of --listen-fd", errno));
  }
  if (listens != 0) return socket;
  return fail(
      Error{ErrorKind::usage, "use the descriptor of --listen-fd", "", "it does not listen", ""});
}

Result<Server::Rules> make_rules(const Options& options, const Fabric* fabric) {
  Server::Rules rules;
  rules.settings = fabric != nullptr ? fabric->settings() : of_no_fabric();
  const auto seed = parse_seed(environment("SCELA_HCA_STRICT"));
  const auto faults = parse_faults(environment("SCELA_HCA_FAULTS"));
  if (!seed || !faults) return fail(seed ? faults.error() : seed.error());
  rules.settings.seed = *seed;
  rules.settings.faults = *faults;
  rules.settings.open_qp = environment("SCELA_HCA_NO_OPEN_QP").empty();
  rules.until_idle = options.until_idle;
  rules.trace = options.trace;
  rules.version = SCELA_VERSION;
  if (rules.trace.empty()) rules.trace = environment("SCELA_HCA_TRACE");
  return rules;
}

// `home`: none if the socket is inherited.
int serve(const Options& options, Home* home) {
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // deadlines are to the microsecond
  raise_descriptor_limit();
  if (options.ready_fd >= 0 && ::fcntl(options.ready_fd, F_SETFD, FD_CLOEXEC) != 0) {
    return failed(os_error(ErrorKind::usage, "use the descriptor of --ready-fd", errno));
  }
  auto fabric = make_fabric(options.fabric_fd);
  if (!fabric) return failed(fabric.error());
  const auto rules = make_rules(options, fabric->get());
  if (!rules) return failed(rules.error());
  Result<Fd> lock;
  // Who started this one and waits for its byte has the lock.
  if (home != nullptr && options.ready_fd < 0) {
    lock = home->lock();
    if (!lock) return failed(lock.error());
  }
  auto listening = home != nullptr ? home->listen() : inherited(options.listen_fd);
  if (!listening) return failed(listening.error());
  lock = Fd();
  const auto served =
      Server::serve(*rules, home, std::move(*listening), std::move(*fabric), options.ready_fd);
  return served ? 0 : failed(served.error());
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string_view> given(words + (count > 0 ? 1 : 0), words + count);
  const auto options = parse_options(given);
  if (!options) return failed(options.error());
  switch (options->action) {
    case Options::Action::help:
      std::fputs(help_text().data(), stdout);
      return 0;
    case Options::Action::version:
      std::puts("scela-hca " SCELA_VERSION);
      return 0;
    case Options::Action::status:
    case Options::Action::serve:
      break;
  }
  if (options->listen_fd >= 0 && options->action == Options::Action::serve) {
    return serve(*options, nullptr);
  }
  auto home = Home::at(options->socket.empty() ? usual_socket() : options->socket);
  if (!home) return failed(home.error());
  return options->action == Options::Action::status ? print_status(*home, options->json)
                                                    : serve(*options, &*home);
}
