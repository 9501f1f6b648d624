#include "launcher/hosts/bulk/bulk_start.h"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "common/core/text.h"
#include "common/crypto/tls_session.h"
#include "common/os/fd.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "launcher/core/detect/bulk_output.h"
#include "launcher/core/detect/bulk_roster.h"
#include "launcher/core/report/report_text.h"
#include "launcher/hosts/bulk/bulk_end.h"
#include "launcher/io/captured_command.h"
#include "nla/core/wire/contact.h"
#include "nla/dial/dial_credential.h"
#include "nla/dial/dial_hello.h"
#include "nla/dial/dial_in.h"
#include "nla/io/agent_file.h"

namespace scela {

namespace {

using Clock = std::chrono::steady_clock;

// Connections that have not said a hello yet. If one more comes, the oldest is closed: a stranger
// that keeps silent cannot keep an agent out.
constexpr std::size_t kMaxStrangers = 256;
// The limit of the command that removes directories. Slurm may wait for ever for a host.
constexpr std::chrono::milliseconds kSweepPatience{5000};
// munged takes 1 ms for a credential, and longer on a machine with much other work. With one that
// hangs or has ended, srun usually starts nothing either. With a larger value, a cluster that does
// without munged, and has left a socket of one, would wait longer for each srun.
constexpr std::chrono::milliseconds kSealPatience{1000};

BulkRoster::Time now() {
  return std::chrono::duration_cast<BulkRoster::Time>(Clock::now().time_since_epoch());
}

Error failure(const BulkStarter& starter, std::string why) {
  return Error{ErrorKind::launch, cat("start the agents by ", starter.command), "", std::move(why),
               bulk_advice("")};
}

// Listens on all addresses of this machine, at one port.
Result<Fd> listen_everywhere(const BulkStarter& starter, std::uint16_t& port) {
  for (const int family : {AF_INET6, AF_INET}) {
    Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) continue;
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    const int no = 0;
    if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&any), size) != 0) continue;
    if (::listen(socket.get(), SOMAXCONN) != 0) continue;
    size = sizeof any;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&any), &size);
    port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&any)->sin6_port
                                    : reinterpret_cast<sockaddr_in*>(&any)->sin_port);
    return socket;
  }
  return fail(failure(starter, cat("this machine cannot listen for them: ", errno_text(errno))));
}

// Returns the credential that arrives at the pipe, or nothing if none does.
std::string credential_at(const Fd& pipe) {
  pollfd ready{pipe.get(), POLLIN, 0};
  const auto limit_ms = static_cast<int>(kSealPatience.count());
  if (!pipe || retry([&] { return ::poll(&ready, 1, limit_ms); }) <= 0) return {};
  std::array<char, PIPE_BUF> text;  // it is written at once
  const ssize_t got = retry([&] { return ::read(pipe.get(), text.data(), text.size()); });
  return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

}  // namespace

struct BulkStart::State {
  // A connection with a hello that is not complete.
  struct Stranger {
    Fd socket;
    std::string line;
  };

  const BulkRequest request;
  const std::string secret = request.secret.empty() ? nla::new_dial_secret() : request.secret;
  Fd listener;
  std::list<Stranger> strangers;  // the oldest first
  std::optional<BulkRoster> roster;
  std::map<std::size_t, std::pair<nla::DialHello, Fd>> agents;  // by the position of the host
  std::optional<CapturedCommand> command;
  std::string ended;  // how the command ended, before all agents had dialed in
  std::vector<std::string> contacts;
  std::vector<MissingHost> missing;

  explicit State(const BulkRequest& wanted) : request(wanted) {}

  Result<void> begin();
  // Returns false if the descriptor `end` is readable before.
  bool wait_for_agents(int end);
  void conclude();
  void accept_strangers();
  // Returns false if the connection is over, as a stranger's.
  bool read_hello(Stranger& stranger);
  std::string why_missing() const;
  std::vector<std::string> lines() const;
  void end();
  void sweep(const std::vector<std::string>& hosts) const;
};

Result<void> BulkStart::State::begin() {
  Fd sealed;
  if (request.starter.scheduler == Scheduler::slurm) sealed = nla::seal_dial_secret(secret);
  const auto file = nla::AgentFile::open(request.agent, "");
  if (!file) return fail(file.error());
  std::uint16_t port = 0;
  auto listening = listen_everywhere(request.starter, port);
  if (!listening) return fail(std::move(listening.error()));
  listener = std::move(*listening);
  auto input = make_pipe();
  if (!input) return fail(std::move(input.error()));
  const std::string addresses = nla::addresses_to_dial(port, request.network);
  if (addresses.empty() && !request.network.empty())
    return fail(std::move(nla::address_in_network(request.network).error()));
  const BulkAgent agent{request.agent_there, addresses, file->build(), credential_at(sealed)};
  // The command outlives a scela-run that is killed: then its agents clean up and end, and so it
  // ends. Slurm and Flux would kill them at once if it ended first.
  auto started = CapturedCommand::start(
      {bulk_words(request.starter, request.environment, request.hosts, agent),
       bulk_environment(request.starter, request.environment), input->read.get(), false});
  if (!started) return fail(failure(request.starter, std::move(started.error().why)));
  command = std::move(*started);
  roster.emplace(request.hosts, file->build(), request.limit, now());
  const std::string line = secret + "\n";
  const auto size = static_cast<ssize_t>(line.size());
  if (::write(input->write.get(), line.data(), line.size()) != size)
    return fail(failure(request.starter,
                        cat("write to ", request.starter.command, ": ", errno_text(errno))));
  TlsSession::prepare_client();  // while the command starts the agents
  return {};
}

