// The questions of scela-run to the agents about the processes of a running job, and the answers.
// Debuggers need the processes, and users of a job that hangs need the stacks.
//
// The question travels down the tree (msg::Inspect). Each agent that knows the job answers once, in
// pieces (msg::Inspected), with the text that encode() makes. scela-run reads the answers. A node
// is not trusted: a decoder takes any bytes. Values only, for any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"
#include "common/core/result.h"

namespace scela::nla {

// The question. processes: the process of each rank. stacks: the stacks of all threads of each
// rank. tool: no question, but start the program of a debugger on each node with ranks; the answer
// is empty, or says why it was not started.
enum class Inspection : std::uint8_t { processes, stacks, tool };

// Describes the process of a rank that runs.
struct RankProcess {
  Rank rank = 0;
  std::uint32_t pid = 0;   // its process number on its node
  std::string executable;  // path of the executed file; empty: not known
  friend bool operator==(const RankProcess&, const RankProcess&) = default;
};

// A set of ranks that have the same stacks.
struct RankStacks {
  RankSet ranks;
  std::string text;  // lines; or the reason why there is no stack
  friend bool operator==(const RankStacks&, const RankStacks&) = default;
};

// The most bytes of one answer of a node. More is not passed on.
inline constexpr std::uint64_t kMaxInspection = std::uint64_t{4} * 1024 * 1024;

// Adds the stacks of one rank, or of several, to the list. The list has each text once.
void fold_into(std::vector<RankStacks>& list, RankStacks more);

// Cuts texts that are longer than an equal share of `bytes`.
void cut_texts(std::vector<RankStacks>& list, std::size_t bytes);

// Return the answer of a node as bytes.
std::string encode(const std::vector<RankProcess>& processes);
std::string encode(const std::vector<RankStacks>& stacks);
// Return the answer of a node. The error (protocol) says that the bytes are malformed.
Result<std::vector<RankProcess>> decode_processes(std::string_view bytes);
Result<std::vector<RankStacks>> decode_stacks(std::string_view bytes);

}  // namespace scela::nla
