// The questions of scela-run about the running ranks (nla/core/wire/inspection.h) on their way to
// all agents, and the answers on their way back. The agent's core uses this part, and one thread at
// a time calls it.
#pragma once

#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"

namespace scela::nla {

class InspectionRelay {
 public:
  // Both are borrowed.
  InspectionRelay(Context& context, Children& children) : context_(context), children_(children) {}

  // At the root: asks all agents, if the ranks run.
  void on(const event::Inspect& event);
  // Sends a piece of this node's answer towards scela-run.
  void on(const event::Inspected& event);
  // Passes the question on, and has this node's shell answer it. Returns false if this agent does
  // not know its slice yet.
  bool from_parent(const msg::Inspect& message);
  // Passes a piece of an answer on, unless it answers no question or its subtree has said too much.
  // Returns false if the child does not lead to the node that the piece names.
  bool from_child(Child& child, const msg::Inspected& message);
  // At the root: gives the empty last piece of an answer for each node of a child without ranks. A
  // child that is done may have ended before it was asked or before it answered, and one that is
  // late is not asked.
  void answer_for(const Child& child);

 private:
  // Asks the children, and forgets how much they have answered to the last question. Answers for
  // those that are done or late.
  void ask_children(const msg::Inspect& message);
  // Sends a piece of an answer up, or shows it at the root.
  void pass_on(const msg::Inspected& message);

  Context& context_;
  Children& children_;
  bool asked_ = false;  // a question was passed on
};

}  // namespace scela::nla
