// One rank's part of a collective operation: its input, and the output that it has to get.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <scela/communicator.h>

#include "tests/strangers/contents.h"
#include "tests/strangers/scenes.h"
#include "tests/strangers/stranger_plan.h"

namespace strangers {

class Share {
 public:
  Share(const Step& step, const Group& group, int rank, int ranks_of_nodes);

  // Writes the buffers as the operation finds them, in its n-th round.
  void fill(int round);
  // Returns the operation on the buffers, which stay where they are from round to round.
  scela::Collective collective();
  // Returns what is wrong with the result, or nothing.
  std::optional<std::string> wrong() const;

  // The contents of the last round.
  std::span<const std::byte> given() const { return given_; }
  std::span<const std::byte> expected() const { return after_; }
  Buffer& input() { return input_; }
  Buffer& output() { return output_; }

 private:
  using Bytes = std::vector<std::byte>;
  struct Spread {  // parts of a buffer
    std::vector<scela::Part> parts;
    std::size_t elements = 0;
  };
  std::uint64_t key(int round) const;
  std::size_t most(int from, int to) const;  // elements, of the v forms
  Spread spread(const std::vector<std::size_t>& counts, std::uint64_t key) const;
  void shape();
  void shape_of_parts();
  void give(Bytes& to, std::size_t at, int source, std::uint64_t first, std::size_t count) const;
  void expect_reduced(std::size_t at, std::size_t sources, std::uint64_t first, std::size_t count);
  void fill_blocks();
  void fill_parts();
  void fill_reductions();
  std::optional<std::string> wrong_element() const;

  const Step& step_;
  Group group_;
  int place_, root_;
  bool at_root_;
  bool in_place_;  // this rank's call
  std::size_t element_;
  int round_ = 0;
  std::size_t input_elements_ = 0, output_elements_ = 0;
  bool gives_input_ = true, gives_output_ = true;
  std::size_t checked_elements_ = 0;  // of the output, from its beginning
  Spread input_parts_, output_parts_;
  std::string algorithm_;
  Bytes given_, before_, after_;  // the input; the output before and after
  Buffer input_, output_;
};

}  // namespace strangers
