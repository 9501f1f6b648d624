// What ranks leave of themselves: files in their node's directory that they add lines to, and that
// go to the root with the agent's report (scela-run --stats).
//
// SCELA_ACCOUNTS names a rank's file to it. A line is a word, who keeps the account, and an object:
//   channel {"connections":2,"sent":1024}
// The root is sent {"account":"channel","rank":7,"values":{"connections":2,"sent":1024}}. What is
// no such line is left out, and so is what is more than kMostOfRank.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"
#include "nla/pieces.h"

namespace scela::nla {

inline constexpr std::string_view kAccountsVariable = "SCELA_ACCOUNTS";
// Bytes. Of a thousand ranks together far less than an agent takes from a child
// (core/agent_messages.cpp).
inline constexpr std::size_t kMostOfRank = std::size_t{16} * 1024;

std::string accounts_file(std::string_view directory, Rank rank);
// One line for the root; empty: it is no account.
std::string account_line(std::string_view line, Rank rank);
// Of those of the ranks that have left something.
void add_accounts(Pieces& report, std::string_view directory, const RankSet& ranks);

}  // namespace scela::nla
