#include "nla/spawn/ssh/ssh_session.h"

#include <fcntl.h>
#include <libssh/libssh.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "common/os/tcp_state.h"
#include "nla/io/address.h"
#include "nla/spawn/error_tail.h"
#include "nla/spawn/phase_timer.h"
#include "nla/spawn/ssh/agent_forward.h"
#include "nla/spawn/ssh/ssh_channel.h"
#include "nla/spawn/ssh/ssh_host_key.h"
#include "nla/spawn/ssh/ssh_login.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Ordered by cost: hardware does AES in GCM several times faster than any other cipher of the list.
constexpr char kCiphers[] =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,"
    "aes128-ctr,aes192-ctr,aes256-ctr";

void set_quick_ack(int fd) {
  // To be called again at every read. The kernel falls back to delayed acknowledgements, which cost
  // an idle handshake 40 ms a time.
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

}  // namespace

// The session.

class SshSession::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& io, Contact contact, const SshIdentities& identities,
       AuthGate& gate, std::chrono::milliseconds limit)
      : proxy_errors_(io),
        io_(io),
        contact_(std::move(contact)),
        identities_(identities),
        limit_(limit),
        login_(io, identities, gate, limit),
        watch_(io),
        timer_(io) {}
  ~Impl() { disconnect(); }

  void use_proxy(Fd stream, Fd errors) {
    socket_ = std::move(stream);
    proxied_ = true;
    if (errors) proxy_errors_.follow(std::move(errors));
  }

  void execute(const std::string& command, Done done) {
    command_ = command;
    done_ = std::move(done);
    if (channel_) end(*channel_);
    channel_.reset();
    if (session_ != nullptr) {
      enter(State::opening);
    } else if (socket_) {
      begin_exchange();
    } else {
      connect();
    }
    drive_later();
  }

  void end(SshChannel& channel);
  void disconnect();

  int exit_status() const { return channel_ ? channel_->exit_status() : -1; }
  std::string error_tail() const { return channel_ ? channel_->error_tail() : std::string(); }
  void forward_agent() { forwards_ = true; }
  void on_host_key(std::function<bool(const std::string&)> met) { met_host_key_ = std::move(met); }
  void abandon() {
    if (channel_) channel_->abandon();
  }
  void limit_silence(std::chrono::milliseconds limit) {
    scela::limit_silence(watch_.native_handle(), limit);
  }

  class Channel;

 private:
  enum class State {
    idle,
    connecting,
    exchanging,
    at_gate,
    authenticating,
    asking_agent,
    opening,
    requesting,
    running,
    failed
  };

  void connect();
  void begin_exchange();
  void enter(State state);
  void drive();
  void drive_later();
  void step();
  std::unique_ptr<Transport> make_transport();
  void exchange();
  void check_host_key();
  void pass_gate();
  void on_login(SshLogin::Progress progress);
  void ask_agent();
  void authenticated();
  void open_channel();
  void request();
  void arm();
  void on_timer();
  void fail_with(StartPhase phase, std::string why, bool hand_back = false);
  std::string session_error() const {
    return session_ == nullptr ? std::string() : std::string(::ssh_get_error(session_));
  }
  StartPhase phase() const;
  std::string where() const {
    return cat(contact_.address, " port ", contact_.port, proxied_ ? " through its proxy" : "");
  }
  std::string connect_error(int number) const;
  std::string exchange_error();

  ErrorTail proxy_errors_;
  bool proxied_ = false;
  boost::asio::io_context& io_;
  const Contact contact_;
  const SshIdentities& identities_;
  const std::chrono::milliseconds limit_;
  SshLogin login_;

  State state_ = State::idle;
  Fd socket_;         // until libssh has it
  Descriptor watch_;  // duplicate: libssh closes its own
  PhaseTimer timer_;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool posted_ = false;
  ssh_session session_ = nullptr;
  std::shared_ptr<SshChannel> channel_;  // of the last command
  std::string command_;
  Done done_;
  bool forwards_ = false;  // the node may use this side's ssh-agent
  std::unique_ptr<AgentForward> forward_;
  std::function<bool(const std::string&)> met_host_key_;
};

// Connecting.

std::string SshSession::Impl::connect_error(int number) const {
  const char* advice = number == ECONNREFUSED
                           ? "no sshd listens there: is it up, and is this its port?"
                       : number == EHOSTUNREACH || number == ENETUNREACH
                           ? "the host is down, or no network leads there"
                           : "";
  return cat("connect to ", where(), ": ", errno_text(number),
             *advice == 0 ? "" : cat(" (", advice, ")"));
}

