// Starts the agents of all hosts of a job by one command, and waits until they have dialed in
// (nla/dial/dial_hello.h). The rules are pure: launcher/core/detect/bulk_command.h, its
// neighbour launcher/core/detect/bulk_roster.h, and launcher/core/detect/bulk_output.h.
// launcher/hosts/host_contacts.cpp uses this part before the session; its process and connections
// stay until the session is over.
//
// All functions block, and belong to the main thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/detect/bulk_command.h"
#include "launcher/core/report/job_report.h"

namespace scela {

// The input of a bulk start.
struct BulkRequest {
  BulkStarter starter;
  std::vector<std::string> hosts;        // of the starter
  std::string agent;                     // path of scela-nla here
  std::string agent_there;               // and on the hosts
  std::vector<std::string> environment;  // of scela-run
  std::string network;                   // --network; "": agents dial any address
  std::string secret;                    // of the job; empty: a new one is made
  std::string job_id;                    // names the directories of the job on the hosts
  // The time that may pass until the first agent dials in, and between two of them.
  std::chrono::milliseconds limit{10000};
};

class BulkStart {
 public:
  // Starts the command and waits for the agents. Returns an error (kind launch) if the command
  // cannot be executed, if no agent could connect, or once the descriptor `end` is readable. Hosts
  // without an agent are missing().
  static Result<std::unique_ptr<BulkStart>> start(const BulkRequest& request, int end = -1);
  // Ends the connections, and waits for the command, which ends when its last agent has. It is
  // killed if it does not. If the command has ended before the hosts were clean, since Slurm has
  // killed the agents, it is called again to remove the directories of the job.
  ~BulkStart();
  BulkStart(const BulkStart&) = delete;
  BulkStart& operator=(const BulkStart&) = delete;

  // Returns the contacts (nla/core/wire/contact.h) of the hosts that have an agent, in the order of
  // the request.
  const std::vector<std::string>& contacts() const;
  // Returns the other hosts, in the order of the request.
  const std::vector<MissingHost>& missing() const;
  // Returns the secret with which parents connect to the agents.
  const std::string& secret() const;
  // Returns the process of the command, which leads a session.
  pid_t pid() const;
  // Returns the last lines that the command and its agents have written (bulk_lines()), safe to
  // print.
  std::vector<std::string> output() const;

 private:
  struct State;
  explicit BulkStart(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace scela
