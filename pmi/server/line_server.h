// One rank's PMI-1 connection minus the socket: the shell brings bytes and answers and takes
// output.
//
//   read:      server.receive(bytes);   write(server.take_output());
//   Reply:     server.answered(id, answer);   write(server.take_output());
//   EOF:       server.closed();   if (server.unfinished()) the rank ended without finalize
//
// Knows no descriptor, no event loop and no tree. Borrows JobServices, which must outlive it. Not
// for several threads. Services may call answered() from within the call they answer. Never blocks;
// memory is bounded as in pmi1.h. The shell stops reading once broken() holds.
#pragma once

#include <string>
#include <string_view>

#include "pmi/protocol/pmi1.h"
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
  std::string take_output() { return session_.take_output(); }
  // The rank said init and not finalize: ending now is a failure.
  bool unfinished() const { return session_.unfinished(); }
  // The rank aborted or broke the protocol: what it sends from now on is dropped.
  bool broken() const { return broken_; }

 private:
  void pump();

  JobServices& services_;
  Rank rank_;
  Pmi1Session session_;
  RequestId next_id_ = 1;
  RequestId outstanding_ = 0;  // 0: none
  bool pumping_ = false;
  bool broken_ = false;
  bool closed_ = false;
};

}  // namespace scela::pmi
