// Finds the settings that the user's ssh configuration (ssh_config(5)) has for a host. It handles
// the keywords that decide how the host is reached, and skips the others.
// launcher/hosts/ssh_files.cpp parses the files, and launcher/hosts/ssh_hosts.cpp asks for
// settings.
//
//   Host, Match (all, host, originalhost, user, localuser, exec, canonical, final), Include,
//   HostName, User, Port, AddressFamily, IdentityFile, CertificateFile, IdentitiesOnly,
//   IdentityAgent, ProxyJump, ProxyCommand, HostKeyAlias, UserKnownHostsFile, GlobalKnownHostsFile,
//   StrictHostKeyChecking
//
// The files are parsed once and asked for many hosts. libssh's parser (0.10) does not suffice. It
// reads the files anew for each host, gives only one identity and one known_hosts file, and does
// not know HostKeyAlias. It also reverses ProxyJump's order and ignores lines that it cannot parse.
//
// Names are never made canonical (CanonicalizeHostname), so "canonical" never matches. The code
// accesses no files, environment or processes: the caller reads includes and runs commands. Every
// error is the user's (kind usage) and names "file:line". A parsed SshConfig does not change, so
// several threads may read it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/ssh/ssh_tokens.h"

namespace scela {

// The values of AddressFamily: any, IPv4 only, IPv6 only.
enum class SshFamily { any, inet, inet6 };

// The values of StrictHostKeyChecking. strict: yes, and ask, as no person is asked here.
// accept_new: the first key of a host is taken. any: no and off; a host may also show another key
// than the known one.
enum class SshKeyChecking { strict, accept_new, any };

// The settings of a host. An absent or empty value was not set. Tokens ("%"), "~" and "${}" are not
// yet expanded, except in host_name.
struct SshSettings {
  // HostName, User, Port and AddressFamily.
  std::optional<std::string> host_name;
  std::optional<std::string> user;
  std::optional<std::uint16_t> port;
  std::optional<SshFamily> family;
  std::vector<std::string> identity_files;     // in order, each once; may be "none"
  std::vector<std::string> certificate_files;  // in order, each once; may be "none"
  std::optional<bool> identities_only;         // use no other keys of the ssh agent
  std::optional<std::string> identity_agent;   // the ssh agent's socket, or a variable
  // "none" means no proxy at all. At most one of proxy_jump and proxy_command is set.
  std::optional<std::string> proxy_jump;
  std::optional<std::string> proxy_command;   // "none": no proxy at all
  std::optional<std::string> host_key_alias;  // a name to look up in known_hosts
  // The files of UserKnownHostsFile and GlobalKnownHostsFile.
  std::optional<std::vector<std::string>> user_known_hosts;
  std::optional<std::vector<std::string>> global_known_hosts;
  std::optional<SshKeyChecking> key_checking;  // StrictHostKeyChecking
};

// The host for which settings are asked.
struct SshQuery {
  std::string host;  // as the user wrote it
  // The user that was given with the host. It takes precedence over the configuration.
  std::optional<std::string> user;
  std::string local_user;  // the user that runs scela-run
  // Returns true if a command of "Match exec" succeeds.
  std::function<bool(const std::string& command)> succeeds;
};

// One parsed configuration file, with the files that it includes.
class SshConfig {
 public:
  // A file that the caller has read. `name` is for errors.
  struct File {
    std::string name;
    std::string text;
  };
  // Reads the files that a word of an Include names (a path that may have wildcards), and returns
  // them. There may be none.
  using IncludeReader = std::function<Result<std::vector<File>>(const std::string& pattern)>;

  // Parses a file and all files that it includes. `include` is called only during this call.
  // Returns an error if any line of the files is malformed.
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
  // One line of a file. `criteria` is for Match only, and `included` (the lines of the included
  // files) for Include only.
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

// Returns the settings that the files have for a host. `files` has the user's file before the
// system's; for each setting the first value counts. `tokens` has the values that do not depend on
// the host (local_user, home, ...). Returns an error if a value has an unknown token.
Result<SshSettings> ssh_settings(std::span<const SshConfig> files, const SshQuery& query,
                                 const SshTokens& tokens);

}  // namespace scela
