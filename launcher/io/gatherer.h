// Keeps the output of each rank until all ranks have ended, and then returns it once for all ranks
// that wrote the same output (--gather). OutputWriter uses it. First add() takes all output; then
// next() returns it piece by piece.
//
// If asked to compare (--diff), it returns the output of the majority, which is the largest group
// of ranks. Of each other group it then returns only how the output differs.
//
// Memory is bounded for any amount of output and any number of ranks. If more than `memory` bytes
// are pending, they go to an unnamed temporary file, in which the pieces of each rank form a linked
// list. Two outputs are equal if their SHA-256 digests are equal; a missing newline at the end is
// counted as present. It blocks on that file only. One thread uses an object.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "common/os/fd.h"
#include "launcher/core/report/live_text.h"

namespace scela {

// The gathered output of a job.
class Gatherer {
 public:
  // Bytes that stay in memory. A smaller value writes small outputs to the file; a larger one takes
  // more of scela-run's memory.
  static constexpr std::size_t kMemory = std::size_t{4} * 1024 * 1024;

  // The most bytes of an output that is compared with another one. Larger outputs are shown whole.
  // A larger number would take several times as much memory for a moment.
  static constexpr std::size_t kMaxCompared = std::size_t{1024} * 1024;

  // Says how outputs are shown. `all` shows the output of each group.
  enum class Show : std::uint8_t { all, differences };

  // `names` has the names of the ranks, by rank, for the headings. If it is empty, the headings
  // have rank numbers. `memory` is the largest number of pending bytes in memory.
  explicit Gatherer(std::vector<std::string> names, Show show = Show::all,
                    std::size_t memory = kMemory);
  ~Gatherer();
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  // Returns true if the headings have names of ranks.
  bool has_names() const { return !names_.empty(); }
  // Appends bytes to the output of a rank. If differences are shown, a rank counts from its first
  // call, even without bytes. Returns an error (kind io) if the temporary
  // file cannot be created or written.
  Result<void> add(Rank rank, std::string_view bytes);
  // Says that a rank's output has ended, for groups_so_far(). It may be called once for each rank.
  void end(Rank rank);
  // Returns the groups of the ranks of which the output has ended.
  std::vector<LiveGroup> groups_so_far() const;
  // Returns the next piece of the gathered output: for each group of ranks with equal output its
  // heading, then that output. The group of the lowest rank comes first, and an empty string is the
  // end. Ranks that wrote no output are shown only as a difference. add() must not be called any
  // more after the first call. Returns an error (kind io) if the temporary file cannot be read.
  Result<std::string> next();

 private:
  // The output of one rank: its digest, its pieces in the file, and its bytes in memory.
  struct Kept;
  // Ranks that wrote the same output.
  struct Group {
    RankSet ranks;
    const Kept* kept = nullptr;  // output of the first rank
  };
  // Ranks that have ended and wrote the same.
  struct Ended {
    RankSet ranks;
    std::string first_line;
  };
  using Digest = std::array<unsigned char, 32>;  // SHA-256
  // Moves all pending bytes to the file.
  Result<void> spill();
  // Writes the pending bytes of one rank as its next piece in the file.
  Result<void> append(Kept& kept);
  // Puts the ranks with equal output into groups. It ends the digests, so it may run only once.
  void group();
  // Returns the ranks of a group by name, with their number if there are several.
  std::string members(const RankSet& ranks) const;
  // Returns the lines above a group's output, in the form of clush -b.
  std::string heading(const RankSet& ranks) const;
  // Returns all bytes of an output of at most kMaxCompared bytes.
  Result<std::string> whole(const Kept& kept) const;
  // Returns how the output of a group differs from that of the majority.
  Result<std::string> difference(const Group& group);
  // Returns true if the next group is compared with the majority.
  bool is_compared() const;

  std::vector<std::string> names_;
  Show show_;
  std::size_t memory_;
  std::size_t waiting_ = 0;  // pending bytes, all in memory
  std::map<Rank, std::unique_ptr<Kept>> kept_;
  std::map<Digest, Ended> ended_;
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
