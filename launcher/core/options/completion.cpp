#include "launcher/core/options/completion.h"

#include <string_view>
#include <vector>

#include "common/core/log.h"
#include "common/core/text.h"
#include "launcher/core/options/mpiexec_words.h"
#include "launcher/core/options/option_table.h"

namespace scela {
namespace {

// Says what the value of an option is, if it is no word of the table.
enum class ValueKind { other, file, folder, hosts, variable };

ValueKind kind_of(const OptionRow& row) {
  if (row.argument == "FILE" || row.argument == "PATH") return ValueKind::file;
  if (row.argument == "DIR" || row.argument == "DIRS") return ValueKind::folder;
  if (row.argument == "SPEC") return ValueKind::hosts;
  if (row.argument == "NAME=VALUE") return ValueKind::variable;
  return ValueKind::other;
}

std::string words_of(const OptionRow& row) {
  if (row.name != "verbose") return std::string(row.words);
  std::string words;
  for (int i = 0; i < kSubsystems; ++i)
    words += cat(i == 0 ? "" : " ", name_of(static_cast<Subsystem>(i)));
  return words;
}

// Returns the spellings of an option as one list: "--np", "-n", "-np".
std::vector<std::string> spellings_of(const OptionRow& row) {
  std::vector<std::string> all = {cat("--", row.name)};
  if (row.short_name != 0) all.push_back(cat('-', row.short_name));
  for (const MpiexecSpelling& spelling : mpiexec_spellings()) {
    if (spelling.option == all.front()) all.emplace_back(spelling.word);
  }
  return all;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words)
    text += cat(text.empty() ? "" : separator, word);
  return text;
}

std::string replaced(std::string text, std::string_view mark, std::string_view with) {
  const auto at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), with);
  return text;
}

// Puts a backslash before each character of `special`.
std::string quoted(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// Returns text between single quotes, for a shell that ends them by '\''.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string pair_spellings(std::string_view separator) {
  std::vector<std::string> words;
  for (const MpiexecSpelling& spelling : mpiexec_spellings()) {
    if (spelling.takes == MpiexecSpelling::Argument::pair) words.emplace_back(spelling.word);
  }
  return joined(words, separator);
}

// Returns the letters of all options that take a value.
std::string letters_with_value() {
  std::string letters;
  for (const OptionRow& row : option_table()) {
    if (row.takes == OptionArgument::required && row.short_name != 0) letters += row.short_name;
  }
  return letters;
}

// Returns the branch of a case of bash that says what the value of an option is.
std::string bash_value(const OptionRow& row, const std::vector<std::string>& spellings) {
  constexpr std::string_view kKinds[] = {"other", "file", "folder", "hosts", "variable"};
  return cat("    ", joined(spellings, " | "), ") kind=", kKinds[static_cast<int>(kind_of(row))],
             " words='", words_of(row), "' ;;\n");
}

std::string zsh_action(const OptionRow& row) {
  if (const std::string words = words_of(row); !words.empty()) {
    // A word that goes on is no whole value.
    return cat('(', quoted(words, ":"), ')');
  }
  switch (kind_of(row)) {
    case ValueKind::file:
      return "_files";
    case ValueKind::folder:
      return "_files -/";
    case ValueKind::hosts:
      return "_sequence _scela_run_hosts";
    case ValueKind::variable:
      return "_parameters -g \"*export*\" -S \\=";
    case ValueKind::other:
      return " ";
  }
  return " ";
}

std::string zsh_option(const OptionRow& row) {
  const std::string help = cat('[', quoted(row.help, "[]:\\"), ']');
  const std::vector<std::string> spellings = spellings_of(row);
  const std::string action =
      cat(':', row.takes == OptionArgument::optional ? ":" : "", quoted(row.argument, "[]:\\"),
          row.takes == OptionArgument::optional ? ":" : ":", zsh_action(row));
  std::string text;
  for (const std::string& spelling : spellings) {
    const bool is_long = spelling.starts_with("--");
    std::string spec = row.repeatable ? "*" : cat('(', joined(spellings, " "), ')');
    spec += spelling;
    switch (row.takes) {
      case OptionArgument::none:
        spec += help;
        break;
      case OptionArgument::required:
        spec += cat(is_long ? "=" : spelling.size() == 2 ? "+" : "", help, action);
        break;
      case OptionArgument::optional:
        spec += is_long ? cat("=-", help, action) : help;
        break;
    }
    text += cat("  ", in_quotes(spec), "\n");
  }
  return text;
}

