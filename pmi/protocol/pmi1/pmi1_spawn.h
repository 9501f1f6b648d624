// Parses a spawn request of PMI-1 and formats its answer, for Pmi1Session.
//
// A request has one block per program, from "mcmd=spawn" to "endcmd". The last block is the one in
// which spawnssofar equals totspawns (peer: MPICH's client sends one block per command). The parser
// reads a faulty request to its end, too, because the client waits for the answer only there.
//
// Values; for one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "pmi/protocol/keyval.h"
#include "pmi/protocol/session_request.h"

namespace scela::pmi {

class Pmi1Spawn {
 public:
  // Parses the next line of the request, given without its newline; the lines "mcmd=spawn" are left
  // out. Returns false if the request is longer than kMaxSpawnBlock.
  bool take(std::string_view text);
  // Returns true if the last block has ended.
  bool whole() const { return whole_; }
  // Returns the first fault in any of the blocks, as one word, or an empty string.
  const std::string& fault() const { return fault_; }
  // Returns the number of ranks that the complete blocks ask for.
  std::uint64_t ranks() const;
  // Moves the request out. Requires whole() and no fault.
  ask::Spawn request() { return {std::move(request_)}; }

 private:
  // Adds the block to the request. Returns the block's fault as one word, or an empty string.
  std::string take_block();

  std::size_t bytes_ = 0;
  std::map<std::string, std::string, std::less<>> block_;  // lines since "mcmd=spawn"
  ask::SpawnRequest request_;                              // from the complete blocks
  std::string fault_;
  bool whole_ = false;
};

// Returns the line that answers a request for `ranks` ranks. `answer` is the job's answer to the
// ask::Spawn. Clients have room for a few hundred characters and can do without errcodes, so longer
// errcodes are left out.
LineWriter spawn_answer(const ask::Response& answer, std::uint64_t ranks);

}  // namespace scela::pmi
