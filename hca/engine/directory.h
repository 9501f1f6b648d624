// Where an engine asks for the others of its job: a socket of datagrams, whose other end is its
// agent's.
//
//   to the agent:    listening ADDRESS     programs can connect, and other engines, here
//                    where NODE
//   from the agent:  peer NODE ADDRESS KEY there it listens, and with this key (64 digits) it is
//                                          connected to; an engine that has the job's key needs
//                                          no KEY
//                    nobody NODE           none runs there
//
// An answer may never come: who asks asks again. Its end means that nobody is there to serve for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/crypto/hmac.h"
#include "common/os/fd.h"
#include "hca/engine/endpoint.h"

namespace scela::hca {

class Directory {
 public:
  Directory() = default;
  explicit Directory(Fd socket) : socket_(std::move(socket)) {}

  bool is_there() const { return socket_.valid(); }
  int descriptor() const { return socket_.get(); }
  void tell_listening(const Endpoint& at) const;
  void ask(std::uint32_t node) const;

  struct Answer {
    std::uint32_t node = 0;
    std::optional<Endpoint> endpoint;
    std::string key = {};  // empty: none was said
    ~Answer() { wipe(key); }
  };
  enum class Came : std::uint8_t { nothing, answer, end };
  // What makes no sense is passed over.
  Came hear(Answer& answer) const;

 private:
  void tell(const std::string& text) const;

  Fd socket_;
};

}  // namespace scela::hca
