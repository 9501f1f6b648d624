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
  // the parent up if the agent cannot listen, or if scela-run closes the connection before that. If
  // scela-run closes it later, the agent waits for no adopter. Adopters connect to the same port.
  void await(DialedIn dialed, const std::string& build, const std::string& name,
             std::function<void()> connected);
  // Returns true if scela-run has closed the connection and no parent has ever come, for a job that
  // has not begun (nla/dial/join_words.h).
  bool was_in_vain() const { return in_vain_; }
  // Returns nullptr if there is no parent at present. The root never has one.
  Link* link() { return link_.get(); }
  // Gives the parent up: closes the link by force and reports its end, with `why`, to the listener.
  void lose(std::string why);

  // Drops the link and all that belongs to it, without a report to the core.
  void close();
  // Call it if there is no parent. Listens for an adopter (a new parent) in the node's `directory`,
  // and calls `adopted` from the loop when one has connected. An agent that has dialed in listens
  // at its port; then the adopter's stream is the link already, and `connected` is called instead.
  void await_adopter(const std::string& directory, std::function<void(Adopter)> adopted,
                     std::function<void()> connected);
  // Makes the adopter's stream the link to the parent. Returns true if the adopter is on another
  // machine.
  bool adopt(Adopter adopter);

  // Answers the parent's request for a port, for a direct connection to it. Listens for the parent
  // and sends it the port, or 0 if this agent cannot listen. `payload` is that of the request
  // (LinkFrame::ask). Only the first request counts.
  void offer_port(const std::string& payload);

 private:
  struct Watch;
  // Makes a link over these descriptors. If `out` is invalid, `in` goes both ways.
  std::unique_ptr<Link> make_link(Fd in, Fd out);
  // Takes the first parent, and waits again if none has come in a while.
  void await_first(const SharedKey& key, std::function<void()> connected);
  // Takes an adopter that proves the node's key at the port of an agent that has dialed in.
  void await_at_port(std::function<void()> connected);

  ShellContext& context_;
  LinkListener& listener_;
  JobKeys& keys_;
  bool port_asked_ = false;  // offer_port() was called
  // The port of an agent that has dialed in. It stays open, so that no other process gets it, and
  // an adopter that comes too early waits.
  Fd dial_port_;
  std::unique_ptr<TlsAttempt> change_listener_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<AdoptionListener> adoption_listener_;  // while there is no parent
  // To scela-run, which says there that this start of the job is over. For an agent that has dialed
  // in; else nullptr.
  std::unique_ptr<Watch> dialed_;
  bool has_parent_ = false;  // a parent has connected to the agent that has dialed in
  bool start_over_ = false;  // scela-run has said so, or has ended
  bool in_vain_ = false;     // it has ended, and no parent has ever come
  Fd adopter_line_;          // to the process of the new parent
};

}  // namespace scela::nla
