#include "launcher/core/options/command_words.h"

#include <algorithm>
#include <iterator>

#include "common/core/text.h"
#include "launcher/core/hosts/hostfile.h"

namespace scela {
namespace {

constexpr std::string_view kSpecial = " \t\n;&|<>()$`\\\"'*?[{";

// Commands that a shell carries out itself, so that no file of this name need exist.
constexpr std::string_view kBuiltins[] = {"cd",    "export", "source", ".",    "alias", "ulimit",
                                          "umask", "set",    "unset",  "eval", "exec",  "type",
                                          "for",   "if",     "while",  "trap"};

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 && word.find_first_of("/.-") > equals;
}

}  // namespace

bool is_for_shell(const std::vector<std::string>& argv) {
  if (argv.size() != 1 || argv.front().empty()) return false;
  const std::string& word = argv.front();
  return word.find_first_of(kSpecial) != std::string::npos || word.front() == '~';
}

bool is_surely_host(std::string_view word) {
  return word.find('/') == std::string_view::npos &&
         word.find_first_of("[,@") != std::string_view::npos && parse_hosts(word).has_value();
}

std::string hint_for_unknown_program(const std::vector<std::string>& argv, std::string_view hosts,
                                     bool is_host) {
  if (argv.empty()) return "";
  const std::string& word = argv.front();
  if (is_host) {
    std::string known;
    for (const char c : hosts)
      known += c == '\n' ? std::string(" -w ") : std::string(1, c);
    return cat("if '", word, "' is a host, write -w ", known, known.empty() ? "" : ",", word,
               " before the command");
  }
  const bool is_builtin = std::ranges::find(kBuiltins, word) != std::end(kBuiltins);
  if (is_builtin || is_assignment(word)) {
    return "to have it run by a shell, give the whole command as one word: -w HOSTS 'cd /tmp && "
           "ls'";
  }
  return "";
}

}  // namespace scela