void BulkStart::State::accept_strangers() {
  for (;;) {
    Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (strangers.size() == kMaxStrangers) strangers.pop_front();
    strangers.push_back({std::move(socket), {}});
  }
}

bool BulkStart::State::read_hello(Stranger& stranger) {
  std::array<char, nla::kMaxDialHello> bytes;
  const ssize_t got =
      retry([&] { return ::recv(stranger.socket.get(), bytes.data(), bytes.size(), 0); });
  if (got < 0) return errno == EAGAIN;
  if (got == 0) return false;
  stranger.line.append(bytes.data(), static_cast<std::size_t>(got));
  if (!stranger.line.ends_with('\n')) return stranger.line.size() < nla::kMaxDialHello;
  stranger.line.pop_back();
  auto hello = nla::parse_dial_hello(stranger.line, secret);
  const auto host = hello ? roster->admit(hello->name, hello->build, now()) : std::nullopt;
  if (host) agents.emplace(*host, std::pair(std::move(*hello), std::move(stranger.socket)));
  return false;
}

// Blocks until all agents have dialed in, the command has ended, or the next agent is late.
bool BulkStart::State::wait_for_agents(int end) {
  for (;;) {
    const auto left = static_cast<int>(roster->left(now()).count());
    if (left == 0) return true;
    std::vector<pollfd> ready = {
        {listener.get(), POLLIN, 0}, {command->process(), POLLIN, 0}, {end, POLLIN, 0}};
    for (const Stranger& stranger : strangers)
      ready.push_back({stranger.socket.get(), POLLIN, 0});
    retry([&] { return ::poll(ready.data(), ready.size(), left); });
    if (ready[2].revents != 0) return false;
    auto at = ready.begin() + 3;
    std::erase_if(strangers, [&](Stranger& stranger) {
      return (at++)->revents != 0 && !read_hello(stranger);
    });
    if (ready[0].revents != 0) accept_strangers();
    if (ready[1].revents == 0) continue;
    ended = end_of(command->wait(std::chrono::milliseconds(0)).value_or(0));
    return true;
  }
}

std::vector<std::string> BulkStart::State::lines() const {
  std::vector<std::string> out;
  for (const std::string& line : bulk_lines(cat(command->output(), "\n", command->errors())))
    out.push_back(printable(line));
  return out;
}

std::string BulkStart::State::why_missing() const {
  std::string why =
      ended.empty()
          ? cat("no agent has dialed in within ", request.limit.count(), " ms (--connect-timeout)")
          : cat(request.starter.command, " ", ended, " before the agent had dialed in");
  const std::string said = telling_line(lines());
  return said.empty() ? why : cat(why, "; it said: ", said);
}

void BulkStart::State::conclude() {
  listener.reset();
  strangers.clear();
  const std::string why = why_missing();
  for (std::size_t i = 0; i < request.hosts.size(); ++i) {
    const auto at = agents.find(i);
    if (at == agents.end()) {
      missing.push_back({request.hosts[i], "start its agent", why, bulk_advice(why)});
      continue;
    }
    const nla::DialHello& hello = at->second.first;
    nla::Contact contact;
    contact.name = request.hosts[i];
    contact.address = hello.address;
    contact.port = hello.port;
    contact.user = hello.name;
    contact.waits = true;
    contacts.push_back(nla::format(contact));
  }
}

void BulkStart::State::end() {
  strangers.clear();
  // A command that has ended before all agents had dialed in has left nothing.
  if (!command || !ended.empty()) return;
  BulkEnd over(*command);
  for (auto& [host, agent] : agents)
    over.add(request.hosts[host], std::move(agent.second));
  agents.clear();
  over.wait();
  if (const auto hosts = over.unclean(); !hosts.empty() && !request.job_id.empty()) sweep(hosts);
}

// Removes the directories of the job on the hosts. An error is not told: the job may be cancelled,
// and then the scheduler starts nothing more in it.
void BulkStart::State::sweep(const std::vector<std::string>& hosts) const {
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto sweeper = CapturedCommand::start({sweep_words(request.starter, request.environment, hosts,
                                                     request.agent_there, request.job_id),
                                         bulk_environment(request.starter, request.environment),
                                         nothing.get(), false});
  if (sweeper && !sweeper->wait(kSweepPatience)) sweeper->kill();
}

Result<std::unique_ptr<BulkStart>> BulkStart::start(const BulkRequest& request, int end) {
  std::unique_ptr<BulkStart> made(new BulkStart(std::make_unique<State>(request)));
  if (auto begun = made->state_->begin(); !begun) return fail(std::move(begun.error()));
  if (!made->state_->wait_for_agents(end))
    return fail(failure(request.starter, "the wait for them was given up"));
  made->state_->conclude();
  return made;
}

BulkStart::BulkStart(std::unique_ptr<State> state) : state_(std::move(state)) {}
BulkStart::~BulkStart() {
  state_->end();
}
const std::vector<std::string>& BulkStart::contacts() const {
  return state_->contacts;
}
const std::vector<MissingHost>& BulkStart::missing() const {
  return state_->missing;
}
const std::string& BulkStart::secret() const {
  return state_->secret;
}
pid_t BulkStart::pid() const {
  return state_->command->pid();
}
std::vector<std::string> BulkStart::output() const {
  return state_->lines();
}

}  // namespace scela
