// The messages of a rank: it carries out the steps that send and receive, and judges its sends.
// The mailbox judges the receives. One thread uses this part.
#pragma once

#include <optional>

#include "tests/strangers/rank/rank_mailbox.h"
#include "tests/strangers/rank/rank_requests.h"

namespace strangers {

class Messages {
 public:
  // Announces all messages of the plan's steps that will come to this rank.
  Messages(Situation& situation, Requests& requests, Mailbox& mailbox);

  // The step message.
  void message(const Scene& scene);
  // The step burst: sends messages of a context that no other step has, so that all receives can
  // have wildcards. Every rank has begun all of its own before it waits for any.
  void burst(const Scene& scene);
  // The step cancel: withdraws a receive that no message meets.
  void cancel(const Scene& scene);
  // The step reserve: the last of the reserved contexts has messages to the next rank.
  void reserve(const Scene& scene);
  // The step end: returns when all ranks that have not ended have finished what they had begun. It
  // needs no operation.
  void meet();

 private:
  void send(const Scene& scene, int round);
  void receive(const Scene& scene);
  void repeat_sends(const Scene& scene);
  void repeat_receives(const Scene& scene);
  Begun& begin_send(const Scene& scene, scela::Context context, int to, int tag, std::uint64_t key,
                    std::uint64_t bytes, bool synchronous);
  Begun& begin_receive(const Scene& scene, scela::Context context, int source, int tag,
                       std::uint64_t room);
  void probe_and_receive(const Scene& scene, scela::Context context, int source, int tag);
  // Returns the status of what a probe has found, and takes the message if `probed` is given.
  scela::Status probe(scela::Context context, int source, int tag,
                      std::optional<scela::ProbedMessage>* probed);
  void judge_send(const Scene& scene, int to, const scela::Status& status) const;

  Situation& situation_;
  Requests& requests_;
  Mailbox& mailbox_;
};

}  // namespace strangers
