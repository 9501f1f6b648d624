// How an agent that has lost its parent gets another one: the door that it opens, and the process
// that knocks (scela-nla --attach, started on the node by the adopter).
//
//   adopter ══ stream ══ scela-nla --attach ── socket in the node's private directory ── orphan
//
// The two prove to each other that they know the node's key (challenge and response, HMAC-SHA256,
// each with a word of its own, so that no answer serves as the other side's). The orphan and those
// who may adopt it have that key (nla/node_keys.h). Then the descriptors
// of the stream are passed to the orphan, which goes on with them as its link. The attached process
// stays for as long as the orphan's guardian, whose leash it is given to watch: that it has ended
// is the promise that nothing is left on the node. The key comes to it as the stream's first frame
// (LinkFrame::introduce) and is never an argument, in the environment or in a file.
//
// The door serves one at a time, drops whoever is not quick or not of this user, and closes when
// somebody has come in.
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

inline constexpr std::uint32_t kAnswerMs = 3000;  // for one record of the other side

struct AdoptionFacts {
  std::string directory;  // the node's, private
  std::string key;        // the node's
  std::string job_id;
  std::uint32_t linger_ms = 0;          // how long an agent may outlive its parent
  std::uint32_t answer_ms = kAnswerMs;  // how long one record of a visitor may take
};

struct Adopter {
  Fd in;
  Fd out;   // invalid: `in` goes both ways
  Fd line;  // to the attached process: closed when this agent goes on without it
  bool remote = false;
  bool root = false;  // scela-run itself
  std::string ssh;    // SSH_CONNECTION there
};

class AdoptionDoor {
 public:
  virtual ~AdoptionDoor() = default;
};
// `leash` is lent. `adopted` is called at most once, from the event loop.
// Error (launch): there can be no such socket.
Result<std::unique_ptr<AdoptionDoor>> open_adoption_door(boost::asio::io_context& io,
                                                         AdoptionFacts facts, const Fd& leash,
                                                         std::function<void(Adopter)> adopted);

struct Attachment {
  std::string job_id;
  std::string directory;  // the node's
  std::uint32_t wait_ms = 0;
  int in = -1;
  int out = -1;  // -1: `in` goes both ways
  bool remote = false;
  char* mark_room = nullptr;  // in its command line (agent_mark.h)
};
// The arguments of scela-nla that make it one, after those that say how it is linked.
std::vector<std::string> attach_words(const std::string& job_id, const std::string& base,
                                      std::uint32_t wait_ms);
// The whole life of scela-nla --attach: its exit status. Blocks.
int run_attached(const Attachment& request);

// The directory of a node of a job; `base` empty: TMPDIR or /tmp.
std::string node_directory(const std::string& base, std::string_view job_id, std::string_view node);

}  // namespace scela::nla
