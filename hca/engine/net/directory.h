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

class Directory {
 public:
  Directory() = default;
  explicit Directory(Fd socket) : socket_(std::move(socket)) {}

  bool is_there() const { return socket_.valid(); }
  int descriptor() const { return socket_.get(); }
  // Neither reports a failure. The engine asks again if no answer comes.
  void tell_listening(const Endpoint& at) const;
  void ask(std::uint32_t node) const;

  struct Answer {
    std::uint32_t node = 0;
    // This has no value if no engine runs there.
    std::optional<Endpoint> endpoint;
    std::string key = {};  // empty: none was told
    ~Answer() { wipe(key); }
  };
  // `nothing`: no message is there now. `end`: the agent has closed its end.
  enum class Came : std::uint8_t { nothing, answer, end };
  // Returns the next message. Messages that make no sense are skipped.
  Came hear(Answer& answer) const;

 private:
  void tell(const std::string& text) const;

  Fd socket_;
};

}  // namespace scela::hca
