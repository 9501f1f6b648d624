#include "launcher/core/ssh/ssh_config_lines.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/core/text.h"
#include "launcher/core/ssh/ssh_patterns.h"
#include "launcher/core/values/text_values.h"

namespace scela {

namespace {

constexpr int kDeepestInclude = 16;  // ssh's own limit
// A file that includes itself n times would give n^16 files.
constexpr std::size_t kMaxFiles = 1024;
constexpr std::string_view kConfigBlanks = " \t\r\f";

// Splits a line into words. It handles quotes and backslashes as ssh does, and a "#" before a word
// ends the line. Returns std::nullopt if a quote is not closed.
std::optional<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0;;) {
    i = text.find_first_not_of(kConfigBlanks, i);
    if (i == std::string_view::npos || text[i] == '#') return words;
    std::string word;
    char quote = '\0';
    for (; i < text.size() &&
           (quote != '\0' || kConfigBlanks.find(text[i]) == std::string_view::npos);
         ++i) {
      const char c = text[i];
      const char next = i + 1 < text.size() ? text[i + 1] : '\0';
      const bool escaped = c == '\\' && (next == '\'' || next == '"' || next == '\\' ||
                                         (quote == '\0' && next == ' '));
      if (escaped) {
        word += next;
        ++i;
      } else if (quote == '\0' && (c == '"' || c == '\'')) {
        quote = c;
      } else if (quote != '\0' && c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    }
    if (quote != '\0') return std::nullopt;
    words.push_back(std::move(word));
  }
}

std::string_view trim_front(std::string_view text, std::string_view characters) {
  return text.substr(std::min(text.find_first_not_of(characters), text.size()));
}

}  // namespace

Error SshConfigParser::at(std::string_view where, Error inner) {
  return Error{ErrorKind::usage, "read the ssh configuration", std::string(where),
               std::move(inner.why), std::move(inner.hint)};
}

std::optional<SshFamily> SshConfigParser::family_of(std::string_view word) {
  const std::string lower = to_lower(word);
  if (lower == "any") return SshFamily::any;
  if (lower == "inet") return SshFamily::inet;
  if (lower == "inet6") return SshFamily::inet6;
  return std::nullopt;
}

std::optional<SshKeyChecking> SshConfigParser::key_checking_of(std::string_view word) {
  const std::string lower = to_lower(word);
  if (lower == "yes" || lower == "true" || lower == "ask") return SshKeyChecking::strict;
  if (lower == "accept-new") return SshKeyChecking::accept_new;
  if (lower == "no" || lower == "false" || lower == "off") return SshKeyChecking::any;
  return std::nullopt;
}

Result<SshConfig> SshConfig::parse(const File& file, const IncludeReader& include) {
  SshConfig config;
  auto done = SshConfigParser(config, include).parse(file, config.lines_, 0);
  if (!done) return fail(std::move(done.error()));
  return config;
}

Result<void> SshConfigParser::parse(const SshConfig::File& file, std::vector<Line>& out,
                                    int depth) {
  if (++files_ > kMaxFiles || depth > kDeepestInclude) {
    return fail(value_error("files include one another without end",
                            "remove the Include that leads back to its own file"));
  }
  std::string_view text = file.text;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view content = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (content.empty() || content.front() == '#') continue;
    Line line{SshConfig::Keyword::other, {}, {}, {}, cat(file.name, ":", number)};
    if (auto done = parse_line(content, line, depth); !done) {
      Error error = std::move(done.error());
      return fail(error.where.empty() ? at(line.where, std::move(error)) : std::move(error));
    }
    if (line.keyword != SshConfig::Keyword::other) out.push_back(std::move(line));
  }
  return {};
}

namespace {}  // namespace

Result<void> SshConfigParser::check_word(SshConfig::Keyword keyword, const std::string& word) {
  using Keyword = SshConfig::Keyword;
  if (keyword == Keyword::port) {
    auto number = parse_number(word, 1, 65535);
    if (!number) return fail(std::move(number.error()));
  } else if (keyword == Keyword::identities_only) {
    auto flag = parse_flag(to_lower(word));
    if (!flag) return fail(std::move(flag.error()));
  } else if (keyword == Keyword::address_family && !family_of(word)) {
    return fail(
        value_error(cat("'", word, "' is no family of addresses"), "write any, inet or inet6"));
  } else if (keyword == Keyword::strict_host_keys && !key_checking_of(word)) {
    return fail(value_error(cat("'", word, "' is no value of StrictHostKeyChecking"),
                            "write yes, ask, accept-new, no or off"));
  }
  return {};
}

