// Tokens, variables and "~" in the values of an ssh configuration (ssh_config(5), TOKENS and
// ENVIRONMENT VARIABLES). Values only; errors carry their why and hint.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela {

struct SshTokens {
  std::string host_name;       // %h
  std::string original_name;   // %n
  std::string host_key_alias;  // %k; empty: the original name
  std::uint16_t port = 22;     // %p
  std::string user;            // %r
  std::string local_user;      // %u
  std::string home;            // %d
  std::string local_host;      // %l; up to its first dot: %L
  std::uint32_t user_id = 0;   // %i
};

// Error: a token that is not in the list above (%C, a hash, and %j are none of them).
Result<std::string> expand_tokens(std::string_view text, const SshTokens& tokens);

// A path: "~/" first, then tokens and "${NAME}". Error: also a variable that is not set, and the
// home of another user ("~user/").
Result<std::string> expand_path(std::string_view text, const SshTokens& tokens,
                                const std::map<std::string, std::string>& environment);

}  // namespace scela
