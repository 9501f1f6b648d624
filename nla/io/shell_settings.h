// Settings that scela-run, the root, sends to the shell of every agent (its code with system calls,
// not its core): msg::Start::settings, lines of key=value.
//
// Values only. Unknown keys are ignored, so that an older agent serves a newer root. A value must
// not contain a newline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::nla {

// The value of Settings::launch for libssh, within the process.
inline constexpr char kLaunchSsh[] = "ssh";

// The values of Settings::link: the streams under links to other machines.
inline constexpr char kLinkAuto[] = "auto";  // like "ssh", then TCP if possible
inline constexpr char kLinkSsh[] = "ssh";    // the stream that started the agent
inline constexpr char kLinkTcp[] = "tcp";    // TCP, or an error

// The number of nodes that report a rendezvous point. Rank 0 is on the first of them that has an
// agent.
inline constexpr std::uint32_t kRendezvousNodes = 64;

// The settings of one job. They are the same for all its agents.
struct Settings {
  // The file of each agent's record is "<record>.<node index>"; empty: none is kept
  // (nla/core/record/record.h).
  std::string record;
  std::string directory;  // base directory; empty: TMPDIR or /tmp
  // Identifies the boot of the root's machine. An agent with the same one shares its clock.
  std::string boot_id;
  // The address of the root's machine; may be empty.
  std::string address;
  // The network of the addresses that agents tell others
  // (common/core/network/network_choice.h); empty: that by which each agent was reached.
  std::string network;
  // The number of agents that share a machine. Agent i gets the part i % shares of its processors.
  std::uint32_t shares = 1;
  // How agents start further agents on other machines: kLaunchSsh, or a program and its first words
  // (make_spawner()).
  std::string launch = kLaunchSsh;
  // The path of scela-nla on other machines; empty: it is sent there.
  std::string agent;
  // The digests of the package that is sent (Digests::text()); empty: none is sent.
  std::string package;
  // Agents that start no others may be without ssh and TLS (nla/leaf.cpp).
  bool leaf_agents = false;
  bool agent_cache = true;     // nodes keep a sent agent in the user's cache
  std::uint32_t fanout = 128;  // concurrent sessions per process, >= 1
  // The limit of each phase of a start, in milliseconds.
  std::uint32_t connect_ms = 10000;
  // One of kLinkAuto, kLinkSsh and kLinkTcp.
  std::string link = kLinkAuto;
  // The period of heartbeats between machines, in milliseconds; 0: there are none.
  std::uint32_t heartbeat_ms = 2000;
  bool forward_agent = false;  // nodes may use the user's ssh-agent
  // If set, the ranks' environment is based on the node's own. If the node lacks a command's
  // working directory, the command then runs in the home directory.
  bool node_env = false;
  // If set, nothing shows which protocol the programs use. Ranks of PMIx then find PMI-1 and PMI-2
  // too. On a node that cannot serve PMIx, ranks find only those.
  bool pmi_guessed = false;
  bool topology = false;  // a Hello carries the machine's topology
  // The first of the kRendezvousNodes nodes that say in their Hello where ranks of a training job
  // can meet on them.
  std::optional<std::uint32_t> rendezvous;
  bool measure = false;  // measure exactly (0.1 ms per agent)
  bool usage = false;    // send what each rank has used at the end
  bool trace = false;    // keep spans, and send them at the end
  friend bool operator==(const Settings&, const Settings&) = default;
};

// Returns the text that parse_settings() reads.
std::string format(const Settings& settings);
// Reads the text. Missing keys keep their defaults. Error (protocol): a line without '=', or a
// value that is not valid for its key.
Result<Settings> parse_settings(std::string_view text);

}  // namespace scela::nla
