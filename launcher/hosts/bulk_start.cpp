#include "launcher/hosts/bulk_start.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <list>
#include <map>
#include <utility>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "launcher/core/detect/bulk_command.h"
#include "launcher/core/report/report_text.h"
#include "nla/core/wire/contact.h"
#include "nla/dial/dial_hello.h"
#include "nla/dial/dial_in.h"
#include "nla/io/agent_file.h"

namespace scela {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kWhat[] = "start the agents by srun";
constexpr char kInstead[] = "give --launch ssh to start the agents over ssh";
// Connections that have not said a hello yet. If one more comes, the oldest is closed: a stranger
// that keeps silent cannot keep an agent out.
constexpr std::size_t kMaxStrangers = 256;
// The command ends when its last agent has. The time after which it gets SIGTERM, and SIGKILL.
constexpr std::chrono::milliseconds kEndPatience{10000};
constexpr std::chrono::milliseconds kKillPatience{2000};
// The end of the output that is kept for messages.
constexpr std::size_t kKeptOutput = std::size_t{16} << 10;
constexpr std::size_t kKeptLines = 10;
// srun prints this for --cpu-bind=none if it would bind no task anyway.
constexpr std::string_view kNoBinding = "cluster configuration lacks support for cpu binding";

Error failure(std::string why) {
  return Error{ErrorKind::launch, kWhat, "", std::move(why), kInstead};
}

// Memory that takes the output of a command, so that nothing must read it meanwhile.
Fd output_memory() {
  return Fd(::memfd_create("scela-output", MFD_CLOEXEC));
}

std::string end_of_output(const Fd& memory) {
  const off_t size = ::lseek(memory.get(), 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(kKeptOutput));
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - begin)), '\0');
  const ssize_t got = ::pread(memory.get(), text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text;
}

std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && !line.ends_with(kNoBinding)) lines.push_back(printable(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.size() > kKeptLines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kKeptLines));
  return lines;
}

// Executes the command in a session of its own, with this standard input, and with `output` for
// both of its outputs.
Result<pid_t> execute(const std::string& program, std::vector<std::string> words,
                      std::vector<std::string> environment, const Fd& input, const Fd& output) {
  const int descriptors[] = {input.get(), output.get(), output.get()};
  const std::vector<char*> argv = argv_of(words), envp = argv_of(environment);
  ChildSpec spec;
  spec.program = program.c_str();
  spec.argv = argv.data();
  spec.envp = envp.data();
  spec.descriptors = descriptors;
  // ^C is not for it. It outlives a scela-run that is killed: then its agents clean up and end, and
  // so it ends. Slurm would kill them at once if it ended first.
  spec.group = ChildGroup::own_session;
  const auto pid = start_child(spec);
  if (!pid) return fail(failure(text_of(pid.error(), program)));
  return *pid;
}

// Listens on all addresses of this machine, at one port.
Result<Fd> listen_everywhere(std::uint16_t& port) {
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
  return fail(failure(cat("this machine cannot listen for them: ", errno_text(errno))));
}

}  // namespace

struct BulkStart::State {
  // A connection with a hello that is not complete.
  struct Stranger {
    Fd socket;
    std::string line;
  };

  const BulkRequest request;
  std::string secret = nla::new_dial_secret();
  std::string build;
  Fd listener;
  std::list<Stranger> strangers;                                // the oldest first
  std::map<std::string, std::pair<nla::DialHello, Fd>> agents;  // by host
  Fd output = output_memory();
  pid_t pid = 0;
  Fd process;  // becomes readable at the end of the command
  bool reaped = false;
  std::string ended;  // how the command ended, before all agents had dialed in
  std::vector<std::string> contacts;
  std::vector<MissingHost> missing;

  explicit State(const BulkRequest& wanted) : request(wanted) {}

  Result<void> begin();
  void wait_for_agents();
  void conclude();
  void accept_strangers();
  // Returns false if the connection is over, as a stranger's.
  bool read_hello(Stranger& stranger);
  bool wait_for_end(std::chrono::milliseconds limit);
  void end();
};

