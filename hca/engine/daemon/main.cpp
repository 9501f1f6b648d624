// scela-hca: the software InfiniBand adapter of one node (hca/core/model/engine.h), for the
// processes of one user.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/os/clock.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "hca/core/model/strictness.h"
#include "hca/core/wire/port_address.h"
#include "hca/core/wire/variables.h"
#include "hca/engine/daemon/ask_status.h"
#include "hca/engine/daemon/engine_server.h"
#include "hca/engine/daemon/options.h"
#include "hca/engine/daemon/runtime_dir.h"
#include "hca/engine/io/stderr_report.h"
#include "hca/engine/net/fabric.h"

namespace {

using namespace scela;
using namespace scela::hca;

int failed(const Error& error) {
  report(error.text());
  return error.kind == ErrorKind::usage ? 64 : 71;
}

int print_status(const Options& options) {
  const auto text = ask_status(options.socket, options.json);
  if (!text) return failed(text.error());
  std::fwrite(text->data(), 1, text->size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : failed(os_error(ErrorKind::io, "print the status", errno));
}

// Returns the settings of a node that was given no address: a link-local address of a random
// number, and LIDs of such a number. So a message by LID from another engine of this kind reaches
// no port, and does not come back to its sender.
Settings of_no_fabric() {
  Settings settings;
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = monotonic_ns();
  // The number is locally administered, and even: the second port has the next one.
  settings.guid = (number | 0x0200'0000'0000'0000) & ~std::uint64_t{1};
  settings.first_lid = first_lid_of(static_cast<std::uint32_t>(number % kMaxNodes));
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

Result<std::unique_ptr<Fabric>> make_fabric(int descriptor, bool encrypt) {
  if (descriptor < 0) return nullptr;
  Fd from(descriptor);
  auto record = read_fabric_record(from.get());
  if (!record) return fail(record.error());
  ::fcntl(from.get(), F_SETFD, FD_CLOEXEC);
  record->encrypt = record->encrypt || encrypt;
  Directory directory;
  if (record->asks) directory = Directory(std::move(from));
  leave_memory_out_of_core_files();
  return Fabric::listen(*record, std::move(directory));
}

// Checks that the inherited descriptor is a socket that listens.
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

// Reads what the environment asks of the engine.
Result<Server::Rules> make_rules(const Options& options) {
  Server::Rules rules;
  const auto value = [](Variable variable) { return environment(name_of(variable)); };
  const auto seed = parse_seed(value(Variable::strict));
  const auto faults = parse_faults(value(Variable::faults));
  const auto encrypt = parse_switch(Variable::encrypt, value(Variable::encrypt));
  const auto no_open_qp = parse_switch(Variable::no_open_qp, value(Variable::no_open_qp));
  const auto no_xrc = parse_switch(Variable::no_xrc, value(Variable::no_xrc));
  if (!seed) return fail(seed.error());
  if (!faults) return fail(faults.error());
  if (!encrypt) return fail(encrypt.error());
  if (!no_open_qp) return fail(no_open_qp.error());
  if (!no_xrc) return fail(no_xrc.error());
  rules.settings.seed = *seed;
  rules.settings.faults = *faults;
  rules.settings.open_qp = !*no_open_qp;
  rules.settings.xrc = !*no_xrc;
  rules.encrypt = *encrypt;
  rules.until_idle = options.until_idle;
  rules.trace = options.trace.empty() ? std::string(value(Variable::trace)) : options.trace;
  rules.version = SCELA_VERSION;
  for (std::size_t i = 0; i < kEngineVariables; ++i) {
    const auto variable = static_cast<Variable>(i);
    rules.settings_told[i] =
        mark_of(variable, variable == Variable::trace ? rules.trace : value(variable));
  }
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string why = unknown_variable(*entry); !why.empty())
      rules.complaints.push_back(std::move(why));
  }
  return rules;
}

// Sets the engine's addresses, as far as it was told.
void place(Settings& settings, const Fabric* fabric) {
  const Settings known = fabric != nullptr ? fabric->own_node().settings() : of_no_fabric();
  settings.guid = known.guid;
  settings.first_lid = known.first_lid;
  settings.gid = known.gid;
}

// `home` is null if the socket is inherited.
int serve(const Options& options, EngineRuntimeDir* home) {
  raise_descriptor_limit();  // each program has connections and memory files
  // A scheduler sends the last two, which are meant for ranks, to all processes of a step.
  for (const int signo : {SIGPIPE, SIGUSR1, SIGUSR2})
    ::signal(signo, SIG_IGN);
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // deadlines are to the microsecond
  raise_descriptor_limit();
  if (options.ready_fd >= 0 && ::fcntl(options.ready_fd, F_SETFD, FD_CLOEXEC) != 0) {
    return failed(os_error(ErrorKind::usage, "use the descriptor of --ready-fd", errno));
  }
  auto rules = make_rules(options);
  if (!rules) return failed(rules.error());
  auto fabric = make_fabric(options.fabric_fd, rules->encrypt);
  if (!fabric) return failed(fabric.error());
  place(rules->settings, fabric->get());
  Result<Fd> lock;
  // The process that started this one and waits for its byte has the lock.
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
  if (options->action == Options::Action::status) return print_status(*options);
  auto home = EngineRuntimeDir::at(options->socket.empty() ? default_socket() : options->socket);
  return home ? serve(*options, &*home) : failed(home.error());
}