void SshSession::Impl::connect() {
  const std::optional<Address> address = parse_address(contact_.address, contact_.port);
  if (!address) {
    return fail_with(StartPhase::resolve, cat("'", contact_.address, "' is no numeric address"));
  }
  Fd made(::socket(address->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return fail_with(StartPhase::connect, cat("make a socket: ", errno_text(errno)));
  const int on = 1;
  ::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  set_quick_ack(made.get());
  socket_ = std::move(made);
  if (::connect(socket_.get(), address->get(), address->size) != 0 && errno != EINPROGRESS) {
    return fail_with(StartPhase::connect, connect_error(errno));
  }
  enter(State::connecting);
  watch_.assign(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 3));
  watch_.async_wait(Descriptor::wait_write, [weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->state_ != State::connecting) return;
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(self->socket_.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem != 0) {
      self->fail_with(StartPhase::connect, self->connect_error(problem));
    } else {
      self->begin_exchange();
    }
    self->drive();
  });
}

void SshSession::Impl::begin_exchange() {
  if (!watch_.is_open()) watch_.assign(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 3));
  session_ = ::ssh_new();
  if (session_ == nullptr) return fail_with(StartPhase::connect, "libssh has no memory");
  ::ssh_set_blocking(session_, 0);
  const bool no = false;
  const unsigned port = contact_.port;
  const int fd = socket_.release();  // libssh closes it
  const std::string algorithms = host_key_algorithms(contact_);
  const auto set = [&](ssh_options_e option, const void* value) {
    return ::ssh_options_set(session_, option, value) == SSH_OK;
  };
  const bool good =
      set(SSH_OPTIONS_PROCESS_CONFIG, &no) && set(SSH_OPTIONS_HOST, contact_.address.c_str()) &&
      set(SSH_OPTIONS_PORT, &port) && set(SSH_OPTIONS_USER, contact_.user.c_str()) &&
      set(SSH_OPTIONS_FD, &fd) && set(SSH_OPTIONS_KNOWNHOSTS, "/dev/null") &&
      set(SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") && set(SSH_OPTIONS_CIPHERS_C_S, kCiphers) &&
      set(SSH_OPTIONS_CIPHERS_S_C, kCiphers) &&
      (identities_.agent_socket().empty() ||
       set(SSH_OPTIONS_IDENTITY_AGENT, identities_.agent_socket().c_str())) &&
      (algorithms.empty() || set(SSH_OPTIONS_HOSTKEYS, algorithms.c_str()));
  if (!good) return fail_with(StartPhase::connect, session_error());
  enter(State::exchanging);
}

void SshSession::Impl::exchange() {
  const int got = ::ssh_connect(session_);
  if (got == SSH_AGAIN) return;
  if (got == SSH_OK) return check_host_key();
  const std::string why = exchange_error();
  const bool key = session_error().find("host key algo") != std::string::npos;
  fail_with(key ? StartPhase::host_key : StartPhase::connect, why);
}

std::string SshSession::Impl::exchange_error() {
  const std::string said = last_line(proxy_errors_.text());
  if (proxied_ && !said.empty()) return cat("its proxy says: ", said);
  std::string why = session_error();
  if (why.find("host key algo") != std::string::npos) {
    return cat(where(), " has no host key of the types that are known of it (",
               host_key_algorithms(contact_), "): see what 'ssh ", contact_.name, "' says");
  }
  const auto is = [&](std::string_view words) { return why.find(words) != std::string::npos; };
  if (why.empty() || why == "Success" || is("reset by peer") || is("disconnected")) {
    return cat(where(), " closes the connection before a key is exchanged (",
               proxied_ ? "see whether its proxy works alone"
                        : "its sshd has too many sessions, bars this machine, or is none",
               ")");
  }
  return cat("key exchange with ", where(), ": ", why);
}

void SshSession::Impl::check_host_key() {
  const std::string problem = host_key_problem(session_, contact_, where(), met_host_key_);
  if (!problem.empty()) return fail_with(StartPhase::host_key, problem);
  pass_gate();
}

// Authentication.

void SshSession::Impl::pass_gate() {
  enter(State::at_gate);
  login_.enter_gate([self = weak_from_this()](bool go) {
    const auto one = self.lock();
    if (!one || one->state_ != State::at_gate) return;
    if (!go) {
      one->fail_with(StartPhase::authenticate, "this node's keys were refused elsewhere", true);
    } else {
      one->login_.passed_gate();
      one->enter(State::authenticating);
    }
    one->drive_later();
  });
}