Result<void> BulkStart::State::begin() {
  const auto file = nla::AgentFile::open(request.agent, "");
  if (!file) return fail(file.error());
  build = file->build();
  std::uint16_t port = 0;
  auto listening = listen_everywhere(port);
  if (!listening) return fail(std::move(listening.error()));
  listener = std::move(*listening);
  const char* path = std::getenv("PATH");
  const auto program = find_program("srun", path == nullptr ? kUsualPath : path, ".");
  if (!program) return fail(failure(cat("find 'srun': ", errno_text(program.error()))));
  const std::vector<std::string> words =
      srun_words(request.environment, request.hosts,
                 {request.agent_there, "--dial", nla::addresses_to_dial(port), "--name-from",
                  "SLURMD_NODENAME", "--id", build});
  auto input = make_pipe();
  if (!input) return fail(std::move(input.error()));
  auto started =
      execute(*program, words, srun_environment(request.environment), input->read, output);
  if (!started) return fail(std::move(started.error()));
  pid = *started;
  process = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const std::string line = secret + "\n";
  const auto size = static_cast<ssize_t>(line.size());
  if (::write(input->write.get(), line.data(), line.size()) != size)
    return fail(failure(cat("write to srun: ", errno_text(errno))));
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
  const bool is_wanted = hello && hello->build == build &&
                         std::ranges::find(request.hosts, hello->name) != request.hosts.end();
  if (is_wanted && !agents.contains(hello->name)) {
    const std::string name = hello->name;
    agents.emplace(name, std::pair(std::move(*hello), std::move(stranger.socket)));
  }
  return false;
}

// Blocks until all agents have dialed in, the command has ended, or no agent came within the limit.
void BulkStart::State::wait_for_agents() {
  auto deadline = Clock::now() + request.limit;
  while (agents.size() < request.hosts.size()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return;
    std::vector<pollfd> ready = {{listener.get(), POLLIN, 0}, {process.get(), POLLIN, 0}};
    for (const Stranger& stranger : strangers)
      ready.push_back({stranger.socket.get(), POLLIN, 0});
    retry([&] { return ::poll(ready.data(), ready.size(), static_cast<int>(left)); });
    const std::size_t before = agents.size();
    auto at = ready.begin() + 2;
    std::erase_if(strangers, [&](Stranger& stranger) {
      return (at++)->revents != 0 && !read_hello(stranger);
    });
    if (ready[0].revents != 0) accept_strangers();
    if (agents.size() > before) deadline = Clock::now() + request.limit;
    if (ready[1].revents == 0) continue;
    int status = 0;
    reaped = ::waitpid(pid, &status, WNOHANG) == pid;
    ended = end_of(status);
    return;
  }
}

void BulkStart::State::conclude() {
  listener.reset();
  strangers.clear();
  const std::vector<std::string> lines = last_lines(end_of_output(output));
  std::string why = ended.empty() ? cat("no agent has dialed in within ", request.limit.count(),
                                        " ms (--connect-timeout)")
                                  : cat("srun ", ended, " before the agent had dialed in");
  // srun prints the exit status of each task last. The task itself has said more.
  auto last = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return line.find("Exited with exit code") == std::string::npos;
  });
  if (last == lines.rend()) last = lines.rbegin();
  if (last != lines.rend()) why += cat("; it said: ", *last);
  for (const std::string& host : request.hosts) {
    const auto at = agents.find(host);
    if (at == agents.end()) {
      missing.push_back({host, "start its agent", why, kInstead});
      continue;
    }
    const nla::DialHello& hello = at->second.first;
    nla::Contact contact;
    contact.name = host;
    contact.address = hello.address;
    contact.port = hello.port;
    contact.user = "-";
    contact.waits = true;
    contacts.push_back(nla::format(contact));
  }
}

// Returns true if the command has ended within the limit. Another part of this process may have
// reaped it.
bool BulkStart::State::wait_for_end(std::chrono::milliseconds limit) {
  pollfd ready{process.get(), POLLIN, 0};
  if (retry([&] { return ::poll(&ready, 1, static_cast<int>(limit.count())); }) != 1) return false;
  ::waitpid(pid, nullptr, WNOHANG);
  return true;
}

void BulkStart::State::end() {
  agents.clear();
  strangers.clear();
  if (pid == 0 || reaped || !process) return;
  if (wait_for_end(contacts.empty() ? std::chrono::milliseconds(0) : kEndPatience)) return;
  const auto signal = [&](int signo) {
    ::syscall(SYS_pidfd_send_signal, process.get(), signo, nullptr, 0);
  };
  signal(SIGTERM);
  if (wait_for_end(kKillPatience)) return;
  signal(SIGKILL);
  wait_for_end(kKillPatience);
}

Result<std::unique_ptr<BulkStart>> BulkStart::start(const BulkRequest& request) {
  std::unique_ptr<BulkStart> made(new BulkStart(std::make_unique<State>(request)));
  if (auto begun = made->state_->begin(); !begun) return fail(std::move(begun.error()));
  made->state_->wait_for_agents();
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
  return state_->pid;
}
std::vector<std::string> BulkStart::output() const {
  return last_lines(end_of_output(state_->output));
}

}  // namespace scela
