// The mailbox of a rank: the messages that are sent to it and the receives that it has posted, and
// which receive has to get which message, whatever the wildcards.
//
// Receives are judged in the order in which their context got them. One thread uses this part.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include <scela/channel.h>

#include "tests/strangers/contents.h"
#include "tests/strangers/rank/situation.h"

namespace strangers {

// A message that comes to this rank.
struct Incoming {
  int tag = 0;
  std::uint64_t key = 0, bytes = 0;
  bool taken = false;
};

// A receive of this rank, in the order of its context.
struct Posted {
  int source = 0, tag = 0;
  Buffer buffer;
  const Scene* scene = nullptr;
  bool complete = false;
  scela::Status status;
};

class Mailbox {
 public:
  explicit Mailbox(Situation& situation) : situation_(situation) {}

  // A message of this source will come, after those of the source that were announced before.
  void announce(scela::Context context, int source, const Incoming& message) {
    incoming_[{context, source}].push_back(message);
  }
  // Adds a receive with room for so many bytes. The caller starts it.
  Posted& post(const Scene& scene, scela::Context context, int source, int tag, std::uint64_t room);
  // Returns the last receive of this context that was not judged. Requires that there is one.
  Posted& last(scela::Context context) { return posted_[context].back(); }
  // The receive has completed. Judges it if all before it in its context have.
  void received(scela::Context context, Posted& posted, const scela::Status& status);
  // Fails if a receive was not judged.
  void check_empty() const;

 private:
  using Source = std::pair<scela::Context, int>;  // context, rank

  void judge(scela::Context context, const Posted& posted);
  // Takes the first message of the source that the receive fits and that no earlier receive got.
  Incoming take(scela::Context context, int source, const Posted& posted);
  void judge_contents(const Posted& posted, const Incoming& message) const;

  Situation& situation_;
  std::map<Source, std::deque<Incoming>> incoming_;
  std::map<scela::Context, std::deque<Posted>> posted_;
};

// Returns how far the buffer of what has this key is from an aligned address.
std::size_t shift_of(std::uint64_t key);

}  // namespace strangers