void SshSession::Impl::on_login(SshLogin::Progress progress) {
  switch (progress) {
    case SshLogin::Progress::waiting:
      return;
    case SshLogin::Progress::asks_agent:
      return ask_agent();
    case SshLogin::Progress::accepted:
      return authenticated();
    case SshLogin::Progress::refused:
      return fail_with(StartPhase::authenticate, login_.refusal(where(), contact_.user),
                       login_.gate_closed());
    case SshLogin::Progress::failed:
      return fail_with(StartPhase::authenticate, session_error());
  }
}

void SshSession::Impl::ask_agent() {
  enter(State::asking_agent);
  const bool asked = login_.ask_agent(session_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    // The time limit may have passed.
    if (self->state_ == State::asking_agent) self->on_login(self->login_.agents_answer());
    self->drive();
  });
  if (!asked) fail_with(StartPhase::authenticate, errno_text(errno));
}

void SshSession::Impl::authenticated() {
  if (forwards_ && !identities_.agent_socket().empty()) {
    forward_ = std::make_unique<AgentForward>(io_, session_, identities_.agent_socket(),
                                              [this] { drive_later(); });
  }
  enter(State::opening);
}

// The command.

void SshSession::Impl::open_channel() {
  if (!channel_) {
    channel_ = std::make_shared<SshChannel>(
        session_, SshChannel::Needs{[this] { drive_later(); }, [this] { arm(); }});
  }
  const int got = channel_->open();
  if (got == SSH_AGAIN) return;
  if (got != SSH_OK) {
    return fail_with(StartPhase::start_agent, cat("open a channel: ", session_error()));
  }
  if (forward_) channel_->offer_agent();
  enter(State::requesting);
}

void SshSession::Impl::request() {
  const int got = channel_->execute(command_);
  if (got == SSH_AGAIN) return;
  if (got != SSH_OK) {
    return fail_with(StartPhase::start_agent, cat("execute a command: ", session_error()));
  }
  enter(State::running);
  std::exchange(done_, nullptr)(make_transport());
}

void SshSession::Impl::end(SshChannel& channel) {
  channel.end();
  if (&channel == channel_.get() && state_ == State::running) state_ = State::idle;
}

void SshSession::Impl::disconnect() {
  timer_.end();
  if (login_.let_go()) {
    ::shutdown(watch_.native_handle(), SHUT_RDWR);  // calls that wait for the host return
    session_ = nullptr;
  }
  if (state_ != State::failed) login_.leave_gate();
  if (channel_) end(*channel_);
  if (session_ != nullptr) {
    forward_.reset();
    ::ssh_disconnect(session_);
    ::ssh_free(session_);
    session_ = nullptr;
  }
  error_code ignored;
  watch_.close(ignored);
  socket_.reset();
}

// The state machine.

StartPhase SshSession::Impl::phase() const {
  switch (state_) {
    case State::idle:
    case State::connecting:
    case State::exchanging:
      return StartPhase::connect;
    case State::at_gate:
    case State::authenticating:
    case State::asking_agent:
      return StartPhase::authenticate;
    default:
      return StartPhase::start_agent;
  }
}

void SshSession::Impl::enter(State state) {
  state_ = state;
  const bool has_limit = state != State::running && state != State::at_gate;
  if (!has_limit) return timer_.end();
  timer_.begin(limit_, [self = weak_from_this()] {
    if (const auto one = self.lock()) one->on_timer();
  });
}

void SshSession::Impl::on_timer() {
  const char* what = "";
  const char* advice = "";
  switch (state_) {
    case State::connecting:
      what = " does not answer";
      advice = "the host is down, or a firewall drops packets to this port";
      break;
    case State::exchanging:
      what = " accepts connections, but no key is exchanged";
      advice = "its sshd hangs, or something else listens there";
      break;
    case State::authenticating:
      what = " does not answer to an authentication";
      advice = "its sshd hangs, perhaps on a home or a user database that does not answer";
      break;
    case State::asking_agent:
      what = " and the ssh-agent do not finish an authentication";
      advice = "see whether 'ssh-add -l' answers";
      break;
    case State::opening:
    case State::requesting:
      what = " does not execute a command";
      advice = "its sshd hangs, or the host is overloaded";
      break;
    default:
      return;
  }
  fail_with(phase(), cat(where(), what, " within ", limit_.count(), " ms (--connect-timeout; ",
                         advice, ")"));
}

