// The connection to the parent agent: the first one, and those that replace it if the parent is
// lost. The shell uses this part, on its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nla/adopt/adoption.h"
#include "nla/link/factory.h"
#include "nla/node/job_keys.h"
#include "nla/node/shell_context.h"

namespace scela::nla {

class ParentConnection {
 public:
  // `listener` is told about the link.
  ParentConnection(ShellContext& context, LinkListener& listener, JobKeys& keys)
      : context_(context), listener_(listener), keys_(keys) {}

  // Begins with the stream that this process was started with. If `out` is invalid, `in` goes both
  // ways.
  void open(Fd in, Fd out);
  // Returns nullptr if there is no parent at present. The root never has one.
  Link* link() { return link_.get(); }
  // Gives the parent up: closes the link by force and reports its end.
  void lose(std::string why);

  // Drops the link and all that belongs to it, without a report to the core.
  void close();
  // There is no parent. Listens for an adopter in the node's `directory`, and calls `adopted` from
  // the loop when one has come.
  void await_adopter(const std::string& directory, std::function<void(Adopter)> adopted);
  // Makes the adopter's stream the link to the parent. Returns true if the adopter is on another
  // machine.
  bool adopt(Adopter adopter);

  // The parent asks for a port, for a direct connection to it. Listens for the parent and sends it
  // the port, or 0 if this agent cannot listen. Only the first request counts.
  void offer_port();

 private:
  std::unique_ptr<Link> make_link(Fd in, Fd out);

  ShellContext& context_;
  LinkListener& listener_;
  JobKeys& keys_;
  bool port_asked_ = false;  // offer_port() was called
  std::unique_ptr<TlsAttempt> change_listener_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<AdoptionListener> adoption_listener_;  // while there is no parent
  Fd adopter_line_;                                      // to the process of the new parent
};

}  // namespace scela::nla
