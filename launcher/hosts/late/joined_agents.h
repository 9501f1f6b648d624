// The agents that join a job by themselves (--listen, scela-nla --join), where nothing can start
// agents: they connect in any order, and prove the job's key (nla/dial/join_words.h). Each of them
// is a host of the job. launcher/hosts/host_discovery.cpp waits for them, and
// launcher/hosts/host_contacts.cpp passes on how they are reached. While the job runs,
// launcher/hosts/late/join_watch.h takes those that come late.
//
// The connections stay open for as long as this object, over all starts of a job: an agent ends if
// its own is closed. The main thread calls the functions; contact() may be called in any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/hosts/hostfile.h"

namespace scela {

// The input of JoinedAgents::listen().
struct JoinSettings {
  std::string place;     // of --listen: PORT, ADDRESS:PORT, or [ADDRESS]:PORT
  std::string key_file;  // --key-file
  std::string agent;     // path of scela-nla here; those that join must be of its build
  std::function<void(const std::string& line)> tell;  // lines for the user, without newline
};

class JoinedAgents {
 public:
  // Listens, with a new secret. Returns an error (kind usage) if the key cannot be used or the
  // address is malformed, and (kind launch) if the system refuses to listen there.
  static Result<std::unique_ptr<JoinedAgents>> listen(const JoinSettings& settings);
  ~JoinedAgents();
  JoinedAgents(const JoinedAgents&) = delete;
  JoinedAgents& operator=(const JoinedAgents&) = delete;

  // Takes agents for this long, or until one has joined or has gone, or the descriptor `end` is
  // readable. Blocks.
  void serve(std::chrono::milliseconds limit, int end = -1);
  // Returns a descriptor that is readable if serve() has something to do.
  int descriptor() const;
  // Returns the hosts with an agent: first those that were in the last start of the job, and in
  // these groups by name. Agents of the start that runs now are not among them.
  std::vector<HostEntry> hosts() const;
  // Returns the contact (nla/core/wire/contact.h) of the host's agent, which thereby belongs to the
  // start that begins or runs. Returns std::nullopt if there is none.
  std::optional<std::string> contact(const std::string& host);
  // Returns the secret with which parents connect to the agents.
  const std::string& secret() const;

  // Says that a start of the job begins. Agents that come from now on are late. They are refused
  // if `takes_late` is false.
  void begin(bool takes_late);
  // Returns the hosts of late agents that have come since the last call.
  std::vector<HostEntry> late();
  // Says where lines for the user go from now on.
  void tell_by(std::function<void(const std::string& line)> tell);
  // Says that the start is over, and another one follows. Ends the agents of the `lost` hosts, and
  // has the others of this start come again, as serve() notices.
  void recall(const std::vector<std::string>& lost);
  // Returns true if agents of the last start have not come again yet.
  bool has_returning() const;
  // Gives up the agents that have not come again.
  void drop_returning();
  // Lets all agents go, and waits until nothing of the job is left on their hosts. `has_begun` says
  // that ranks of the job ran; agents that had no part in it are told so. Blocks for at most ten
  // seconds.
  void finish(bool has_begun);

 private:
  struct State;
  explicit JoinedAgents(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace scela
