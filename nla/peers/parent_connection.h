// The connection to the parent agent: the first one, and those that replace it if the parent is
// lost. The shell, the code around the agent's core that makes system calls, uses this part on its
// loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nla/adopt/adoption.h"
#include "nla/dial/dial_in.h"
#include "nla/link/factory.h"
#include "nla/node/job_keys.h"
#include "nla/node/shell_context.h"

namespace scela::nla {

class ParentConnection {
 public:
  // `listener` gets the events of the link. The references are borrowed.
  ParentConnection(ShellContext& context, LinkListener& listener, JobKeys& keys);
  ~ParentConnection();

  // Makes the stream that this process was started with the link. If `out` is invalid, `in` goes
  // both ways.
  void open(Fd in, Fd out);
  // Waits for the parent, since this agent has dialed in as the node `name` (nla/dial/dial_in.h).
  // The link exists at once, and has its stream when `connected` is called, from the loop. Gives
  // the parent up if the agent cannot listen, or if scela-run closes the connection before that.
  void await(DialedIn dialed, const std::string& build, const std::string& name,
             std::function<void()> connected);
  // Returns nullptr if there is no parent at present. The root never has one.
  Link* link() { return link_.get(); }
  // Gives the parent up: closes the link by force and reports its end, with `why`, to the listener.
  void lose(std::string why);

  // Drops the link and all that belongs to it, without a report to the core.
  void close();
  // Call it if there is no parent. Listens for an adopter (a new parent) in the node's `directory`,
  // and calls `adopted` from the loop when one has connected.
  void await_adopter(const std::string& directory, std::function<void(Adopter)> adopted);
  // Makes the adopter's stream the link to the parent. Returns true if the adopter is on another
  // machine.
  bool adopt(Adopter adopter);

  // Answers the parent's request for a port, for a direct connection to it. Listens for the parent
  // and sends it the port, or 0 if this agent cannot listen. Only the first request counts.
  void offer_port();

 private:
  struct Watch;
  // Makes a link over these descriptors. If `out` is invalid, `in` goes both ways.
  std::unique_ptr<Link> make_link(Fd in, Fd out);

  ShellContext& context_;
  LinkListener& listener_;
  JobKeys& keys_;
  bool port_asked_ = false;  // offer_port() was called
  std::unique_ptr<TlsAttempt> change_listener_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<AdoptionListener> adoption_listener_;  // while there is no parent
  // To scela-run, until the parent of an agent that has dialed in connects.
  std::unique_ptr<Watch> dialed_;
  Fd adopter_line_;  // to the process of the new parent
};

}  // namespace scela::nla
