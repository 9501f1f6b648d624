// Expands tokens, variables and "~" in the values of an ssh configuration (ssh_config(5), TOKENS
// and ENVIRONMENT VARIABLES). ssh_config.cpp and launcher/hosts/ssh_hosts.cpp use it. All functions
// are pure. Errors have `why` and `hint` only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela {

// The values of the tokens. The token of each value is beside it.
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

// Returns the text with its tokens replaced by their values. Returns an error for a token that is
// not in the list above, such as %C (a hash) or %j.
Result<std::string> expand_tokens(std::string_view text, const SshTokens& tokens);

// Returns a path with "~/" in front expanded, and then tokens and "${NAME}". `environment` has the
// variables by name. Returns an error for an unknown token, for a variable that is not set, and for
// a path in the home of another user ("~user/").
Result<std::string> expand_path(std::string_view text, const SshTokens& tokens,
                                const std::map<std::string, std::string>& environment);

}  // namespace scela