void SshSession::Impl::fail_with(StartPhase phase, std::string why, bool hand_back) {
  if (state_ == State::failed) return;
  enter(State::failed);
  timer_.end();
  login_.leave_gate();
  if (!done_) return;
  // The callback may destroy the session.
  boost::asio::post(io_,
                    [done = std::exchange(done_, nullptr), phase, why = std::move(why), hand_back] {
                      done(tl::unexpected(SpawnFailure{phase, why, hand_back}));
                    });
}

void SshSession::Impl::step() {
  switch (state_) {
    case State::exchanging:
      return exchange();
    case State::authenticating:
      return on_login(login_.offer_keys(session_));
    case State::opening:
      return open_channel();
    case State::requesting:
      return request();
    case State::running:
      return channel_->serve();
    default:
      return;
  }
}

void SshSession::Impl::drive() {
  const auto keep = shared_from_this();
  for (State before = State::failed; before != state_ && state_ != State::failed;) {
    before = state_;
    step();
  }
  arm();
}

void SshSession::Impl::drive_later() {
  if (std::exchange(posted_, true)) return;
  boost::asio::post(io_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->posted_ = false;
    self->drive();
  });
}

void SshSession::Impl::arm() {
  if (session_ == nullptr || state_ == State::asking_agent || state_ == State::failed) return;
  const bool wanted = state_ != State::running || channel_->is_waited_for();
  const auto ready = [weak = weak_from_this()](bool Impl::*armed) {
    const auto self = weak.lock();
    if (!self) return;
    (*self).*armed = false;
    if (self->session_ == nullptr || self->state_ == State::asking_agent) return;
    set_quick_ack(self->watch_.native_handle());
    self->drive();
  };
  if (wanted && !std::exchange(read_armed_, true)) {
    watch_.async_wait(Descriptor::wait_read, [ready](const error_code& error) {
      if (!error) ready(&Impl::read_armed_);
    });
  }
  const bool unsent = (::ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0;
  if (unsent && !std::exchange(write_armed_, true)) {
    watch_.async_wait(Descriptor::wait_write, [ready](const error_code& error) {
      if (!error) ready(&Impl::write_armed_);
    });
  }
}

class SshSession::Impl::Channel final : public Transport {
 public:
  Channel(std::shared_ptr<Impl> impl, std::shared_ptr<SshChannel> channel)
      : impl_(std::move(impl)), channel_(std::move(channel)) {}
  ~Channel() override { impl_->end(*channel_); }
  ssize_t read(char* bytes, std::size_t size) override { return channel_->read(bytes, size); }
  ssize_t write(const iovec* parts, int count) override { return channel_->write(parts, count); }
  void wait_readable(Handler handler) override { channel_->wait_readable(std::move(handler)); }
  void wait_writable(Handler handler) override { channel_->wait_writable(std::move(handler)); }
  void wait_closed(Handler handler) override { channel_->wait_closed(std::move(handler)); }
  void limit_ahead(std::size_t bytes) override { channel_->limit_ahead(bytes); }
  void limit_silence(std::chrono::milliseconds limit) override { impl_->limit_silence(limit); }
  void end_writing() override { channel_->end_writing(); }
  void close() override { impl_->disconnect(); }
  bool is_open() const override { return channel_->is_open(); }
  std::string trouble() const override { return channel_->trouble(); }

 private:
  std::shared_ptr<Impl> impl_;
  std::shared_ptr<SshChannel> channel_;
};

std::unique_ptr<Transport> SshSession::Impl::make_transport() {
  return std::make_unique<Channel>(shared_from_this(), channel_);
}

SshSession::SshSession(boost::asio::io_context& io, Contact contact,
                       const SshIdentities& identities, AuthGate& gate,
                       std::chrono::milliseconds phase_limit)
    : impl_(std::make_shared<Impl>(io, std::move(contact), identities, gate, phase_limit)) {}
SshSession::~SshSession() = default;
void SshSession::use_proxy(Fd stream, Fd errors) {
  impl_->use_proxy(std::move(stream), std::move(errors));
}
void SshSession::execute(const std::string& command, Done done) {
  impl_->execute(command, std::move(done));
}
int SshSession::exit_status() const {
  return impl_->exit_status();
}
std::string SshSession::error_output() {
  return impl_->error_tail();
}
void SshSession::forward_agent() {
  impl_->forward_agent();
}
void SshSession::abandon() {
  impl_->abandon();
}
void SshSession::on_host_key(std::function<bool(const std::string&)> met) {
  impl_->on_host_key(std::move(met));
}

}  // namespace scela::nla
