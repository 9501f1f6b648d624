// What the root tells every agent's shell (not its core): msg::Start::settings, lines of key=value.
//
// Values only. Unknown keys are ignored, so that an older agent serves a newer root. A value may
// not hold a newline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::nla {

inline constexpr char kLaunchSsh[] = "ssh";  // by libssh, within the process

// What links to other machines run over.
inline constexpr char kLinkAuto[] = "auto";  // what started the agent, then TCP where that can be
inline constexpr char kLinkSsh[] = "ssh";    // what started the agent, to the end
inline constexpr char kLinkTcp[] = "tcp";    // TCP, or it is an error

struct Settings {
  std::string record;        // agents record their core's events in "<record>.<node index>"
  std::string directory;     // where nodes make their directories; empty: TMPDIR or /tmp
  std::string boot_id;       // of the root's machine: agents there share its clock
  std::string address;       // of that machine, as others reach it; empty: there are no others
  std::uint32_t shares = 1;  // agents that share a machine's processors; agent i: i % shares
  // How agents start further agents on other machines.
  std::string launch = kLaunchSsh;  // "ssh", or a program and its arguments, see make_spawner()
  std::string agent;                // path of scela-nla there; empty: it is shipped
  std::uint32_t fanout = 128;       // sessions that one process has under way at a time, at least 1
  std::uint32_t connect_ms = 10000;   // limit of each phase of a start
  std::string link = kLinkAuto;       // of the three
  std::uint32_t heartbeat_ms = 2000;  // of links that leave the machine; 0: none
  bool forward_agent = false;         // nodes may use the ssh-agent of whoever started them
  // Ranks' environment stands on the node's own, and a command whose directory the node lacks runs
  // at home.
  bool node_env = false;
  // Nothing shows what the programs speak: ranks of PMIx find PMI-1 and PMI-2 too, and on a node
  // that cannot serve PMIx only those.
  bool pmi_guessed = false;
  bool topology = false;  // agents tell of their machine's in their Hello
  bool measure = false;   // measure memory exactly (about 0.1 ms per agent)
  bool trace = false;     // keep spans, and send them at the end
  friend bool operator==(const Settings&, const Settings&) = default;
};

std::string format(const Settings& settings);
// Error (protocol): a line without '=', or a number that is none.
Result<Settings> parse_settings(std::string_view text);

}  // namespace scela::nla
