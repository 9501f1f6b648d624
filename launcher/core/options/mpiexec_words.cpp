#include "launcher/core/options/mpiexec_words.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "common/core/text.h"
#include "launcher/core/options/option_table.h"

namespace scela {
namespace {

using Argument = MpiexecSpelling::Argument;

constexpr MpiexecSpelling kSpellings[] = {
    {"-np", "--np", Argument::one},
    {"-ppn", "--ppn", Argument::one},
    {"-hosts", "--hosts", Argument::one},
    {"-usize", "--usize", Argument::one},
    {"-wdir", "--wdir", Argument::one},
    {"-wd", "--wdir", Argument::one},
    {"-env", "--env", Argument::pair},
    {"-genv", "--genv", Argument::pair},
    {"-pmi-port", "--pmi=port", Argument::none},
    {"-launcher", "--launch", Argument::one},
    {"--launcher", "--launch", Argument::one},
};

// Options of other launchers and their names here. They are refused with a hint, as some of them
// mean more there, or mean something else.
struct ForeignOption {
  std::string_view name;
  std::string_view hint;
};

constexpr ForeignOption kForeign[] = {
    {"mca", "say --env OMPI_MCA_NAME=VALUE"},
    {"H", "say -w LIST"},
    {"host", "say -w LIST"},
    {"machinefile", "say --hostfile FILE"},
    {"N", "say --ppn N"},
    {"npernode", "say --ppn N"},
    {"rf", "say --rankfile FILE"},
    {"display-map", "say --show-map"},
    {"tag-output", "say --label"},
    {"prepend-rank", "say --label"},
    {"prepend-pattern", "say --label=PATTERN"},
    {"membind", "say --mem-bind WHAT"},
    {"genvall", "ranks inherit all variables: leave it out"},
    {"envall", "ranks inherit all variables: leave it out"},
    {"allow-run-as-root", "it is not needed: leave it out"},
    {"xterm", "no rank gets a terminal window: see --label, --output-dir and --pty"},
    {"nameserver", "agents serve published names themselves: leave it out"},
    {"iface", "say --network INTERFACE"},
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The value may be a part of the word: -N4.
const ForeignOption* find_foreign(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  word = word.substr(0, word.find_last_not_of("0123456789") + 1);
  const auto found = std::ranges::find(kForeign, word, &ForeignOption::name);
  return found == std::end(kForeign) ? nullptr : found;
}

class WordReader {
 public:
  explicit WordReader(const std::vector<std::string>& words) : words_(words) {}

  Result<std::vector<ProgramWords>> read() {
    do {
      programs_.emplace_back();
      if (auto done = read_options(); !done) return fail(done.error());
      while (!at_end() && word() != ":")
        programs_.back().argv.push_back(words_[next_++]);
    } while (!at_end() && words_[next_++] == ":");
    return std::move(programs_);
  }

 private:
  bool at_end() const { return next_ == words_.size(); }
  const std::string& word() const { return words_[next_]; }
  std::vector<std::string>& options() { return programs_.back().options; }

  // Reads options up to the program's name, ":" or the end.
  Result<void> read_options() {
    while (!at_end()) {
      const std::string_view text = word();
      if (text == "--") {
        ++next_;
        programs_.back().is_exact = true;
        return {};
      }
      if (text.size() < 2 || text[0] != '-') return {};
      auto read = text[1] == '-' ? read_long() : read_short();
      if (!read) return read;
    }
    return {};
  }

  Result<void> read_long() {
    for (const MpiexecSpelling& spelling : kSpellings) {
      if (word() == spelling.word) return rewrite(spelling);
      if (word().starts_with(cat(spelling.word, "=")) && spelling.word.starts_with("--")) {
        options().push_back(cat(spelling.option, word().substr(spelling.word.size())));
        ++next_;
        return {};
      }
    }
    const std::string_view text = word();
    const std::string_view name = text.substr(2, text.find('=') - 2);
    const OptionRow* row = find_option(name);
    if (row == nullptr) return fail(unknown_option(text.substr(0, text.find('='))));
    const bool wants_word =
        row->takes == OptionArgument::required && text.find('=') == std::string_view::npos;
    take(wants_word ? 2 : 1);
    return {};
  }

  Result<void> read_short() {
    for (const MpiexecSpelling& spelling : kSpellings) {
      if (word() == spelling.word) return rewrite(spelling);
    }
    const std::string text = word();
    if (text.size() > 2 && find_foreign(text) != nullptr) return fail(unknown_option(text));
    for (std::size_t i = 1; i < text.size(); ++i) {
      const OptionRow* row = find_option(text[i]);
      if (row == nullptr && text[i] == '=' && i > 1) return fail(value_of_a_letter(text, i));
      if (row == nullptr) return fail(unknown_option(text));
      const std::string letter = {'-', text[i]};
      if (row->takes != OptionArgument::required) {
        options().push_back(letter);
        continue;
      }
      // -nolocal of other launchers is not a number of ranks.
      if (row->name == "np" && i + 1 < text.size() && !is_digit(text[i + 1]))
        return fail(unknown_option(text));
      options().push_back(letter + text.substr(i + 1));
      ++next_;
      if (i + 1 == text.size()) take(1);
      return {};
    }
    ++next_;
    return {};
  }

  // Returns the error for "-v=launch": only the long form takes an optional value.
  static Error value_of_a_letter(const std::string& text, std::size_t equals) {
    const OptionRow* row = find_option(text[equals - 1]);
    if (row == nullptr || row->takes != OptionArgument::optional) return unknown_option(text);
    return Error{ErrorKind::usage, cat("option -", text[equals - 1]), "",
                 "the letter takes no value",
                 cat("write --", row->name, text.substr(equals), "; see scela-run --help")};
  }

  Result<void> rewrite(const MpiexecSpelling& spelling) {
    ++next_;
    if (spelling.takes != Argument::pair) {
      options().emplace_back(spelling.option);
      if (spelling.takes == Argument::one) take(1);
      return {};
    }
    // Hydra takes NAME=VALUE in one word too.
    const bool is_one_word = !at_end() && word().find('=') != std::string::npos;
    const std::size_t wanted = is_one_word ? 1 : 2;
    if (words_.size() - next_ < wanted) {
      return fail(Error{ErrorKind::usage, cat("option ", spelling.word), "",
                        "a name and a value are missing",
                        cat("write ", spelling.word, " NAME VALUE; see scela-run --help")});
    }
    options().push_back(is_one_word ? cat(spelling.option, '=', word())
                                    : cat(spelling.option, '=', word(), '=', words_[next_ + 1]));
    next_ += wanted;
    return {};
  }

  // Takes up to `count` words. If there are fewer, the parser reports the option that lacks its
  // argument.
  void take(std::size_t count) {
    for (; count > 0 && !at_end(); --count)
      options().push_back(words_[next_++]);
  }

  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  std::vector<ProgramWords> programs_;
};

}  // namespace

std::span<const MpiexecSpelling> mpiexec_spellings() {
  return kSpellings;
}

Result<std::vector<ProgramWords>> split_programs(const std::vector<std::string>& words) {
  return WordReader(words).read();
}

Error unknown_option(std::string_view word) {
  if (const ForeignOption* foreign = find_foreign(word)) {
    return Error{ErrorKind::usage, cat("unknown option ", word), "", "",
                 cat(foreign->hint, "; see scela-run --help")};
  }
  const std::string_view near = nearest_option(word);
  return Error{ErrorKind::usage, cat("unknown option ", word), "", "",
               near.empty() ? std::string("see scela-run --help")
                            : cat("did you mean --", near, "? see scela-run --help")};
}

}  // namespace scela