std::string fish_values(const OptionRow& row) {
  if (const std::string words = words_of(row); !words.empty()) return in_quotes(words);
  switch (kind_of(row)) {
    case ValueKind::folder:
      return "'(__fish_complete_directories)'";
    case ValueKind::hosts:
      return "'(__scela_run_hosts)'";
    case ValueKind::variable:
      return "'(set -xn | string replace -r \\$ =)'";
    case ValueKind::file:
    case ValueKind::other:
      return "";
  }
  return "";
}

std::string fish_option(const OptionRow& row) {
  std::string names = cat(" -l ", row.name);
  for (const std::string& spelling : spellings_of(row)) {
    if (!spelling.starts_with("--"))
      names += cat(spelling.size() == 2 ? " -s " : " -o ", spelling.substr(1));
  }
  std::string text = cat("complete -c scela-run -n __scela_run_no_program", names);
  if (row.takes == OptionArgument::required)
    text += kind_of(row) == ValueKind::file ? " -r -F" : " -x";
  if (row.takes != OptionArgument::none) {
    if (const std::string values = fish_values(row); !values.empty()) text += cat(" -a ", values);
  }
  // fish has other escapes within single quotes than the other shells.
  return cat(text, " -d '", quoted(row.help, "'\\"), "'\n");
}

}  // namespace

std::string bash_completion(std::string_view source) {
  std::string values;
  std::string optional;
  std::vector<std::string> options;
  std::vector<std::string> single;
  for (const OptionRow& row : option_table()) {
    const std::vector<std::string> spellings = spellings_of(row);
    if (row.takes == OptionArgument::required) values += bash_value(row, spellings);
    if (row.takes == OptionArgument::optional) {
      optional += bash_value(row, {spellings.front()});
      options.push_back(spellings.front() + "=");
    }
    options.push_back(spellings.front());
  }
  for (const MpiexecSpelling& spelling : mpiexec_spellings()) {
    if (spelling.takes != MpiexecSpelling::Argument::pair) single.emplace_back(spelling.word);
  }
  std::string text = replaced(std::string(source), "@VALUES@", values);
  text = replaced(std::move(text), "@OPTIONAL@", optional);
  text = replaced(std::move(text), "@PAIRS@", pair_spellings(" | "));
  text = replaced(std::move(text), "@SINGLE@", joined(single, " | "));
  text = replaced(std::move(text), "@LETTERS@", letters_with_value());
  return replaced(std::move(text), "@OPTIONS@", joined(options, " "));
}

std::string zsh_completion(std::string_view source) {
  std::string options;
  for (const OptionRow& row : option_table())
    options += zsh_option(row);
  return replaced(std::string(source), "@OPTIONS@", options);
}

std::string fish_completion(std::string_view source) {
  std::string options;
  std::vector<std::string> required;
  for (const OptionRow& row : option_table()) {
    options += fish_option(row);
    if (row.takes != OptionArgument::required) continue;
    for (const std::string& spelling : spellings_of(row))
      required.push_back(spelling);
  }
  std::string text = replaced(std::string(source), "@PAIRS@", pair_spellings(" "));
  text = replaced(std::move(text), "@REQUIRED@", joined(required, " "));
  const std::string letters = letters_with_value();
  text = replaced(std::move(text), "@LETTERS@", letters);
  text = replaced(std::move(text), "@LETTERS@", letters);
  return replaced(std::move(text), "@OPTIONS@", options);
}

}  // namespace scela
