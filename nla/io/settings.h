// Settings that the root tells every agent's shell (not its core): msg::Start::settings, lines of
// key=value.
//
// Values only. Unknown keys are ignored, so that an older agent serves a newer root. A value must
// not contain a newline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::nla {

inline constexpr char kLaunchSsh[] = "ssh";  // by libssh, within the process

// The streams under links to other machines.
inline constexpr char kLinkAuto[] = "auto";  // like "ssh", then TCP if possible
inline constexpr char kLinkSsh[] = "ssh";    // the stream that started the agent
inline constexpr char kLinkTcp[] = "tcp";    // TCP, or an error

struct Settings {
  std::string record;        // core's events: "<record>.<node index>"
  std::string directory;     // base directory; empty: TMPDIR or /tmp
  std::string boot_id;       // of the root's machine: shares its clock
  std::string address;       // of the root's machine; may be empty
  std::uint32_t shares = 1;  // agents on a machine; agent i: i % shares
  // How agents start further agents on other machines.
  std::string launch = kLaunchSsh;    // or a program and words (make_spawner())
  std::string agent;                  // path of scela-nla there; empty: ship it
  std::uint32_t fanout = 128;         // concurrent sessions per process, >= 1
  std::uint32_t connect_ms = 10000;   // limit of each phase of a start
  std::string link = kLinkAuto;       // one of the three
  std::uint32_t heartbeat_ms = 2000;  // of links between machines; 0: none
  bool forward_agent = false;         // nodes may use the user's ssh-agent
  // If set, the ranks' environment is based on the node's own, and a command runs in the home
  // directory if the node lacks its working directory.
  bool node_env = false;
  // If set, nothing shows which protocol the programs use. Ranks of PMIx then find PMI-1 and PMI-2
  // too. On a node that cannot serve PMIx, ranks find only those.
  bool pmi_guessed = false;
  bool topology = false;  // a Hello carries the machine's topology
  bool measure = false;   // measure exactly (0.1 ms per agent)
  bool trace = false;     // keep spans, and send them at the end
  friend bool operator==(const Settings&, const Settings&) = default;
};

std::string format(const Settings& settings);
// Error (protocol): a line without '=', or a value that is not valid for its key.
Result<Settings> parse_settings(std::string_view text);

}  // namespace scela::nla
