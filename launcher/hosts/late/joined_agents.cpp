#include "launcher/hosts/late/joined_agents.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "common/core/text.h"
#include "common/crypto/hmac.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "launcher/core/report/report_text.h"
#include "nla/core/wire/contact.h"
#include "nla/dial/dial_hello.h"
#include "nla/dial/dial_in.h"
#include "nla/dial/join_words.h"
#include "nla/io/address.h"
#include "nla/io/agent_file.h"

namespace scela {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kListening[] = "listen for agents that join (--listen)";
// Connections that have not joined yet. If one more comes, the oldest is closed: a stranger that
// keeps silent cannot keep an agent out.
constexpr std::size_t kMaxJoining = 256;
// Lines about refused agents. More of them would fill the terminal of the user.
constexpr int kMaxRefusals = 10;
// The time in which hosts clean up at the end of the job. scela-run waits so long for a frozen one.
constexpr std::chrono::milliseconds kCleanPatience{10'000};
// A host that has not acknowledged the end of its connection within this time is lost. A smaller
// one would give up a slow network.
constexpr unsigned kSilentHostMs = 2000;

Error listen_failure(ErrorKind kind, const std::string& place, std::string why, std::string hint) {
  return Error{kind, kListening, place, std::move(why), std::move(hint)};
}

// Returns the address and port of --listen. Without an address it is any address.
std::optional<nla::Address> parse_place(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  std::string host = colon == std::string::npos ? "" : place.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string digits = colon == std::string::npos ? place : place.substr(colon + 1);
  std::uint16_t port = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, port);
  if (error != std::errc() || at != end || port == 0) return std::nullopt;
  return nla::parse_address(host.empty() ? "::" : host, port);
}

Result<Fd> listen_at(const std::string& place) {
  auto address = parse_place(place);
  if (!address) {
    return fail(listen_failure(ErrorKind::usage, place, "it is no PORT or ADDRESS:PORT",
                               "give a port, or an address of this machine and a port"));
  }
  Fd socket(::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket && errno == EAFNOSUPPORT) {  // a machine without IPv6
    address = nla::parse_address("0.0.0.0", address->port());
    socket = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  const int yes = 1, no = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address->family() == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (!socket || ::bind(socket.get(), address->get(), address->size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return fail(listen_failure(ErrorKind::launch, place, errno_text(errno),
                               "give a free port of this machine"));
  }
  return socket;
}

std::string peer_of(const Fd& socket) {
  nla::Address address;
  address.size = sizeof address.storage;
  char text[NI_MAXHOST] = "?";
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size) ==
      0)
    ::getnameinfo(address.get(), address.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  const std::string_view plain(text);
  return std::string(plain.starts_with("::ffff:") ? plain.substr(7) : plain);
}

// The place of an agent in the job.
enum class Stage : std::uint8_t {
  waiting,    // it waits for a parent: the next start may use it, or spawned ranks
  given,      // its contact was given to a parent: it belongs to the start that runs
  returning,  // it was told of the next start, and has not said where it waits for that
};

int wait_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(0, left));
}

