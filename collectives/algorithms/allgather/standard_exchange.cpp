// Offload thesis, section 4.2.1, in the form that its examples need, not its formula (digest 1.5
// and 1.13): ranks exchange with ranks of their own group of d * b, in place.
//
// If the number of ranks is no power of b, groups of 1 to b ranks take the places of ranks. The
// extra round comes first: all ranks of a group tell each other. After that, each of them learns
// what the other groups have from one rank of each of those. So an excess rank costs no round at
// the end, as it would if a proxy told it the result. There are ceil(log_b N) rounds for every N
// (O19).
#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/algorithms/allgather/gathered_places.h"
#include "collectives/algorithms/groups.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

class Exchange {
 public:
  Exchange(const Shape& shape, int rank)
      : places_(shape, rank),
        groups_(shape.ranks, shape.radix),
        radix_(static_cast<int>(shape.radix)),
        rank_(rank),
        group_(groups_.of(rank)),
        member_(rank - groups_.first(group_)) {}

  TaskList list();

 private:
  // Returns the i-th group that this group meets in the round in which groups have `distance`
  // groups' blocks.
  int other(int distance, int i) const {
    const int all = distance * radix_;
    const int first = group_ - group_ % all;
    return first + (group_ % all + i * distance) % all;
  }
  // Returns all blocks that a group has before the round.
  Blocks held(int group, int distance) const {
    const int first = groups_.first(group - group % distance);
    return places_.of(first, groups_.first(group - group % distance + distance) - first);
  }
  // Returns the rank of another group that tells this rank.
  int teller(int group) const { return groups_.first(group) + member_ % groups_.size(group); }
  // Posts receives from the ranks of the same group, for the extra round.
  void post_first_round();
  void first_round();
  void round(int distance);

  Writer list_;
  GatheredPlaces places_;
  Groups groups_;
  int radix_;
  int rank_;
  int group_;
  int member_;
};

void Exchange::post_first_round() {
  for (int member = groups_.first(group_); member < groups_.first(group_ + 1); ++member) {
    if (member != rank_) list_.receive(member, places_.of(member, 1));
  }
}

void Exchange::first_round() {
  const int first = groups_.first(group_);
  const int end = groups_.first(group_ + 1);
  for (int member = first; member < end; ++member) {
    if (member != rank_) list_.send(member, places_.given());
  }
  places_.put_own(list_);
  for (int member = first; member < end; ++member) {
    if (member != rank_) list_.wait_received(member, 1);
  }
}

void Exchange::round(int distance) {
  for (int i = 1; i < radix_; ++i) {
    const int to = other(distance, i);
    for (int member = member_; member < groups_.size(to); member += groups_.size(group_))
      list_.send(groups_.first(to) + member, held(group_, distance));
  }
  for (int i = 1; i < radix_; ++i)
    list_.wait_received(teller(other(distance, i)), 1);
}

TaskList Exchange::list() {
  post_first_round();
  for (int distance = 1; distance < groups_.count(); distance *= radix_) {
    for (int i = 1; i < radix_; ++i)
      list_.receive(teller(other(distance, i)), held(other(distance, i), distance));
  }
  first_round();
  for (int distance = 1; distance < groups_.count(); distance *= radix_)
    round(distance);
  return places_.done(list_, 0);
}

}  // namespace

TaskList allgather_standard_exchange(const Shape& shape, int rank) {
  return Exchange(shape, rank).list();
}

}  // namespace scela::collectives
