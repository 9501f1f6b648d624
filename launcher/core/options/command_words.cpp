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

bool is_shell_text(const std::string& word) {
  return word.find_first_of(kSpecial) != std::string::npos || word.starts_with('~');
}

}  // namespace

bool is_for_shell(const std::vector<std::string>& argv) {
  return argv.size() == 1 && is_shell_text(argv.front());
}

bool is_surely_host(std::string_view word) {
  return word.find('/') == std::string_view::npos &&
         word.find_first_of("[,@") != std::string_view::npos && parse_hosts(word).has_value();
}

std::string hint_for_unknown_program(const std::vector<std::string>& argv, std::string_view hosts,
                                     bool is_host, CommandUse use) {
  if (argv.empty()) return "";
  const std::string& word = argv.front();
  if (is_host) {
    std::string known;
    for (const char c : hosts)
      known += c == '\n' ? std::string(" -w ") : std::string(1, c);
    return cat("if '", word, "' is a host, write -w ", known, known.empty() ? "" : ",", word,
               " before the command");
  }
  if (is_shell_text(word)) {
    if (use == CommandUse::ranks) return "ranks run a program and no shell: write sh -c 'TEXT'";
    if (use == CommandUse::exact) return "after -- no command goes to a shell: leave -- out";
    // A single word has gone to a shell, which itself was not found.
    if (argv.size() == 1) return "";
    return "a text for the shell is the only word of a command, and options stand before it";
  }
  const bool is_builtin = std::ranges::find(kBuiltins, word) != std::end(kBuiltins);
  if (is_builtin || is_assignment(word)) {
    return "to have it run by a shell, give the whole command as one word: -w HOSTS 'cd /tmp && "
           "ls'";
  }
  return "";
}

}  // namespace scela