// Sends a line to a connection that has room for it; else its peer learns from the end.
void send_line(const Fd& socket, const std::string& line) {
  static_cast<void>(::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

}  // namespace

struct JoinedAgents::State {
  // A connection that has not said everything yet.
  struct Stranger {
    Fd socket;
    std::string challenge;
    std::string from;
    std::string line;                         // the part of the next line that was read
    std::optional<nla::JoinRequest> request;  // proven; the hello is awaited
    bool is_over = false;
  };
  struct Agent {
    nla::DialHello hello;
    Fd socket;
    std::uint32_t slots = 1;
    Stage stage = Stage::waiting;
    bool has_served = false;  // it was in an earlier start
    std::string line;         // the part of the next hello that was read
  };

  JoinSettings settings;
  std::string key;
  std::string build;
  std::string job = nla::new_dial_secret();  // the random name of the job
  std::string secret;
  Fd listener;
  Fd ready{::epoll_create1(EPOLL_CLOEXEC)};  // of the listener and all connections
  std::list<Stranger> strangers;             // the oldest first
  mutable std::mutex mutex;                  // of the agents
  std::map<std::string, Agent> agents;       // by host
  int refusals = 0;
  bool has_begun = false;
  bool takes_late = true;
  std::vector<HostEntry> late;

  ~State() { wipe(key); }

  bool serve_once(Clock::time_point deadline, int end);
  void watch(const Fd& socket) const;
  // Reads what an agent says. Returns false if its connection has ended, or it breaks the rules.
  bool hear(Agent& agent);
  void accept_strangers();
  void read(Stranger& stranger);
  void take_line(Stranger& stranger, const std::string& line);
  void take_request(Stranger& stranger, const std::string& line);
  void take_hello(Stranger& stranger, const std::string& line);
  void refuse(Stranger& stranger, const std::string& why);
  void tell_gone(const std::string& name, Stage stage) const;
  bool has_name(const std::string& name) const;
};

void JoinedAgents::State::watch(const Fd& socket) const {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  static_cast<void>(::epoll_ctl(ready.get(), EPOLL_CTL_ADD, socket.get(), &wanted));
}

void JoinedAgents::State::accept_strangers() {
  for (;;) {
    Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (strangers.size() == kMaxJoining) strangers.pop_front();
    Stranger& stranger = strangers.emplace_back();
    stranger.socket = std::move(socket);
    watch(stranger.socket);
    stranger.challenge = nla::new_dial_secret();
    stranger.from = peer_of(stranger.socket);
    send_line(stranger.socket, nla::format(nla::JoinCall{job, stranger.challenge}));
  }
}

void JoinedAgents::State::refuse(Stranger& stranger, const std::string& why) {
  stranger.is_over = true;
  send_line(stranger.socket, nla::refusal_line(why));
  if (++refusals > kMaxRefusals || !settings.tell) return;
  settings.tell(cat("refused an agent from ", stranger.from, ": ", printable(why),
                    refusals == kMaxRefusals ? "; further refusals are not shown" : ""));
}

bool JoinedAgents::State::has_name(const std::string& name) const {
  return agents.contains(name) || std::ranges::any_of(strangers, [&](const Stranger& other) {
           return !other.is_over && other.request && other.request->name == name;
         });
}

void JoinedAgents::State::take_request(Stranger& stranger, const std::string& line) {
  const nla::JoinCall call{job, stranger.challenge};
  auto request = nla::parse_join_request(line, call, key);
  if (!request) {
    return refuse(stranger, cat(request.error().why, " (compare the files of --key-file)"));
  }
  if (request->build != build) {
    return refuse(stranger, cat("it is of build ", request->build, ", and scela-run of build ",
                                build, ": install one version on all machines"));
  }
  if (has_name(request->name))
    return refuse(stranger, cat("another agent has joined with the name ", request->name));
  if (has_begun && !takes_late) {
    stranger.is_over = true;
    return send_line(stranger.socket, nla::late_line("the job has begun, and needs no more hosts"));
  }
  send_line(stranger.socket, nla::welcome_line(*request, call, key));
  stranger.request = std::move(*request);
}

void JoinedAgents::State::take_hello(Stranger& stranger, const std::string& line) {
  stranger.is_over = true;
  auto hello = nla::parse_dial_hello(line, secret);
  if (!hello || hello->name != stranger.request->name) return;
  const std::string name = hello->name;
  const std::uint32_t slots = stranger.request->slots;
  nla::notice_lost_peer(stranger.socket);
  if (has_begun) late.push_back({name, slots});
  agents.emplace(name, Agent{std::move(*hello), std::move(stranger.socket), slots, Stage::waiting,
                             false, std::move(stranger.line)});
}

void JoinedAgents::State::take_line(Stranger& stranger, const std::string& line) {
  if (stranger.request)
    take_hello(stranger, line);
  else
    take_request(stranger, line);
}

void JoinedAgents::State::read(Stranger& stranger) {
  std::array<char, nla::kMaxJoinLine> bytes;
  const ssize_t got =
      retry([&] { return ::recv(stranger.socket.get(), bytes.data(), bytes.size(), 0); });
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    stranger.is_over = true;
    return;
  }
  stranger.line.append(bytes.data(), static_cast<std::size_t>(got));
  const std::size_t end = stranger.line.find('\n');
  if (end != std::string::npos) {
    const std::string line = stranger.line.substr(0, end);
    stranger.line.erase(0, end + 1);
    return take_line(stranger, line);
  }
  if (stranger.line.size() >= nla::kMaxJoinLine) refuse(stranger, "it says too much");
}

