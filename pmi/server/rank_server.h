// What serves one rank's connection, whatever protocol it speaks: the shell brings bytes and
// answers, takes what is to be written, and owns the socket.
//
// See line_server.h for the order of calls. Not for several threads.
#pragma once

#include <string_view>
#include <vector>

#include "common/core/chunk.h"
#include "pmi/protocol/collective.h"
#include "pmi/protocol/request.h"
#include "pmi/server/job_services.h"

namespace scela::pmi {

class RankServer {
 public:
  virtual ~RankServer() = default;

  virtual void receive(std::string_view bytes) = 0;
  // The answer to request `id`; late ones (after closed(), or of another id) are ignored.
  virtual void answered(RequestId id, const Answer& answer) = 0;
  virtual void collected(RequestId id, const Collected& result) = 0;
  // The connection ended: nothing more is asked of the job or written to the rank.
  virtual void closed() = 0;

  // Everything to write to the rank since the last call.
  virtual std::vector<Chunk> take_chunks() = 0;
  // Ending now is a failure: the rank has begun the conversation and not ended it.
  virtual bool unfinished() const = 0;
  // The rank has taken leave, and asks for nothing more.
  virtual bool finished() const { return false; }
  // The rank aborted or broke the protocol: what it sends from now on is dropped.
  virtual bool broken() const = 0;
  // False: what it sends meanwhile had better stay with it.
  virtual bool wants_bytes() const { return !broken(); }
  // The conversation is over: close when all is written.
  virtual bool hangs_up() const { return false; }
};

}  // namespace scela::pmi
