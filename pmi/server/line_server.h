// One rank's connection minus the socket: the shell brings bytes and answers and takes output. The
// rank's first line says whether it speaks PMI-1 or PMI-2.
//
//   read:      server.receive(bytes);   write(server.take_output());
//   Reply:     server.answered(id, answer);   write(server.take_output());
//   EOF:       server.closed();   if (server.unfinished()) the rank ended without finalize
//
// Knows no descriptor, no event loop and no tree. Borrows JobServices, which must outlive it. Not
// for several threads. Services may call answered() from within the call they answer. Never blocks;
// memory is bounded as in pmi1.h and pmi2.h. The shell stops reading once broken() holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pmi/protocol/pmi1.h"
#include "pmi/protocol/pmi2.h"
#include "pmi/server/job_services.h"

namespace scela::pmi {

class LineServer {
 public:
  LineServer(JobServices& services, Rank rank);

  void receive(std::string_view bytes);
  // The answer to request `id`; late ones (after closed(), or of another id) are ignored.
  void answered(RequestId id, const Answer& answer);
  // The connection ended: nothing more is asked of the job or written to the rank.
  void closed();

  // Everything to write to the rank since the last call.
  std::string take_output();
  // The rank said init and not finalize: ending now is a failure.
  bool unfinished() const { return pmi2_ ? pmi2_->unfinished() : pmi1_.unfinished(); }
  // The rank aborted or broke the protocol: what it sends from now on is dropped.
  bool broken() const { return broken_; }

 private:
  void pump();
  std::optional<Request> next();
  void pass_on(RequestId id, Request& request);

  JobServices& services_;
  Rank rank_;
  Pmi1Session pmi1_;
  std::optional<Pmi2Session> pmi2_;  // once the rank has chosen it
  RequestId next_id_ = 1;            // counts as the session does
  bool pumping_ = false;
  bool broken_ = false;
  bool closed_ = false;
};

}  // namespace scela::pmi