bool JoinedAgents::State::hear(Agent& agent) {
  std::array<char, nla::kMaxJoinLine> bytes;
  const ssize_t got =
      retry([&] { return ::recv(agent.socket.get(), bytes.data(), bytes.size(), 0); });
  if (got < 0 && errno == EAGAIN) return true;
  if (got <= 0 || agent.stage == Stage::waiting) return false;
  agent.line.append(bytes.data(), static_cast<std::size_t>(got));
  agent.line.erase(0, agent.line.find_first_not_of(nla::kNodeIsClean));
  const std::size_t end = agent.line.find('\n');
  if (end == std::string::npos) return agent.line.size() < nla::kMaxDialHello;
  auto hello = nla::parse_dial_hello(std::string_view(agent.line).substr(0, end), secret);
  if (!hello || hello->name != agent.hello.name || agent.stage != Stage::returning) return false;
  agent.hello = std::move(*hello);
  agent.line.erase(0, end + 1);
  agent.stage = Stage::waiting;
  return true;
}

void JoinedAgents::State::tell_gone(const std::string& name, Stage stage) const {
  // The job itself notices the loss of an agent of its own.
  if (!settings.tell || stage == Stage::given) return;
  settings.tell(cat("the agent of ", name,
                    stage == Stage::returning ? " has not come back for the next start"
                    : has_begun               ? ", which was not used, has gone"
                                              : " has gone before the job began"));
}

// Returns true if an agent has joined, has gone, or has come again, or `end` is readable.
bool JoinedAgents::State::serve_once(Clock::time_point deadline, int end) {
  std::vector<pollfd> asked = {{listener.get(), POLLIN, 0}};
  std::vector<std::string> names;
  for (const auto& [name, agent] : agents) {
    asked.push_back({agent.socket.get(), POLLIN, 0});
    names.push_back(name);
  }
  for (const Stranger& stranger : strangers)
    asked.push_back({stranger.socket.get(), POLLIN, 0});
  asked.push_back({end, POLLIN, 0});
  retry([&] { return ::poll(asked.data(), asked.size(), wait_ms(deadline)); });
  if (asked.back().revents != 0) return true;
  const std::lock_guard lock(mutex);
  auto at = asked.begin() + 1;
  bool has_changed = false;
  for (const std::string& name : names) {
    if ((at++)->revents == 0) continue;
    Agent& agent = agents.at(name);
    const Stage stage = agent.stage;
    const bool stays = hear(agent);
    has_changed = has_changed || !stays || agent.stage != stage;
    if (stays) continue;
    agents.erase(name);
    std::erase_if(late, [&](const HostEntry& host) { return host.name == name; });
    tell_gone(name, stage);
  }
  const std::size_t before = agents.size();
  for (Stranger& stranger : strangers)
    if ((at++)->revents != 0) read(stranger);
  std::erase_if(strangers, [](const Stranger& stranger) { return stranger.is_over; });
  if (asked[0].revents != 0) accept_strangers();
  return has_changed || agents.size() != before;
}

Result<std::unique_ptr<JoinedAgents>> JoinedAgents::listen(const JoinSettings& settings) {
  auto state = std::make_unique<State>();
  state->settings = settings;
  auto key = nla::read_join_key(settings.key_file);
  if (!key) return fail(std::move(key.error()));
  state->key = std::move(*key);
  state->secret = nla::join_secret(state->key, state->job);
  const auto file = nla::AgentFile::open(settings.agent, "");
  if (!file) return fail(file.error());
  state->build = file->build();
  auto listener = listen_at(settings.place);
  if (!listener) return fail(std::move(listener.error()));
  state->listener = std::move(*listener);
  state->watch(state->listener);
  return std::unique_ptr<JoinedAgents>(new JoinedAgents(std::move(state)));
}

