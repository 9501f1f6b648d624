#include "launcher/core/ssh/ssh_tokens.h"

#include <optional>

#include "common/core/text.h"
#include "launcher/core/values/text_values.h"

namespace scela {

namespace {

std::optional<std::string> token_value(char token, const SshTokens& tokens) {
  const std::string& local = tokens.local_host;
  switch (token) {
    case '%':
      return "%";
    case 'h':
      return tokens.host_name;
    case 'n':
      return tokens.original_name;
    case 'k':
      return tokens.host_key_alias.empty() ? tokens.original_name : tokens.host_key_alias;
    case 'p':
      return cat(tokens.port);
    case 'r':
      return tokens.user;
    case 'u':
      return tokens.local_user;
    case 'd':
      return tokens.home;
    case 'l':
      return local;
    case 'L':
      return local.substr(0, local.find('.'));
    case 'i':
      return cat(tokens.user_id);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::string> expand_tokens(std::string_view text, const SshTokens& tokens) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const std::string_view token = text.substr(i, 2);
    const auto value = token.size() == 2 ? token_value(token[1], tokens) : std::nullopt;
    if (!value) {
      return fail(value_error(cat("'", token, "' in '", text, "' is no token that is known here"),
                              "the tokens are %% %h %n %k %p %r %u %d %l %L %i"));
    }
    out += *value;
    ++i;
  }
  return out;
}

Result<std::string> expand_path(std::string_view text, const SshTokens& tokens,
                                const std::map<std::string, std::string>& environment) {
  std::string out;
  if (text == "~" || text.starts_with("~/")) {
    out = tokens.home;
    text.remove_prefix(1);
  } else if (text.starts_with('~')) {
    return fail(
        value_error(cat("'", text, "' lies in the home of another user"), "write the whole path"));
  }
  while (!text.empty()) {
    const std::size_t begin = text.find("${");
    auto plain = expand_tokens(text.substr(0, begin), tokens);
    if (!plain) return plain;
    out += *plain;
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin + 2);
    const std::size_t end = text.find('}');
    if (end == std::string_view::npos) {
      return fail(value_error("'${' is not closed", "write ${NAME}"));
    }
    const auto variable = environment.find(std::string(text.substr(0, end)));
    if (variable == environment.end()) {
      return fail(value_error(cat("the variable '", text.substr(0, end), "' is not set"),
                              "set it or write the path without it"));
    }
    out += variable->second;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace scela
