// The serial model: what every request of a schedule's program must be answered.
//
// It runs no agents. It is told when a rank asks and judges each answer, by the words of
// nla/core/wire/request_names.h alone: what was put is found on its own node at once and elsewhere
// after a fence; a collective returns every member's part in rank order, and not before the parts
// exist; a message arrives in order. Knows nothing of trees, links or time.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "nla/core/wire/request_names.h"
#include "tests/sim/sim_schedule.h"

namespace scela::sim {

std::string key_of(std::uint32_t put_id);

class Reference {
 public:
  explicit Reference(const Schedule& schedule);

  // Positions in Schedule::ops, in the order in which `rank` runs them.
  const std::vector<std::uint32_t>& program(Rank rank) const { return programs_[rank]; }
  nla::Request request(std::uint32_t index, Rank rank) const;

  // `same_node`: for a get, the pair was put on the reader's own node.
  void asked(std::uint32_t op, Rank rank, bool same_node);
  // Returns the error in this answer, or an empty text. `excused`: a member that has not asked, or
  // the asker's own connection, is gone, or the job is being ended; only then may a request fail.
  std::string answered(std::uint32_t index, Rank rank, const nla::Response& response, bool excused);

  bool has_asked(std::uint32_t op, Rank rank) const;
  // Members of a collective that have not asked yet.
  RankSet absent(std::uint32_t op) const;
  // Returns true if a rank that asks now must find the pair of this get.
  bool must_find(const Op& get, bool same_node) const;
  // The send that a receive waits for, as position in Schedule::ops; -1 if the program has none.
  std::int64_t source_of(std::uint32_t receive) const { return state_[receive].source; }

 private:
  struct State {
    RankSet members;
    std::vector<std::uint8_t> asked;  // by position in members
    std::vector<std::uint8_t> answered_ok;
    std::uint32_t asked_count = 0;
    bool must_find = false;  // a get; a name that is there when it is asked about
    bool must_miss = false;  // a name that was unpublished before
    std::int64_t source = -1;
  };
  struct NameState {                       // of one name, over all ranks
    std::vector<std::uint32_t> published;  // positions of what was asked
    std::uint32_t published_ok = 0;
    std::uint32_t unpublished = 0;
    std::uint32_t unpublished_ok = 0;
    bool surely_there() const { return published_ok > 0 && unpublished == 0; }
    bool surely_gone() const { return published.size() == 1 && unpublished_ok > 0; }
  };

  std::uint32_t part_size(const Op& op, Rank owner, Rank target) const;
  Chunk part(const Op& op, Rank owner, Rank target) const;
  std::vector<Chunk> own_parts(const Op& op, nla::CollectiveKind what, Rank root, Rank rank) const;
  std::vector<Chunk> expected_parts(const Op& op, Rank rank) const;
  std::string judge_get(std::uint32_t index, const nla::Response& response) const;
  std::string judge_collective(std::uint32_t index, Rank rank, const nla::Response& response) const;
  void asked_about_name(std::uint32_t index);
  std::string judge_name(std::uint32_t index, const nla::Response& response);
  std::uint64_t position(std::uint32_t op, Rank rank) const;

  const Schedule& schedule_;
  std::vector<std::vector<std::uint32_t>> programs_;
  std::vector<State> state_;
  std::map<std::uint32_t, std::uint32_t> put_at_;  // id of a put -> position
  std::vector<std::uint32_t> fences_;              // positions
  std::map<std::uint32_t, NameState> names_;
};

}  // namespace scela::sim
