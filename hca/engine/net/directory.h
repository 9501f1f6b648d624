// The socket by which an engine asks for the other engines of its job. Its other end is the agent
// of this node. Messages are datagrams.
//
//   to the agent:    listening ADDRESS     programs and other engines can connect here
//                    where NODE
//   from the agent:  peer NODE ADDRESS KEY the node listens there, and this key (64 digits) is that
//                                          of connections to it; an engine that has the job's key
//                                          needs no KEY
//                    nobody NODE           no engine runs there
//
// An answer may never come, so the engine asks again. The end of the socket means that there is
// nothing left to serve for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/crypto/hmac.h"
#include "common/os/fd.h"
#include "hca/engine/net/endpoint.h"

namespace scela::hca {

// This engine's end of the socket. A default-constructed object is absent: there is no agent to
// ask.
class Directory {
 public:
  Directory() = default;
  explicit Directory(Fd socket) : socket_(std::move(socket)) {}

  // Returns true if there is an agent to ask.
  bool is_there() const { return socket_.valid(); }
  int descriptor() const { return socket_.get(); }
  // Tells the agent the address at which other engines reach this one. Neither this function nor
  // the next reports a failure: the engine asks again if no answer comes.
  void tell_listening(const Endpoint& at) const;
  // Asks the agent where the engine of the node with this number listens.
  void ask(std::uint32_t node) const;

  // A message of the agent about a node.
  struct Answer {
    std::uint32_t node = 0;
    // The address where the node's engine listens, or std::nullopt if none runs there.
    std::optional<Endpoint> endpoint;
    // The bytes of the key of connections to that node, or an empty string if none was told. It is
    // wiped at the end.
    std::string key = {};
    ~Answer() { wipe(key); }
  };
  // The result of hear(). `nothing`: no message is there now. `answer`: one was received. `end`:
  // the agent has closed its end.
  enum class Received : std::uint8_t { nothing, answer, end };
  // Receives the next message into `answer`. Messages that make no sense are skipped.
  Received hear(Answer& answer) const;

 private:
  // Sends a message to the agent; a failure is ignored.
  void tell(const std::string& text) const;

  Fd socket_;
};

}  // namespace scela::hca
