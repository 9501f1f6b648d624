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
  PmgrServer(JobServices& services, Rank rank, std::unique_ptr<PmgrSession> session)
      : services_(services), rank_(rank), session_(std::move(session)) {}

  // The contract is in pmi/server/rank_server.h. Only Collective requests have answers, so
  // answered() does nothing.
  void receive(std::string_view bytes) override;
  void answered(RequestId /*id*/, const Answer& /*answer*/) override {}
  void collected(RequestId id, const Collected& result) override;
  void closed() override { closed_ = true; }

  std::vector<Chunk> take_chunks() override { return session_->take_output(); }
  bool unfinished() const override { return began_ && session_->unfinished(); }
  bool broken() const override { return broken_; }
  bool wants_bytes() const override { return !broken_ && session_->wants_bytes(); }
  bool hangs_up() const override { return hangs_up_; }

 private:
  // Passes requests on to the services until the session has none.
  void pump();

  JobServices& services_;
  Rank rank_;
  std::unique_ptr<PmgrSession> session_;
  RequestId next_id_ = 1;
  RequestId outstanding_ = 0;  // 0: none
  bool began_ = false;         // the rank has sent something
  bool pumping_ = false;
  bool broken_ = false;
  bool closed_ = false;
  bool hangs_up_ = false;
};

}  // namespace scela::pmi