JoinedAgents::JoinedAgents(std::unique_ptr<State> state) : state_(std::move(state)) {}
JoinedAgents::~JoinedAgents() = default;

void JoinedAgents::serve(std::chrono::milliseconds limit, int end) {
  const auto deadline = Clock::now() + limit;
  while (!state_->serve_once(deadline, end) && Clock::now() < deadline) {
  }
}

int JoinedAgents::descriptor() const {
  return state_->ready.get();
}

std::vector<HostEntry> JoinedAgents::hosts() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<HostEntry> out;
  for (const bool has_served : {true, false}) {
    for (const auto& [name, agent] : state_->agents)
      if (agent.stage == Stage::waiting && agent.has_served == has_served)
        out.push_back({name, agent.slots});
  }
  return out;
}

std::optional<std::string> JoinedAgents::contact(const std::string& host) {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->agents.find(host);
  if (at == state_->agents.end() || at->second.stage == Stage::returning) return std::nullopt;
  at->second.stage = Stage::given;
  nla::Contact contact;
  contact.name = host;
  contact.address = at->second.hello.address;
  contact.port = at->second.hello.port;
  contact.user = at->second.hello.name;
  contact.waits = true;
  return nla::format(contact);
}

void JoinedAgents::begin(bool takes_late) {
  state_->has_begun = true;
  state_->takes_late = takes_late;
  state_->late.clear();
}

std::vector<HostEntry> JoinedAgents::late() {
  return std::exchange(state_->late, {});
}

void JoinedAgents::tell_by(std::function<void(const std::string& line)> tell) {
  state_->settings.tell = std::move(tell);
}

void JoinedAgents::recall(const std::vector<std::string>& lost) {
  serve(std::chrono::milliseconds(0));  // those that have gone
  state_->has_begun = false;
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->agents, [&](const auto& one) {
    return one.second.stage == Stage::given && std::ranges::find(lost, one.first) != lost.end();
  });
  for (auto& [name, agent] : state_->agents) {
    if (agent.stage != Stage::given) continue;
    agent.stage = Stage::returning;
    agent.has_served = true;
    send_line(agent.socket, {nla::kNextStart});
  }
}

bool JoinedAgents::has_returning() const {
  return std::ranges::any_of(state_->agents,
                             [](const auto& one) { return one.second.stage == Stage::returning; });
}

void JoinedAgents::drop_returning() {
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->agents, [&](const auto& one) {
    if (one.second.stage != Stage::returning) return false;
    state_->tell_gone(one.first, Stage::returning);
    return true;
  });
}

void JoinedAgents::finish(bool has_begun) {
  state_->listener.reset();
  state_->strangers.clear();
  const std::lock_guard lock(state_->mutex);
  std::vector<pollfd> open;
  for (const auto& [name, agent] : state_->agents) {
    ::setsockopt(agent.socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilentHostMs,
                 sizeof kSilentHostMs);
    if (has_begun) send_line(agent.socket, {nla::kJobIsOver});
    ::shutdown(agent.socket.get(), SHUT_WR);
    open.push_back({agent.socket.get(), POLLIN, 0});
  }
  const auto deadline = Clock::now() + kCleanPatience;
  while (!open.empty() && wait_ms(deadline) > 0) {
    retry([&] { return ::poll(open.data(), open.size(), wait_ms(deadline)); });
    std::erase_if(open, [](const pollfd& one) {
      char bytes[64];
      if (one.revents == 0) return false;
      const ssize_t got = retry([&] { return ::recv(one.fd, bytes, sizeof bytes, 0); });
      return got == 0 || (got < 0 && errno != EAGAIN);
    });
  }
  state_->agents.clear();
}

const std::string& JoinedAgents::secret() const {
  return state_->secret;
}

}  // namespace scela
