// The first words of an agent that dials in, and the keys of its links.
//
// A bulk starter (srun, flux exec) starts the agents of all nodes by one command, and carries no
// stream of theirs. Each agent therefore connects to scela-run by TCP, says which node it is
// on, and listens for its parent. The parent, scela-run or another agent, connects by TLS.
//
//   agent -> scela-run   scela-dial BUILD NAME ADDRESS PORT PROOF\n
//   parent -> agent      TLS 1.3 with the key of dial_link_key(), then a link as any other
//   agent -> scela-run   one byte, kNodeIsClean, and the end of the connection
//
// All agents have one secret, which scela-run has made for the job. It reaches them on standard
// input. The hello has nothing that must be kept from others. The proof shows that the agent knows
// the secret. Values only, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/crypto/tls_session.h"

namespace scela::nla {

// The secret's size, in hexadecimal digits.
inline constexpr std::size_t kDialSecretDigits = 64;
// The last word of an agent to scela-run: nothing of the job is left on its node.
inline constexpr char kNodeIsClean = '.';
// The most bytes of a hello, with its newline.
inline constexpr std::size_t kMaxDialHello = 1024;

// Returns a new secret. It blocks until the kernel has random bytes.
std::string new_dial_secret();

// Returns a proof for `words`, in hexadecimal digits. It reveals neither the secret nor a proof for
// another purpose.
std::string keyed_proof(std::string_view words, std::string_view secret, std::string_view purpose);

// An agent that waits for its parent.
struct DialHello {
  std::string build;    // of the agent (AgentFile::build())
  std::string name;     // of its node, as the starter or the machine calls it
  std::string address;  // numeric; the agent listens there
  std::uint16_t port = 0;
  friend bool operator==(const DialHello&, const DialHello&) = default;
};

// Returns the line of a hello, with its newline.
std::string format(const DialHello& hello, std::string_view secret);
// Reads a line without its newline. Returns a protocol error if it is malformed, or if its proof
// does not belong to the secret.
Result<DialHello> parse_dial_hello(std::string_view line, std::string_view secret);

// Returns the key of the link from the agent of the node `name` to its parent.
SharedKey dial_link_key(std::string_view secret, std::string_view name);

}  // namespace scela::nla
