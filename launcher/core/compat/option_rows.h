// Makes rows of the tables of peers' options, so that each table is data only. The files of this
// folder use it, and launcher/core/compat/peer_tool.cpp asks them for their rows.
#pragma once

#include <span>
#include <string_view>

#include "launcher/core/compat/peer_tool.h"

namespace scela::peer_tables {

inline constexpr auto kNone = PeerArgument::none;
inline constexpr auto kOne = PeerArgument::one;
inline constexpr auto kAttached = PeerArgument::attached;
inline constexpr auto kPair = PeerArgument::pair;
inline constexpr auto kVariable = PeerArgument::variable;

// Returns the row of a flag that means the same.
constexpr PeerOption same(std::string_view spellings, std::string_view becomes) {
  return {spellings, kNone, PeerVerdict::same, becomes, "", "", "", nullptr};
}
// Returns the row of an option with a value that means the same.
constexpr PeerOption same(std::string_view spellings, PeerArgument takes, std::string_view becomes,
                          std::string_view example, PeerConversion convert = nullptr) {
  return {spellings, takes, PeerVerdict::same, becomes, "", "", example, convert};
}
// Returns the row of a flag that differs as `text` says.
constexpr PeerOption near(std::string_view spellings, std::string_view becomes,
                          std::string_view text) {
  return {spellings, kNone, PeerVerdict::near, becomes, text, "", "", nullptr};
}
// Returns the row of an option with a value that differs as `text` says.
constexpr PeerOption near(std::string_view spellings, PeerArgument takes, std::string_view becomes,
                          std::string_view example, std::string_view text,
                          PeerConversion convert = nullptr) {
  return {spellings, takes, PeerVerdict::near, becomes, text, "", example, convert};
}
// Returns the row of an option that is refused: why, and what to do instead.
constexpr PeerOption refused(std::string_view spellings, PeerArgument takes, std::string_view why,
                             std::string_view instead) {
  return {spellings, takes, PeerVerdict::refused, "", why, instead, "", nullptr};
}

// The tables.
std::span<const PeerOption> hydra();
std::span<const PeerOption> openmpi();
std::span<const PeerOption> srun();
std::span<const PeerOption> pdsh();
std::span<const PeerOption> clush();
std::span<const PeerOption> dshbak();

}  // namespace scela::peer_tables
