// Keeps the output of each rank until all ranks have ended, and then returns it once for all ranks
// that wrote the same output (--gather). OutputWriter uses it. First add() takes all output; then
// next() returns it piece by piece.
//
// Memory is bounded for any amount of output and any number of ranks. If more than `memory` bytes
// are pending, they go to an unnamed temporary file, in which the pieces of each rank form a linked
// list. Two outputs are equal if their SHA-256 digests are equal; a missing newline at the end is
// counted as present. It blocks on that file only. One thread uses an object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// The gathered output of a job.
class Gatherer {
 public:
  // Bytes that stay in memory. A smaller value writes small outputs to the file; a larger one takes
  // more of scela-run's memory.
  static constexpr std::size_t kMemory = std::size_t{4} * 1024 * 1024;

  // `names` has the names of the ranks, by rank, for the headings. If it is empty, the headings
  // have rank numbers. `memory` is the largest number of pending bytes in memory.
  explicit Gatherer(std::vector<std::string> names, std::size_t memory = kMemory);
  ~Gatherer();
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  // Appends bytes to the output of a rank. Returns an error (kind io) if the temporary file cannot
  // be created or written.
  Result<void> add(Rank rank, std::string_view bytes);
  // Returns the next piece of the gathered output: for each group of ranks with equal output its
  // heading, then that output. The group of the lowest rank comes first, and an empty string is the
  // end. Ranks that wrote no output are not shown. add() must not be called any more after the
  // first call. Returns an error (kind io) if the temporary file cannot be read.
  Result<std::string> next();

 private:
  // The output of one rank: its digest, its pieces in the file, and its bytes in memory.
  struct Kept;
  // Ranks that wrote the same output.
  struct Group {
    RankSet ranks;
    const Kept* kept = nullptr;  // output of the first rank
  };
  // Moves all pending bytes to the file.
  Result<void> spill();
  // Writes the pending bytes of one rank as its next piece in the file.
  Result<void> append(Kept& kept);
  // Puts the ranks with equal output into groups. It ends the digests, so it may run only once.
  void group();
  // Returns the lines above a group's output, in the form of clush -b.
  std::string heading(const RankSet& ranks) const;

  std::vector<std::string> names_;
  std::size_t memory_;
  std::size_t waiting_ = 0;  // pending bytes, all in memory
  std::map<Rank, std::unique_ptr<Kept>> kept_;
  Fd file_;
  std::uint64_t end_ = 0;  // size of the file

  bool grouped_ = false;  // groups_ is complete
  std::vector<Group> groups_;
  std::size_t shown_ = 0;  // number of groups already returned
  bool in_group_ = false;  // heading of groups_[shown_] is out
  // Position of the group's next piece in the file, plus one. 0 means the part in memory.
  std::uint64_t at_ = 0;
};

}  // namespace scela
