// Keeps what each rank writes until all have ended, then tells it once for all ranks that wrote the
// same (--gather).
//
// Memory is bounded whatever is written and by however many: beyond kMemory what waits goes into a
// file without a name, in which each rank's pieces form a chain. Equal means equal digests
// (SHA-256) of all bytes, where a last line without an end counts as ended. Blocks on that file
// only.
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

class Gatherer {
 public:
  static constexpr std::size_t kMemory = std::size_t{4} * 1024 * 1024;

  // `names`: of ranks, for the headings; empty: their numbers.
  explicit Gatherer(std::vector<std::string> names, std::size_t memory = kMemory);
  ~Gatherer();
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  // Error (io): the file cannot be written.
  Result<void> add(Rank rank, std::string_view bytes);
  // Nothing more will be added. What is to be shown comes in pieces from here on, by the lowest
  // rank of each group; an empty one is the end. Ranks that wrote nothing are not shown.
  Result<std::string> next();

 private:
  struct Kept;
  struct Group {
    RankSet ranks;
    const Kept* kept = nullptr;  // the first rank's
  };
  Result<void> spill();
  Result<void> append(Kept& kept);
  void group();
  std::string heading(const RankSet& ranks) const;

  std::vector<std::string> names_;
  std::size_t memory_;
  std::size_t waiting_ = 0;  // bytes in memory
  std::map<Rank, std::unique_ptr<Kept>> kept_;
  Fd file_;
  std::uint64_t end_ = 0;  // of the file

  bool grouped_ = false;
  std::vector<Group> groups_;
  std::size_t shown_ = 0;  // groups that are over
  bool in_group_ = false;  // the heading of groups_[shown_] is out
  std::uint64_t at_ = 0;   // next piece of it in the file, plus one; 0: what is in memory
};

}  // namespace scela
