// The requests of a rank: the messages and operations that it has begun, until each was waited for
// and judged.
//
// The library moves some operations only in calls of their own communicators: with
// ProgressMode::polled, and on the engine what it could not post whole. A rank that waits for
// something else moves them too, as docs/design/collectives.md asks. One thread uses this part.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <scela/channel.h>
#include <scela/communicator.h>

#include "tests/strangers/rank/situation.h"

namespace strangers {

// A message or an operation that this rank has begun.
struct Begun {
  const Scene* scene = nullptr;
  scela::Request request;
  bool is_operation = false;
  bool needs_calls = false;  // the caller moves it
  int family = 0;            // of communicators: one executor moves their operations
  bool over = false;         // has been seen to be
  bool done = false;         // has been waited for, and judged
  // Judges the result.
  std::function<void(Begun&)> judge;

  // Returns true if only calls for this request move it on.
  bool waits_for_calls() const { return needs_calls && !over && !done; }
};

class Requests {
 public:
  explicit Requests(Situation& situation) : situation_(situation) {}

  // Adds one that is begun in this scene. The reference is good until forget_done().
  Begun& begin(const Scene& scene);
  // Returns true if operations of other families than this one wait for calls. A family of -1
  // leaves out none.
  bool others_need_calls(int family) const;
  // Waits for this one, and moves the others that wait for calls.
  void finish(Begun& begun);
  void finish_all();
  // Waits for the operations that wait for calls, but for those of this family.
  void finish_other_families(int family);
  // Judges the result of one that is over, or waits for it alone.
  void conclude(Begun& begun);
  void forget_done();
  // Looks at all once, as a program that polls does.
  void move_all();

  // Returns those that were not forgotten, in the order in which they were begun.
  const std::vector<std::unique_ptr<Begun>>& all() const { return begun_; }
  // Returns those that are chosen, and then the others that wait for calls.
  std::vector<Begun*> with_those_to_move(std::vector<Begun*> chosen) const;

 private:
  Situation& situation_;
  std::vector<std::unique_ptr<Begun>> begun_;
};

// Returns the requests of these, in their order.
std::vector<scela::Request*> requests_of(const std::vector<Begun*>& all);

}  // namespace strangers
