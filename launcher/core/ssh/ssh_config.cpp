// Evaluates a parsed configuration for one host.
#include "launcher/core/ssh/ssh_config.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/ssh/ssh_config_lines.h"
#include "launcher/core/ssh/ssh_patterns.h"
#include "launcher/core/values/text_values.h"

namespace scela {

class SshConfigReading {
 public:
  SshConfigReading(const SshQuery& query, const SshTokens& tokens, SshSettings& out)
      : query_(query), tokens_(tokens), out_(out), host_(query.host) {}

  Result<void> read(const SshConfig& config) { return read(config.lines_); }
  // Begins the second reading: Host and Match now see the HostName that the first one found.
  void begin_final() {
    host_ = out_.host_name.value_or(query_.host);
    final_ = true;
  }

 private:
  using Line = SshConfig::Line;
  using Keyword = SshConfig::Keyword;
  using Attribute = SshConfig::Attribute;

  Result<void> read(const std::vector<Line>& lines);
  Result<bool> matches(const SshConfig::Criterion& criterion);
  Result<bool> matches(const Line& line);
  Result<bool> run(const std::string& command);
  Result<void> set(const Line& line);
  std::string user() const {
    return query_.user ? *query_.user : out_.user.value_or(query_.local_user);
  }

  const SshQuery& query_;
  const SshTokens& tokens_;
  SshSettings& out_;
  std::string host_;
  bool final_ = false;
};

Result<void> SshConfigReading::read(const std::vector<Line>& lines) {
  bool active = true;  // Include applies only if its block does
  for (const Line& line : lines) {
    Result<void> done;
    if (line.keyword == Keyword::host || line.keyword == Keyword::match) {
      auto matched = matches(line);
      if (!matched) return fail(SshConfigParser::at(line.where, std::move(matched.error())));
      active = *matched;
    } else if (!active) {
      continue;
    } else if (line.keyword == Keyword::include) {
      if (done = read(line.included); !done) return done;  // names its own line
    } else if (done = set(line); !done) {
      return fail(SshConfigParser::at(line.where, std::move(done.error())));
    }
  }
  return {};
}

Result<bool> SshConfigReading::matches(const Line& line) {
  if (line.keyword == Keyword::host) return matches_patterns(host_, line.words);
  for (const SshConfig::Criterion& criterion : line.criteria) {
    auto matched = matches(criterion);
    if (!matched || *matched == criterion.negated) {
      return matched ? Result<bool>(false) : matched;  // as ssh: no command is run in vain
    }
  }
  return true;
}

Result<bool> SshConfigReading::matches(const SshConfig::Criterion& criterion) {
  switch (criterion.attribute) {
    case Attribute::all:
      return true;
    case Attribute::canonical:
      return false;
    case Attribute::final_reading:
      return final_;
    case Attribute::host:
      return matches_patterns(to_lower(out_.host_name.value_or(host_)), criterion.values);
    case Attribute::original_host:
      return matches_patterns(to_lower(query_.host), criterion.values);
    case Attribute::user:
      return matches_patterns(user(), criterion.values);
    case Attribute::local_user:
      return matches_patterns(query_.local_user, criterion.values);
    case Attribute::exec:
      return run(criterion.values.front());
  }
  return false;
}

Result<bool> SshConfigReading::run(const std::string& command) {
  SshTokens tokens = tokens_;
  tokens.host_name = out_.host_name.value_or(host_);
  tokens.original_name = query_.host;
  tokens.host_key_alias = out_.host_key_alias.value_or("");
  tokens.port = out_.port.value_or(tokens.port);
  tokens.user = user();
  auto expanded = expand_tokens(command, tokens);
  if (!expanded) return fail(std::move(expanded.error()));
  return query_.succeeds && query_.succeeds(*expanded);
}

namespace {

template <class Value>
void keep_first(std::optional<Value>& slot, Value value) {
  if (!slot) slot = std::move(value);
}

void add_once(std::vector<std::string>& list, const std::string& word) {
  if (std::find(list.begin(), list.end(), word) == list.end()) list.push_back(word);
}

}  // namespace

// The parser has checked the words of the line.
Result<void> SshConfigReading::set(const Line& line) {
  const std::string& word = line.words.front();
  switch (line.keyword) {
    case Keyword::host_name: {
      if (out_.host_name) break;
      SshTokens tokens;
      tokens.host_name = host_;
      auto name = expand_tokens(word, tokens);
      if (!name) return fail(std::move(name.error()));
      out_.host_name = std::move(*name);
      break;
    }
    case Keyword::user:
      keep_first(out_.user, word);
      break;
    case Keyword::port:
      keep_first(out_.port, static_cast<std::uint16_t>(parse_number(word, 1, 65535).value_or(22)));
      break;
    case Keyword::address_family:
      keep_first(out_.family, SshConfigParser::family_of(word).value_or(SshFamily::any));
      break;
    case Keyword::identity_file:
      add_once(out_.identity_files, word);
      break;
    case Keyword::certificate_file:
      add_once(out_.certificate_files, word);
      break;
    case Keyword::identities_only:
      keep_first(out_.identities_only, parse_flag(to_lower(word)).value_or(false));
      break;
    case Keyword::identity_agent:
      keep_first(out_.identity_agent, word);
      break;
    case Keyword::proxy_jump:
      if (!out_.proxy_command) keep_first(out_.proxy_jump, word);
      break;
    case Keyword::proxy_command:
      if (!out_.proxy_jump) keep_first(out_.proxy_command, word);
      break;
    case Keyword::host_key_alias:
      keep_first(out_.host_key_alias, word);
      break;
    case Keyword::user_known_hosts:
      keep_first(out_.user_known_hosts, line.words);
      break;
    case Keyword::global_known_hosts:
      keep_first(out_.global_known_hosts, line.words);
      break;
    case Keyword::strict_host_keys:
      keep_first(out_.key_checking,
                 SshConfigParser::key_checking_of(word).value_or(SshKeyChecking::strict));
      break;
    case Keyword::host:
    case Keyword::match:
    case Keyword::include:
    case Keyword::other:
      break;
  }
  return {};
}

Result<SshSettings> ssh_settings(std::span<const SshConfig> files, const SshQuery& query,
                                 const SshTokens& tokens) {
  SshSettings out;
  SshConfigReading reading(query, tokens, out);
  bool again = false;
  for (const SshConfig& file : files) {
    if (auto done = reading.read(file); !done) return fail(std::move(done.error()));
    again = again || file.has_final_;
  }
  if (again) reading.begin_final();
  for (const SshConfig& file : files) {
    if (!again) break;
    if (auto done = reading.read(file); !done) return fail(std::move(done.error()));
  }
  return out;
}

}  // namespace scela
