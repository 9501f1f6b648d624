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

// The head of ssh_config.h lists the keywords. `other` is any other keyword; its lines are skipped.
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
  strict_host_keys,
  other,
};

// Names the criteria of Match. final_reading is its word "final". Criteria from `host` on take a
// value.
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

// Parses one configuration and the files that it includes.
class SshConfigParser {
 public:
  // Both references must outlive the parser. The parser sets has_final_ in `config`.
  SshConfigParser(SshConfig& config, const SshConfig::IncludeReader& include)
      : config_(config), include_(include) {}

  // Parses a file and appends its lines to `out`. `depth` is the number of Includes that lead to
  // the file: 0 for the user's own. Returns an error if a line is malformed, or if files include
  // one another without end.
  Result<void> parse(const SshConfig::File& file, std::vector<SshConfig::Line>& out, int depth);

  // Returns an error with the `why` and `hint` of `inner`. `where` is the line, as "file:line".
  static Error at(std::string_view where, Error inner);
  // Parses a value of AddressFamily. Returns std::nullopt for another word.
  static std::optional<SshFamily> family_of(std::string_view word);
  // Parses a value of StrictHostKeyChecking. Returns std::nullopt for another word.
  static std::optional<SshKeyChecking> key_checking_of(std::string_view word);

 private:
  using Line = SshConfig::Line;

  // These fill `line`: from the text of any line, and from the words of a Match and of an Include.
  // `depth` is that of parse(). An error has no file and line yet: parse() adds them.
  Result<void> parse_line(std::string_view text, Line& line, int depth);
  Result<void> parse_match(Line& line);
  Result<void> parse_include(Line& line, int depth);
  // Returns an error with `why` and `hint` if a keyword's word has the wrong form.
  static Result<void> check_word(SshConfig::Keyword keyword, const std::string& word);

  SshConfig& config_;
  const SshConfig::IncludeReader& include_;
  std::size_t files_ = 0;  // files parsed so far
};

}  // namespace scela
