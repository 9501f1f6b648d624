#include "launcher/core/options/manual.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>

#include "launcher/core/options/option_table.h"
#include "launcher/core/report/job_report.h"

namespace manual_test {

using namespace scela;

namespace {

std::string page_source(const std::string& name) {
  std::ifstream file(std::string(SCELA_MAN_DIR "/") + name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  return text;
}

std::string rendered(const std::string& name) {
  auto page = render_page(page_source(name), "1.2.3");
  REQUIRE(page);
  return std::move(*page);
}

// Returns one roff line as a reader sees it, without escapes and fonts.
std::string plain(std::string line) {
  const std::pair<std::string_view, std::string_view> escapes[] = {
      {"\\-", "-"}, {"\\fB", ""}, {"\\fI", ""}, {"\\fR", ""}, {"\\(aq", "'"}, {"\\&", ""}};
  for (const auto& [escape, text] : escapes) {
    for (auto at = line.find(escape); at != std::string::npos; at = line.find(escape, at)) {
      line.replace(at, escape.size(), text);
    }
  }
  return line;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// Returns the lines of one .SH section.
std::vector<std::string> section(const std::string& page, const std::string& title) {
  std::vector<std::string> found;
  bool inside = false;
  for (const std::string& line : lines_of(page)) {
    if (line.rfind(".SH", 0) == 0) {
      inside = line == ".SH " + title;
    } else if (inside) {
      found.push_back(line);
    }
  }
  return found;
}

// Returns the long options at the head of a text's entries.
std::set<std::string> option_heads(const std::vector<std::string>& heads) {
  std::set<std::string> names;
  for (const std::string& head : heads) {
    const auto dashes = head.find("--");
    if (dashes == std::string::npos) continue;
    names.insert(head.substr(dashes + 2, head.find_first_of(" =[\n", dashes) - dashes - 2));
  }
  return names;
}

std::set<std::string> table_names() {
  std::set<std::string> names;
  for (const OptionRow& row : option_table())
    names.emplace(row.name);
  return names;
}

// Returns the words of a command line, which may have the shell's single quotes.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool any = false;
  for (const char c : line + " ") {
    if (c == '\'') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any) words.push_back(std::exchange(word, ""));
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  return words;
}

}  // namespace

TEST_CASE("help, option table and manual page name the same options") {
  std::vector<std::string> page_heads;
  bool is_head = false;
  for (const std::string& line : section(rendered("scela-run.1.in"), "OPTIONS")) {
    if (is_head) page_heads.push_back(plain(line));
    is_head = line == ".TP";
  }
  std::vector<std::string> help_heads;
  for (const std::string& line : lines_of(help_text())) {
    if (line.rfind("  -", 0) == 0 || line.rfind("      --", 0) == 0) help_heads.push_back(line);
  }
  CHECK(option_heads(page_heads) == table_names());
  CHECK(page_heads.size() == option_table().size());
  CHECK(option_heads(help_heads) == table_names());
  CHECK(help_heads.size() == option_table().size());
}

TEST_CASE("the manual page shows each option as help does") {
  std::string page;
  for (const std::string& line : lines_of(options_roff()))
    page += plain(line) + "\n";
  for (const OptionRow& row : option_table()) {
    std::string head = option_heading(row);
    head.erase(0, head.find_first_not_of(' '));
    INFO(head);
    CHECK(page.find("\n.TP\n" + head + "\n") != std::string::npos);
  }
}

TEST_CASE("the manual page has every variable and every exit status") {
  const std::string page = rendered("scela-run.1.in");
  std::set<std::string> found;
  for (auto at = page.find("\\fBSCELA_"); at != std::string::npos;
       at = page.find("\\fBSCELA_", at + 1)) {
    found.insert(page.substr(at + 3, page.find("\\fR", at) - at - 3));
  }
  std::set<std::string> expected;
  for (const OptionRow& row : option_table()) {
    if (!row.variable.empty()) expected.emplace(row.variable);
  }
  CHECK(found == expected);
  std::vector<std::string> statuses;
  bool is_head = false;
  for (const std::string& line : section(page, "EXIT STATUS")) {
    if (is_head) statuses.push_back(plain(line));
    is_head = line == ".TP";
  }
  REQUIRE(statuses.size() == exit_table().size());
  for (std::size_t i = 0; i < statuses.size(); ++i)
    CHECK(statuses[i] == exit_table()[i].code);
}

TEST_CASE("every example of the manual page is a command line that parses") {
  std::size_t examples = 0;
  bool inside = false;
  for (const std::string& line : section(rendered("scela-run.1.in"), "EXAMPLES")) {
    if (line == ".EX" || line == ".EE") {
      inside = line == ".EX";
    } else if (inside) {
      auto words = shell_words(plain(line));
      INFO(plain(line));
      REQUIRE_FALSE(words.empty());
      CHECK(words.front() == "scela-run");
      words.erase(words.begin());
      const auto options = parse_options({words, {}, "", std::nullopt});
      INFO((options ? std::string() : options.error().text()));
      CHECK(options);
      ++examples;
    }
  }
  CHECK(examples >= 10);
}

TEST_CASE("no page keeps a placeholder, and the version stands in it") {
  for (const char* name : {"scela-run.1.in", "scela-nla.8.in"}) {
    const std::string page = rendered(name);
    CHECK(page.find("\n@") == std::string::npos);
    CHECK(page.find("ScELA 1.2.3") != std::string::npos);
  }
}

TEST_CASE("an unknown placeholder is an error that names its line") {
  const auto page = render_page(".TH X\n@OPTINS@\n", "1");
  REQUIRE_FALSE(page);
  CHECK(page.error().text().find("line 2: replace @OPTINS@") == 0);
}

}  // namespace manual_test
