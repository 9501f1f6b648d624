// Serves one rank's PMI-1 or PMI-2 connection, without the socket. The agent's shell brings bytes
// and answers and takes output. The rank's first line says if the rank speaks PMI-1 or PMI-2.
//
//   read:      server.receive(bytes);   write(server.take_output());
//   Reply:     server.answered(id, answer);   write(server.take_output());
//   EOF:       server.closed();   if (server.unfinished()) the rank ended without finalize
//
// Knows no descriptor, no event loop and no tree. Borrows JobServices, which must outlive it. For
// one thread. Services may call answered() from within the call that they answer. The server never
// blocks; its memory is bounded as in pmi/protocol/pmi1/pmi1.h and pmi2.h. The shell stops reading
// once broken() returns true.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pmi/protocol/pmi1/pmi1.h"
#include "pmi/protocol/pmi2/pmi2_session.h"
#include "pmi/server/rank_server.h"

namespace scela::pmi {

class LineServer final : public RankServer {
 public:
  // `services` is borrowed. `rank` is numbered as in the whole job. The constructor asks `services`
  // for the rank's facts.
  LineServer(JobServices& services, Rank rank);

  // The contract is in pmi/server/rank_server.h. receive() serves bytes of the rank in pieces of
  // any size; answered() brings the job's answer to the request `id`; closed() must be called when
  // the connection has ended. Unknown ids and calls after closed() are ignored.
  void receive(std::string_view bytes) override;
  void answered(ask::RequestId id, const ask::Response& answer) override;
  void closed() override;

  // Return the bytes to write to the rank since the last call: as one text, or as one chunk or
  // none.
  std::string take_output();
  std::vector<Chunk> take_chunks() override;
  // Returns true if the rank has sent init but not finalize.
  bool unfinished() const override { return pmi2_ ? pmi2_->unfinished() : pmi1_.unfinished(); }
  // Returns true if the rank has sent finalize by PMI-1. Always false for PMI-2.
  bool finished() const override { return !pmi2_ && pmi1_.finalized(); }
  // Returns true if the rank has aborted or broken the protocol.
  bool broken() const override { return broken_; }

 private:
  // Passes requests on to the services until next() has none.
  void pump();
  // Passes one request on to the services, and answers those that this node answers alone.
  void submit(SessionRequest request);
  // Answers the request `id`, which this node answers alone. `why` is the error if not `ok`.
  void answer_now(ask::RequestId id, bool ok, std::string why);
  // Returns the session's next request, or std::nullopt if there is none. Begins the PMI-2 session
  // once the rank has chosen that protocol.
  std::optional<SessionRequest> next();

  JobServices& services_;
  Rank rank_;
  Pmi1Session pmi1_;
  std::optional<Pmi2Session> pmi2_;  // set once the rank chose PMI-2
  ask::RequestId next_id_ = 1;       // counts from 1, as the session does
  bool pumping_ = false;
  bool broken_ = false;
  bool closed_ = false;
};

}  // namespace scela::pmi
