// Takes agents that join while a start of the job runs (launcher/hosts/late/joined_agents.h). The
// session uses it, in the thread of its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launcher/core/hosts/hostfile.h"
#include "launcher/hosts/late/joined_agents.h"
#include "launcher/io/watched.h"

namespace scela {

class JoinWatch {
 public:
  // The functions that the session provides. Both are called from the loop.
  struct Hooks {
    std::function<void(const std::string& line)> tell;  // lines for the user, without newline
    std::function<void(const HostEntry& host)> came;    // an agent has joined late
  };

  // Begins to take agents. They are refused if `takes_late` is false. `io` must outlive this
  // object. If no descriptor is left, agents wait until the next start.
  JoinWatch(boost::asio::io_context& io, std::shared_ptr<JoinedAgents> joined, bool takes_late,
            Hooks hooks);
  ~JoinWatch();
  JoinWatch(const JoinWatch&) = delete;
  JoinWatch& operator=(const JoinWatch&) = delete;

 private:
  void wait();

  const std::shared_ptr<JoinedAgents> joined_;
  const Hooks hooks_;
  Watched ready_;
};

}  // namespace scela
