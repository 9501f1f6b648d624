// Which agents of a bulk start have dialed in, and how long scela-run waits for more of them.
// launcher/hosts/bulk/bulk_start.cpp keeps the sockets and the clock. Pure.
//
// Agents come in any order, and each says which host it is on. Its words are proved before
// (nla/dial/dial_hello.h). An agent is admitted if it has the right build, if its host is one of
// the job, and if it is the first of its host.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scela {

// Returns the position in `hosts` of the host that calls itself `name`. An equal name precedes
// names that are equal but for a domain behind one of them. Returns std::nullopt if no host has the
// name, or if several ones could be meant.
std::optional<std::size_t> host_called(std::span<const std::string> hosts, std::string_view name);

class BulkRoster {
 public:
  // Points in time are on any clock that goes on.
  using Time = std::chrono::milliseconds;

  // `limit` is the time that may pass until the first agent comes, and between two of them.
  BulkRoster(std::vector<std::string> hosts, std::string build, Time limit, Time now);

  // Admits an agent that calls its host `name`, and returns the position of the host. Returns
  // std::nullopt if the agent is refused.
  std::optional<std::size_t> admit(std::string_view name, std::string_view build, Time now);
  // Returns the time left to wait for the next agent. It is 0 if all have come, or if the next one
  // is late.
  Time left(Time now) const;

 private:
  std::vector<std::string> hosts_;
  std::string build_;
  Time limit_;
  Time deadline_;
  std::vector<bool> has_agent_;  // by host
  std::size_t missing_;
};

}  // namespace scela
