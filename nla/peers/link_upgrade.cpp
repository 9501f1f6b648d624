#include "nla/peers/link_upgrade.h"

#include <chrono>
#include <utility>

#include "common/core/text.h"
#include "nla/spawn/factory.h"

namespace scela::nla {

void LinkUpgrade::plan(LinkId id) {
  TcpUpgrade& change = children_.at(id).change;
  change.state = TcpUpgrade::State::planned;
  change.timer.emplace(context_.io);
  if (context_.settings.link == kLinkTcp) return request(id);
  change.timer->set(std::chrono::milliseconds(kChangeAgeMs), [this, id] {
    if (children_.at(id).change.state == TcpUpgrade::State::planned) request(id);
  });
}

void LinkUpgrade::request_busy() {
  for (LinkId id = 1; id <= children_.size(); ++id) {
    const ChildAgent& child = children_.at(id);
    if (child.change.state == TcpUpgrade::State::planned &&
        child.link->carried_bytes() >= kChangeBytes) {
      request(id);
    }
  }
}

void LinkUpgrade::request(LinkId id) {
  ChildAgent& child = children_.at(id);
  child.change.state = TcpUpgrade::State::asked;
  // The names of interfaces that this machine does not have are left out: an answer by one of them
  // could not be judged. A child that has no other network is reached by its host's name.
  child.change.network = judged_part(context_.settings.network, interface_addresses());
  child.link->send_link_frame(encode_ask(child.change.network));
  child.link->flush();
  // The limit is for the child's answer. After it, the connection has a limit of its own.
  child.change.timer->set(std::chrono::milliseconds(2 * context_.settings.connect_ms), [this, id] {
    failed(id, "the agent does not answer");
    context_.pump();
  });
}

void LinkUpgrade::connect(LinkId id, const Offer& offer) {
  ChildAgent& child = children_.at(id);
  if (child.change.state != TcpUpgrade::State::asked || child.change.attempt) return;
  const std::string& network = child.change.network;
  const std::string_view named =
      std::string_view(network).substr(0, network.find_last_not_of(',') + 1);
  const std::uint16_t port = offer.port;
  const bool as_reached = network.empty() || (network.ends_with(',') && offer.address.empty());
  const std::string where = as_reached ? child.contact.address : offer.address;
  const std::optional<Address> address = parse_address(where, port);
  const std::uint32_t own = context_.is_root() ? kRootNode : context_.node_index;
  SharedKey key = derive_link_key(keys_.keys().of(child.node), {context_.job_id, own, child.node});
  if (!network.empty() && offer.address.empty() && (!as_reached || port == 0))
    return failed(id, cat("it has no address in the network ", named));
  if (port == 0) return failed(id, "the agent cannot listen");
  if (!address) return failed(id, "its address is not known");
  // A node that was taken over must not choose where this agent connects. The address of the ssh
  // session is no choice of the child's.
  if (where != child.contact.address &&
      !may_be_in(context_.settings.network, where, interface_addresses()))
    return failed(id, cat(where, " is not in the network ", named));
  if (!context_.network) return failed(id, "this agent has no TLS");
  child.change.where = where;
  child.change.attempt = context_.network->connect_tls(
      context_.io, *address, port, std::move(key),
      std::chrono::milliseconds(context_.settings.connect_ms), [this, id, port](auto stream) {
        ChildAgent& one = children_.at(id);
        if (stream) {
          one.link->change_to(std::move(*stream), false);
        } else {
          failed(id, cat("connect to ", one.change.where, " port ", port, ": ", stream.error()));
        }
        context_.pump();
      });
}

void LinkUpgrade::changed(LinkId id) {
  ChildAgent& child = children_.at(id);
  // The child was not asked, or was given up as too slow.
  if (child.change.state != TcpUpgrade::State::asked) return;
  child.change.state = TcpUpgrade::State::over;
  child.change.timer->cancel();
  context_.log(LogLevel::info, Subsystem::tree,
               cat("link to ", child.contact.name, " upgraded to TCP at ", child.change.where));
}

void LinkUpgrade::failed(LinkId id, const std::string& why) {
  ChildAgent& child = children_.at(id);
  if (std::exchange(child.change.state, TcpUpgrade::State::over) == TcpUpgrade::State::over) return;
  child.change.timer->cancel();
  if (child.given_up) return;
  if (context_.settings.link == kLinkTcp) {
    // Not now: the link may be in the middle of a call.
    boost::asio::post(context_.io, [this, id, why] {
      children_.lose(id, cat("no direct connection, as --link tcp wants it: ", why));
      context_.pump();
    });
    return;
  }
  context_.log(LogLevel::info, Subsystem::tree,
               cat("link to ", child.contact.name, " stays as it is: ", why));
}

}  // namespace scela::nla
