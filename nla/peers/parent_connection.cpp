#include "nla/peers/parent_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "common/core/text.h"
#include "common/crypto/hmac.h"
#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "nla/dial/dial_hello.h"
#include "nla/guard/guardian.h"
#include "nla/io/address.h"
#include "nla/spawn/factory.h"

namespace scela::nla {

namespace {

// The time of one wait for the parent of an agent that has dialed in, after which the next one
// begins. A stranger that says nothing is dropped after a part of it. scela-run ends the connection
// to an agent that it does not need.
constexpr std::chrono::minutes kAwaitParent{1};

using Descriptor = boost::asio::posix::stream_descriptor;

// Returns true if the peer has ended the connection without a further word.
bool has_ended(int socket) {
  char word = 0;
  const ssize_t got = retry([&] { return ::recv(socket, &word, 1, MSG_PEEK | MSG_DONTWAIT); });
  return got == 0 || (got < 0 && errno != EAGAIN);
}

Fd copy_of(const Fd& socket) {
  return Fd(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
}

}  // namespace

// A connection of which the end is awaited.
struct ParentConnection::Watch {
  Watch(boost::asio::io_context& io, int fd) : socket(io, fd) {}
  Descriptor socket;
};

ParentConnection::ParentConnection(ShellContext& context, LinkListener& listener, JobKeys& keys)
    : context_(context), listener_(listener), keys_(keys) {}
ParentConnection::~ParentConnection() = default;

std::unique_ptr<Link> ParentConnection::make_link(Fd in, Fd out) {
  auto link = std::make_unique<Link>(context_.buffer, kParentLink, listener_);
  link->attach(out ? make_pipe_transport(context_.io, std::move(in), std::move(out))
                   : make_fd_transport(context_.io, std::move(in)));
  return link;
}

void ParentConnection::open(Fd in, Fd out) {
  link_ = make_link(std::move(in), std::move(out));
}

void ParentConnection::await(DialedIn dialed, const std::string& build, const std::string& name,
                             std::function<void()> connected) {
  link_ = std::make_unique<Link>(context_.buffer, kParentLink, listener_);
  const auto fail_later = [this](std::string why) {
    boost::asio::post(context_.io, [this, why = std::move(why)] {
      if (link_) lose(why);
      context_.pump();
    });
  };
  if (context_.network == nullptr) return fail_later("this agent has no TLS");
  auto port = listen_at(dialed.own, kMaxUnproven);
  if (!port) return fail_later(port.error().text());
  dial_port_ = std::move(*port);
  await_first(dial_link_key(dialed.secret, name), std::move(connected));
  port_asked_ = true;  // the link does not change any more
  const std::string hello =
      format({build, name, dialed.own_text, dialed.own.port()}, dialed.secret);
  wipe(dialed.secret);
  // A new connection has room for a hello.
  const auto size = static_cast<ssize_t>(hello.size());
  if (::send(dialed.socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != size)
    return fail_later(cat("scela-run does not take the hello: ", errno_text(errno)));
  dialed_ = std::make_unique<Watch>(context_.io, dialed.socket.release());
  // The guardian reads what scela-run writes. It says that this start of the job is over.
  dialed_->socket.async_wait(Descriptor::wait_read, [this, fail_later](const auto& error) {
    if (error) return;
    start_over_ = true;
    in_vain_ = !has_parent_ && has_ended(dialed_->socket.native_handle());
    if (!has_parent_) return fail_later("scela-run does not need this agent");
    if (link_) return;
    context_.emit(event::TimerFired{Timer::adopt});
    context_.pump();
  });
}

void ParentConnection::await_first(const SharedKey& key, std::function<void()> connected) {
  change_listener_ = context_.network->accept_tls(
      context_.io, copy_of(dial_port_), key, kAwaitParent,
      [this, key, connected = std::move(connected)](auto stream) {
        if (!link_) return;
        if (!stream) {
          // Not now: the listener is in the middle of a call.
          return boost::asio::post(context_.io, [this, key, connected] {
            if (link_) await_first(key, connected);
          });
        }
        has_parent_ = true;
        link_->attach(std::move(*stream));
        connected();
        context_.pump();
      });
}

void ParentConnection::lose(std::string why) {
  link_->close_now();
  listener_.on_ended(kParentLink, std::move(why));
}

// Destroys the old stream later, since it may be in the middle of a call.
void ParentConnection::close() {
  if (change_listener_) {
    boost::asio::post(
        context_.io,
        [old = std::make_shared<decltype(change_listener_)>(std::move(change_listener_))] {});
  }
  adopter_line_.reset();
  if (adoption_listener_) {
    boost::asio::post(context_.io,
                      [old = std::shared_ptr<AdoptionListener>(std::move(adoption_listener_))] {});
  }
  if (!link_) return;
  link_->close_now();
  boost::asio::post(context_.io, [old = std::shared_ptr<Link>(std::move(link_))] {});
}

void ParentConnection::await_adopter(const std::string& directory,
                                     std::function<void(Adopter)> adopted,
                                     std::function<void()> connected) {
  if (dial_port_) return await_at_port(std::move(connected));
  AdoptionFacts facts{directory, keys_.keys().of(context_.node_index), context_.job_id, 0};
  facts.linger_ms =
      (context_.job ? context_.job->grace_ms : kDefaultGraceMs) + kAgentSlackMs + context_.adopt_ms;
  auto opened = open_adoption_listener(context_.io, std::move(facts), context_.guardian_socket,
                                       std::move(adopted));
  // Without a listener no adopter can come, and the core's patience ends by itself.
  if (opened) adoption_listener_ = std::move(*opened);
}

// The guardian of such an agent is not told: it watches scela-run, which no adopter replaces.
void ParentConnection::await_at_port(std::function<void()> connected) {
  if (start_over_) return context_.emit(event::TimerFired{Timer::adopt});
  SharedKey key = derive_link_key(keys_.keys().of(context_.node_index),
                                  {context_.job_id, kAdopterNode, context_.node_index});
  change_listener_ = context_.network->accept_tls(
      context_.io, copy_of(dial_port_), std::move(key),
      std::chrono::milliseconds(context_.adopt_ms),
      [this, connected = std::move(connected)](auto stream) {
        if (!stream || link_) return;  // the core's patience ends by itself
        link_ = std::make_unique<Link>(context_.buffer, kParentLink, listener_);
        link_->attach(std::move(*stream));
        connected();
        context_.pump();
      });
}

bool ParentConnection::adopt(Adopter adopter) {
  close();
  adopter_line_ = std::move(adopter.line);
  link_ = make_link(std::move(adopter.in), std::move(adopter.out));
  tell_adopted(context_.guardian_socket);
  if (!adopter.remote) return false;
  keys_.set_parent_is_root(adopter.root);
  ::setenv("SSH_CONNECTION", adopter.ssh.c_str(), 1);  // to ask for the new parent's machine
  return true;
}

void ParentConnection::offer_port(const std::string& payload) {
  if (std::exchange(port_asked_, true)) return;
  Offer offer;
  std::optional<Address> address;
  const Ask ask(payload);
  if (!ask.network.empty()) {
    // If this machine has no address in the network of the user, the start of its ranks says so.
    offer.address = address_in_network(ask.network).value_or("");
    address = parse_address(offer.address, 0);
  }
  if (!address && ask.may_be_as_reached) {
    if (const auto ssh = own_ssh_connection()) address = parse_address(ssh->server, 0);
  }
  const Introduction& parent = keys_.parent();
  const std::uint32_t parent_node = parent.root ? kRootNode : parent.parent;
  SharedKey key =
      derive_link_key(keys_.keys().of(parent.child), {parent.job_id, parent_node, parent.child});
  if (address && keys_.known() && context_.network) {
    if (auto listening = listen_at(*address, kMaxUnproven)) {
      offer.port = address->port();
      change_listener_ = context_.network->accept_tls(
          context_.io, std::move(*listening), std::move(key),
          std::chrono::milliseconds(context_.settings.connect_ms), [this](auto stream) {
            // The parent's stream may have ended in the same turn.
            if (stream && link_) link_->change_to(std::move(*stream), true);
          });
    }
  }
  link_->send_link_frame(encode(offer));
  link_->flush();
}

}  // namespace scela::nla
