#include "launcher/core/options/completion.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "launcher/core/options/mpiexec_words.h"
#include "launcher/core/options/option_table.h"

namespace completion_test {

using namespace scela;

namespace {

std::vector<std::string> words_of(const OptionRow& row) {
  std::istringstream text{std::string(row.words)};
  std::vector<std::string> words;
  for (std::string word; text >> word;)
    words.push_back(word);
  return words;
}

bool is_accepted(const OptionRow& row, const std::string& value) {
  Options options;
  App app;
  std::vector<EnvVariable> global;
  return row.apply({options, app, global}, value).has_value();
}

// Returns the words of "give A or B or C", the refusal of an option that takes nothing else.
std::vector<std::string> words_of_refusal(const OptionRow& row) {
  Options options;
  App app;
  std::vector<EnvVariable> global;
  const auto refused = row.apply({options, app, global}, "no,such=word");
  if (refused) return {};
  std::istringstream hint(refused.error().hint);
  std::vector<std::string> words;
  std::string separator;
  while (hint >> separator) {
    if (separator != (words.empty() ? "give" : "or")) return {};
    std::string word;
    hint >> word;
    words.push_back(word == "rsh:COMMAND" ? "rsh:" : word);
  }
  return words;
}

}  // namespace

TEST_CASE("an option accepts each word that completion offers for it") {
  for (const OptionRow& row : option_table()) {
    for (const std::string& word : words_of(row)) {
      INFO(row.name << " " << word);
      CHECK(is_accepted(row, word.ends_with('=') ? word + "1" : word));
    }
  }
}

TEST_CASE("completion offers each word that an option's refusal names") {
  std::size_t checked = 0;
  for (const OptionRow& row : option_table()) {
    const std::vector<std::string> offered = words_of(row);
    if (offered.empty()) continue;
    for (const std::string& named : words_of_refusal(row)) {
      INFO(row.name << " " << named);
      CHECK(std::find(offered.begin(), offered.end(), named) != offered.end());
      ++checked;
    }
  }
  CHECK(checked > 30);
}

TEST_CASE("the file of each shell has every option and every word of mpiexec users") {
  const std::string texts[] = {bash_completion("@VALUES@@OPTIONAL@@PAIRS@@SINGLE@@OPTIONS@"),
                               zsh_completion("@OPTIONS@"),
                               fish_completion("@PAIRS@@REQUIRED@@OPTIONS@")};
  for (const std::string& text : texts) {
    for (const OptionRow& row : option_table()) {
      const std::string name(row.name);
      INFO(name);
      CHECK((text.find("--" + name) != std::string::npos ||
             text.find("-l " + name + " ") != std::string::npos));
    }
    for (const MpiexecSpelling& spelling : mpiexec_spellings()) {
      const std::string word(spelling.word);
      INFO(word);
      if (spelling.takes == MpiexecSpelling::Argument::none) continue;
      CHECK((text.find(word) != std::string::npos ||
             text.find("-o " + word.substr(1)) != std::string::npos));
    }
    for (const char* const mark :
         {"@VALUES@", "@OPTIONAL@", "@PAIRS@", "@SINGLE@", "@REQUIRED@", "@OPTIONS@"})
      CHECK(text.find(mark) == std::string::npos);
  }
}

TEST_CASE("help that has a quote or a bracket is quoted for each shell") {
  CHECK(zsh_completion("@OPTIONS@").find("program'\\''s ranks") != std::string::npos);
  CHECK(zsh_completion("@OPTIONS@").find("pmgr\\[-mvapich1\\]") != std::string::npos);
  CHECK(fish_completion("@OPTIONS@").find("program\\'s ranks") != std::string::npos);
}

}  // namespace completion_test
