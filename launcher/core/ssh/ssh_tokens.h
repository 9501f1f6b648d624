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

// Replaces the tokens. Returns an error for a token that is not in the list above, such as %C (a
// hash) or %j.
Result<std::string> expand_tokens(std::string_view text, const SshTokens& tokens);

// Expands a path: first "~/", then tokens and "${NAME}". Also returns an error if a variable is not
// set, or if the path is in the home of another user ("~user/").
Result<std::string> expand_path(std::string_view text, const SshTokens& tokens,
                                const std::map<std::string, std::string>& environment);

}  // namespace scela
