#include "launcher/report/verdict.h"

namespace scela {

RankOutcome to_rank_outcome(const nla::Outcome& outcome) {
  using nla::Ending;
  using Kind = RankOutcome::Kind;
  RankOutcome out;
  switch (outcome.ending) {
    case Ending::exited:
      out.kind = Kind::exited;
      out.code = outcome.code;
      break;
    case Ending::signaled:
      out.kind = Kind::signaled;
      out.signal = outcome.code;
      out.core_dumped = outcome.core_dumped;
      break;
    case Ending::unfinished:
      out.kind = Kind::unfinalized;
      break;
    case Ending::not_started:
    case Ending::refused:
      out = RankOutcome::exec_failed(outcome.code);
      break;
    case Ending::aborted:
      out.kind = Kind::aborted;
      out.code = outcome.code;
      break;
    case Ending::violated:
      out.kind = Kind::broke_protocol;
      break;
    case Ending::lost:
      out.kind = Kind::lost;
      break;
    case Ending::timed_out:
      out.kind = Kind::timed_out;
      break;
    case Ending::cancelled:
      out.kind = Kind::killed_by_us;
      break;
  }
  // The exact way in which the rank ended has no meaning any more. The summary shows these ranks as
  // one group.
  if (outcome.ended_by_us && !outcome.success()) {
    out = {};
    out.kind = Kind::killed_by_us;
  }
  if (!outcome.why.empty()) out.message = outcome.why;
  return out;
}

}  // namespace scela