Result<void> SshConfigParser::parse_line(std::string_view text, Line& line, int depth) {
  using Keyword = SshConfig::Keyword;
  static constexpr std::pair<std::string_view, Keyword> kKeywords[] = {
      {"host", Keyword::host},
      {"match", Keyword::match},
      {"include", Keyword::include},
      {"hostname", Keyword::host_name},
      {"user", Keyword::user},
      {"port", Keyword::port},
      {"addressfamily", Keyword::address_family},
      {"identityfile", Keyword::identity_file},
      {"certificatefile", Keyword::certificate_file},
      {"identitiesonly", Keyword::identities_only},
      {"identityagent", Keyword::identity_agent},
      {"proxyjump", Keyword::proxy_jump},
      {"proxycommand", Keyword::proxy_command},
      {"hostkeyalias", Keyword::host_key_alias},
      {"userknownhostsfile", Keyword::user_known_hosts},
      {"globalknownhostsfile", Keyword::global_known_hosts},
      {"stricthostkeychecking", Keyword::strict_host_keys},
  };
  const std::string name = to_lower(text.substr(0, text.find_first_of(" \t\r\f=")));
  std::string_view rest = trim_front(text.substr(name.size()), kConfigBlanks);
  if (rest.starts_with('=')) rest = trim_front(rest.substr(1), kConfigBlanks);
  const auto known = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                  [&](const auto& entry) { return entry.first == name; });
  if (known == std::end(kKeywords)) return {};
  line.keyword = known->second;

  if (line.keyword == Keyword::proxy_command) {  // a shell line: its quotes are kept
    if (rest.empty()) return fail(value_error("no command follows", "write one, or none"));
    line.words.emplace_back(rest);
    return {};
  }
  auto words = split_words(rest);
  if (!words) return fail(value_error("a quote is not closed", "close it on the same line"));
  line.words = std::move(*words);
  if (line.words.empty()) {
    return fail(value_error(cat("nothing follows '", name, "'"), "write a value or drop the line"));
  }
  if (line.keyword == Keyword::match) return parse_match(line);
  if (line.keyword == Keyword::include) return parse_include(line, depth);
  const bool is_list = line.keyword == Keyword::host || line.keyword == Keyword::user_known_hosts ||
                       line.keyword == Keyword::global_known_hosts;
  if (is_list) return {};
  if (line.words.size() > 1 || line.words.front().empty()) {
    return fail(value_error(cat("'", name, "' takes one word"), "put what has blanks in quotes"));
  }
  return check_word(line.keyword, line.words.front());
}

Result<void> SshConfigParser::parse_match(Line& line) {
  using Attribute = SshConfig::Attribute;
  static constexpr std::pair<std::string_view, Attribute> kAttributes[] = {
      {"all", Attribute::all},
      {"canonical", Attribute::canonical},
      {"final", Attribute::final_reading},
      {"host", Attribute::host},
      {"originalhost", Attribute::original_host},
      {"user", Attribute::user},
      {"localuser", Attribute::local_user},
      {"exec", Attribute::exec},
  };
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    const std::size_t equals = word.find('=');
    std::string name = to_lower(std::string_view(word).substr(0, equals));
    SshConfig::Criterion criterion{Attribute::all, name.starts_with('!'), {}};
    if (criterion.negated) name.erase(0, 1);
    const auto known = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                                    [&](const auto& entry) { return entry.first == name; });
    if (known == std::end(kAttributes)) {
      return fail(value_error(cat("'", word, "' is no criterion of Match that is known here"),
                              "the criteria are all, canonical, final, host, originalhost, user, "
                              "localuser and exec"));
    }
    criterion.attribute = known->second;
    config_.has_final_ = config_.has_final_ || criterion.attribute == Attribute::final_reading;
    if (criterion.attribute >= Attribute::host) {
      std::string value;
      if (equals != std::string::npos) {
        value = word.substr(equals + 1);
      } else if (++i < line.words.size()) {
        value = line.words[i];
      }
      if (value.empty()) {
        return fail(value_error(cat("nothing follows '", name, "'"), "write what it must match"));
      }
      const bool is_host =
          criterion.attribute == Attribute::host || criterion.attribute == Attribute::original_host;
      criterion.values = criterion.attribute == Attribute::exec
                             ? std::vector<std::string>{value}
                             : split_list(is_host ? to_lower(value) : value, ',');
    }
    line.criteria.push_back(std::move(criterion));
  }
  return {};
}

Result<void> SshConfigParser::parse_include(Line& line, int depth) {
  for (const std::string& pattern : line.words) {
    auto files = include_(pattern);
    if (!files) return fail(std::move(files.error()));
    for (const SshConfig::File& file : *files) {
      if (auto done = parse(file, line.included, depth + 1); !done) return done;
    }
  }
  return {};
}

}  // namespace scela
