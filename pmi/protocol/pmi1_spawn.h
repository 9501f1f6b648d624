// What a spawn request of PMI-1 asks for, and its answer.
//
// A request has a block for each program, from "mcmd=spawn" to "endcmd"; the last is the one whose
// spawnssofar equals totspawns (peer: MPICH's client sends one block a command). It is read to its
// end whatever is wrong with it, so that the answer comes where the client waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "pmi/protocol/keyval.h"
#include "pmi/protocol/request.h"

namespace scela::pmi {

class Pmi1Spawn {
 public:
  // A line of it, without "mcmd=spawn". False: the request is longer than kMaxSpawnBlock.
  bool take(std::string_view text);
  // The last block has ended.
  bool whole() const { return whole_; }
  // Of any of its blocks, the first, as a word. Empty: none.
  const std::string& fault() const { return fault_; }
  std::uint64_t ranks() const;
  ask::Spawn request() { return std::move(request_); }

 private:
  std::string take_block();

  std::size_t bytes_ = 0;
  std::map<std::string, std::string, std::less<>> block_;  // the lines since "mcmd=spawn"
  ask::Spawn request_;                                     // of whole blocks
  std::string fault_;
  bool whole_ = false;
};

// Clients have room for answers of a few hundred characters, and do without errcodes.
LineWriter spawn_answer(const Answer& answer, std::uint64_t ranks);

}  // namespace scela::pmi
