// The reports of verdicts to the parent: when they are due, and those that come from children. A
// verdict is how a rank ended; the verdicts themselves are in nla/core/tree/verdicts.h. The agent's
// core uses this part, and one thread at a time calls it.
#pragma once

#include <cstdint>

#include "nla/core/io/streams.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

// Which verdicts went up to the parent. At the root: which of them it has acted on.
enum class VerdictsSent : std::uint8_t {
  none,         // none of the present ranks
  first,        // the first ones, so that the parent knows that there are ended ranks here
  first_all,    // the first ones, and later those of all ranks
  all_at_once,  // those of all ranks, without the first ones before
};

class VerdictReports {
 public:
  // All references are borrowed, from the same agent (nla/core/agent/agent_state.h).
  VerdictReports(Context& context, Verdicts& verdicts, RankServices& services, InputFlow& input)
      : context_(context), verdicts_(verdicts), services_(services), input_(input) {}

  // Takes verdicts of ranks below a child. Returns false if the message breaks the protocol.
  bool from_child(Child& child, const msg::Verdicts& message);
  // Call it when ranks were added to the subtree: its verdicts are not complete any more.
  void expect_more();
  // Call it after each event while the ranks run. Sends the reports that are due. `launched` says
  // that all first ranks were reported as started, `terminating` that the ranks were ordered to
  // end. Returns true, once, if this is the root and all verdicts are in.
  bool advance(bool launched, bool terminating);
  // Sends the parent all verdicts that are known, in as many messages as are needed to keep each of
  // them within a piece (kMaxPiece bytes).
  void send();

 private:
  Context& context_;
  Verdicts& verdicts_;
  RankServices& services_;
  InputFlow& input_;
  VerdictsSent sent_ = VerdictsSent::none;
};

// Returns the outcome that a child reported, with at most kMaxWhy bytes of text. A child that has
// sent too many bytes of such texts gets an empty text.
Outcome with_bounded_why(Child& child, const Outcome& said);

}  // namespace scela::nla
