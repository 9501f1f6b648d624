// Serves one rank's PMGR connection after its greeting, without the socket. The agent's shell
// brings bytes and results and takes output.
//
// Borrows JobServices, which must outlive it. For one thread. Services may call collected() from
// within the call that it answers. The server never blocks; its memory is bounded as in pmgr.h.
#pragma once

#include <memory>

#include "pmi/protocol/pmgr.h"
#include "pmi/server/rank_server.h"

namespace scela::pmi {

class PmgrServer final : public RankServer {
 public:
  // `services` is borrowed. `session` is a new one for this rank, of either dialect.
  PmgrServer(JobServices& services, Rank rank, std::unique_ptr<PmgrSession> session)
      : services_(services), rank_(rank), session_(std::move(session)) {}

  // The contract is in pmi/server/rank_server.h. receive() serves bytes of the rank in pieces of
  // any size; answered() brings the result of the operation `id`, also after closed(); closed()
  // must be called when the connection has ended. Unknown ids are ignored.
  void receive(std::string_view bytes) override;
  void answered(ask::RequestId id, const ask::Response& answer) override;
  void closed() override { closed_ = true; }

  // These say what the shell must do: write bytes, count an end of the connection now as a failure,
  // drop further bytes, read on or not for now, and close the connection once all is written.
  std::vector<Chunk> take_chunks() override { return session_->take_output(); }
  bool unfinished() const override { return began_ && session_->unfinished(); }
  bool broken() const override { return broken_; }
  bool wants_bytes() const override { return !broken_ && session_->wants_bytes(); }
  bool hangs_up() const override { return hangs_up_; }

 private:
  // Passes requests on to the services until the session has none.
  void pump();
  // Passes one request on. An Abort or a Violation has no answer and no id.
  void submit(ask::Request request);

  JobServices& services_;
  Rank rank_;
  std::unique_ptr<PmgrSession> session_;
  ask::RequestId next_id_ = 1;
  ask::RequestId outstanding_ = 0;  // 0: none
  bool began_ = false;              // the rank has sent something
  bool pumping_ = false;
  bool broken_ = false;
  bool closed_ = false;
  bool hangs_up_ = false;
};

}  // namespace scela::pmi
