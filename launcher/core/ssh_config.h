// What the user's ssh configuration says about a host (ssh_config(5)), for the keywords that decide
// how the host is reached; the others are skipped.
//
//   Host, Match (all, host, originalhost, user, localuser, exec, canonical, final), Include,
//   HostName, User, Port, AddressFamily, IdentityFile, CertificateFile, IdentitiesOnly,
//   IdentityAgent, ProxyJump, ProxyCommand, HostKeyAlias, UserKnownHostsFile, GlobalKnownHostsFile
//
// The files are parsed once and asked for many hosts. Not libssh's parser (0.10): that one reads
// the files anew for each host, gives one identity and one known_hosts file only, does not know
// HostKeyAlias, turns ProxyJump's order round and passes over what it cannot read. Names are never
// made canonical (CanonicalizeHostname), so "canonical" never matches. Knows no file, environment
// or process: includes and commands are run by the caller. Every error is the user's (kind usage)
// and names "file:line". Values only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/ssh_tokens.h"

namespace scela {

enum class SshFamily { any, inet, inet6 };

// Absent or empty: not said. "%" tokens, "~" and "${}" are not expanded yet, but in host_name.
struct SshSettings {
  std::optional<std::string> host_name;
  std::optional<std::string> user;
  std::optional<std::uint16_t> port;
  std::optional<SshFamily> family;
  std::vector<std::string> identity_files;     // all that are named, each once; "none" is one
  std::vector<std::string> certificate_files;  // likewise
  std::optional<bool> identities_only;
  std::optional<std::string> identity_agent;
  std::optional<std::string> proxy_jump;     // "none": no proxy at all; excludes proxy_command
  std::optional<std::string> proxy_command;  // likewise
  std::optional<std::string> host_key_alias;
  std::optional<std::vector<std::string>> user_known_hosts;
  std::optional<std::vector<std::string>> global_known_hosts;
};

struct SshQuery {
  std::string host;                 // as the user wrote it
  std::optional<std::string> user;  // given with it: wins over the configuration
  std::string local_user;
  // Whether a command of "Match exec" succeeds.
  std::function<bool(const std::string& command)> succeeds;
};

class SshConfig {
 public:
  struct File {
    std::string name;
    std::string text;
  };
  // The files that the word of an Include names, which may be none.
  using IncludeReader = std::function<Result<std::vector<File>>(const std::string& pattern)>;

  static Result<SshConfig> parse(const File& file, const IncludeReader& include);

 private:
  friend class SshConfigParser;
  friend class SshConfigReading;
  friend Result<SshSettings> ssh_settings(std::span<const SshConfig> files, const SshQuery& query,
                                          const SshTokens& tokens);
  enum class Keyword : std::uint8_t;
  enum class Attribute : std::uint8_t;
  struct Criterion {  // of a Match
    Attribute attribute;
    bool negated = false;
    std::vector<std::string> values;  // patterns, or the one command
  };
  struct Line {
    Keyword keyword;
    std::vector<std::string> words;  // without the keyword
    std::vector<Criterion> criteria;
    std::vector<Line> included;
    std::string where;  // "file:line"
  };

  std::vector<Line> lines_;
  bool has_final_ = false;  // some Match asks for a second reading
};

// What the files say about a host together: the first that is said counts, the user's file comes
// before the system's. `tokens`: those that do not depend on the host (local_user, home, ...).
Result<SshSettings> ssh_settings(std::span<const SshConfig> files, const SshQuery& query,
                                 const SshTokens& tokens);

}  // namespace scela
