// How an agent that has lost its parent gets another one. The orphaned agent opens a listener, a
// listening socket. The adopter starts scela-nla --attach on the node, and this process connects to
// the socket.
//
//   adopter ══ stream ══ scela-nla --attach ── socket in the node's private directory ── orphan
//
// Both ends prove to each other that they know the node's key, by challenge and response with
// HMAC-SHA256. Each side's proof includes a word of its own, so that no answer serves as the other
// side's. Only the orphan and the agents that may adopt it have this key (nla/keys/node_keys.h).
// Then the descriptors of the stream are passed to the orphan, which uses them as its link from
// then on.
//
// The attached process stays for as long as the orphan's guardian, and is given the
// guardian's socket to watch. Its end is the promise that nothing is left on the node. The key
// reaches it as the first frame of the stream (LinkFrame::introduce); it is never an argument, in
// the environment or in a file.
//
// The listener serves one connection at a time. It drops a connection that is too slow or that
// belongs to another user, and closes once an adopter has been accepted. The listener runs on the
// shell's event loop, in one thread. run_attached() is a process of its own and blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

// The limit, in milliseconds, for one record of the peer.
inline constexpr std::uint32_t kAnswerMs = 3000;

// The facts that an orphaned agent's listener needs.
struct AdoptionFacts {
  std::string directory;  // private directory of the node
  std::string key;        // the node's key
  std::string job_id;
  // How long, in milliseconds, the agent may outlive its new parent. The attached process then
  // kills the agent.
  std::uint32_t linger_ms = 0;
  // The limit, in milliseconds, for one record of the peer.
  std::uint32_t answer_ms = kAnswerMs;
};

// A new parent that has proved the key, with the stream to it.
struct Adopter {
  Fd in;
  Fd out;  // invalid: `in` goes both ways
  // The socket to the attached process. The agent closes it when it changes parents again.
  Fd line;
  // The adopter is on another machine.
  bool remote = false;
  bool root = false;  // the adopter is scela-run itself
  std::string ssh;    // its value of SSH_CONNECTION
};

// An open listener. Its destruction closes the socket.
class AdoptionListener {
 public:
  virtual ~AdoptionListener() = default;
};
// Begins to listen in the node's directory. `guardian_socket` is borrowed. `adopted` is called at
// most once, from the event loop, and may destroy the listener. Error (launch): the socket cannot
// be created in the directory.
Result<std::unique_ptr<AdoptionListener>> open_adoption_listener(
    boost::asio::io_context& io, AdoptionFacts facts, const Fd& guardian_socket,
    std::function<void(Adopter)> adopted);

// The options of a process scela-nla --attach.
struct Attachment {
  std::string job_id;
  std::string directory;  // private directory of the node
  // How long, in milliseconds, the process waits for an orphan to listen.
  std::uint32_t wait_ms = 0;
  // The descriptors of the stream to the adopter.
  int in = -1;
  int out = -1;  // -1: `in` goes both ways
  bool remote = false;
  char* mark_room = nullptr;  // in its command line (nla/guard/agent_mark.h)
};
// Returns the arguments that make scela-nla an attached process. They follow the arguments that say
// how it is linked. `base` is the base directory of node_directory(), and `wait_ms` as in
// Attachment.
std::vector<std::string> attach_words(const std::string& job_id, const std::string& base,
                                      std::uint32_t wait_ms);
// Runs scela-nla --attach from start to end. Returns its exit status. Blocks.
int run_attached(const Attachment& request);

// Returns the path of the directory of a node of a job; `node` is the host's name. If `base` is
// empty, it is below TMPDIR or /tmp.
std::string node_directory(const std::string& base, std::string_view job_id, std::string_view node);

}  // namespace scela::nla
