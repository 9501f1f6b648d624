// The interface of an object that serves one rank's connection, for any of the protocols. The
// agent's shell owns the socket, brings bytes and answers, and takes the output.
//
// See line_server.h for the order of calls. A server is for one thread, and no call blocks.
#pragma once

#include <string_view>
#include <vector>

#include "common/core/chunk.h"
#include "common/core/requests/rank_request.h"
#include "pmi/server/job_services.h"

namespace scela::pmi {

// LineServer serves PMI-1 and PMI-2, PmgrServer serves PMGR.
class RankServer {
 public:
  virtual ~RankServer() = default;

  // Serves bytes that the rank has sent, in pieces of any size. Complete requests go to JobServices
  // from within the call.
  virtual void receive(std::string_view bytes) = 0;
  // Brings the answer to the request that was submitted with `id`. Another id is ignored. PMI-1 and
  // PMI-2 also ignore an answer after closed(). Under PMGR such an answer may still show that the
  // ranks disagree.
  virtual void answered(ask::RequestId id, const ask::Response& answer) = 0;
  // To be called when the connection has ended. Bytes that come later are ignored.
  virtual void closed() = 0;

  // Returns the bytes to write to the rank, in this order, and removes them from the server. Empty
  // if there are none.
  virtual std::vector<Chunk> take_chunks() = 0;
  // Returns true if an end now is a failure: the rank has begun the session and has not ended it.
  virtual bool unfinished() const = 0;
  // Returns true if the rank has finalized and makes no more requests.
  virtual bool finished() const { return false; }
  // Returns true if the rank aborted or broke the protocol. Its further bytes are dropped.
  virtual bool broken() const = 0;
  // Returns false if the shell should not read from the rank for now.
  virtual bool wants_bytes() const { return !broken(); }
  // Returns true if the session is over and the shell should close once all output is written.
  virtual bool hangs_up() const { return false; }
};

}  // namespace scela::pmi
