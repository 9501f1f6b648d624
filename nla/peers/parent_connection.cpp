#include "nla/peers/parent_connection.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "nla/guard/guardian.h"
#include "nla/io/address.h"
#include "nla/spawn/factory.h"

namespace scela::nla {

std::unique_ptr<Link> ParentConnection::make_link(Fd in, Fd out) {
  auto link = std::make_unique<Link>(context_.buffer, kParentLink, listener_);
  link->attach(out ? make_pipe_transport(context_.io, std::move(in), std::move(out))
                   : make_fd_transport(context_.io, std::move(in)));
  return link;
}

void ParentConnection::open(Fd in, Fd out) {
  link_ = make_link(std::move(in), std::move(out));
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
                                     std::function<void(Adopter)> adopted) {
  AdoptionFacts facts{directory, keys_.keys().of(context_.node_index), context_.job_id, 0};
  facts.linger_ms =
      (context_.job ? context_.job->grace_ms : kDefaultGraceMs) + kAgentSlackMs + context_.adopt_ms;
  auto opened = open_adoption_listener(context_.io, std::move(facts), context_.guardian_socket,
                                       std::move(adopted));
  // Without a listener no adopter can come, and the core's patience ends by itself.
  if (opened) adoption_listener_ = std::move(*opened);
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

void ParentConnection::offer_port() {
  if (std::exchange(port_asked_, true)) return;
  const std::optional<SshConnection> ssh = own_ssh_connection();
  const auto address = ssh ? parse_address(ssh->server, 0) : std::nullopt;
  const Introduction& parent = keys_.parent();
  const std::uint32_t parent_node = parent.root ? kRootNode : parent.parent;
  SharedKey key =
      derive_link_key(keys_.keys().of(parent.child), {parent.job_id, parent_node, parent.child});
  std::uint16_t port = 0;
  if (address && keys_.known() && context_.network) {
    auto made = context_.network->accept_tls(
        context_.io, *address, std::move(key),
        std::chrono::milliseconds(context_.settings.connect_ms), [this](auto stream) {
          // The parent's stream may have ended in the same turn.
          if (stream && link_) link_->change_to(std::move(*stream), true);
        });
    if (made) {
      change_listener_ = std::move(*made);
      port = change_listener_->port();
    }
  }
  link_->send_link_frame(encode_offer(port));
  link_->flush();
}

}  // namespace scela::nla
