// Checks and splits the lines of an ssh configuration. This is the parser of SshConfig and private
// to it. One thread uses an object.
//
// A malformed line is an error even if it does not apply to the host, so that the user finds it
// early.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/core/ssh/ssh_config.h"

namespace scela {

enum class SshConfig::Keyword : std::uint8_t {
  host,
  match,
  include,
  host_name,
  user,
  port,
  address_family,
  identity_file,
  certificate_file,
  identities_only,
  identity_agent,
  proxy_jump,
  proxy_command,
  host_key_alias,
  user_known_hosts,
  global_known_hosts,
  other,
};

enum class SshConfig::Attribute : std::uint8_t {
  all,
  canonical,
  final_reading,
  host,
  original_host,
  user,
  local_user,
  exec,
};

class SshConfigParser {
 public:
  SshConfigParser(SshConfig& config, const SshConfig::IncludeReader& include)
      : config_(config), include_(include) {}

  Result<void> parse(const SshConfig::File& file, std::vector<SshConfig::Line>& out, int depth);

  // Returns the error of a line with the `why` and `hint` of `inner`.
  static Error at(std::string_view where, Error inner);
  static std::optional<SshFamily> family_of(std::string_view word);

 private:
  using Line = SshConfig::Line;

  Result<void> parse_line(std::string_view text, Line& line, int depth);
  Result<void> parse_match(Line& line);
  Result<void> parse_include(Line& line, int depth);

  SshConfig& config_;
  const SshConfig::IncludeReader& include_;
  std::size_t files_ = 0;
};

}  // namespace scela
