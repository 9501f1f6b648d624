// Tests the comparison of texts line by line.
#include "launcher/core/report/line_diff.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "common/core/random.h"

namespace line_diff_test {

using namespace scela;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  for (std::size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1)
    lines.push_back(text.substr(from, end - from));
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

// Applies the hunks to the text, as patch does, and checks that each unchanged and removed line is
// the text's. Counts the changed lines.
std::string patched(const std::string& before, const std::string& diff, std::size_t& changed) {
  const std::vector<std::string> old = lines_of(before);
  std::vector<std::string> result;
  std::size_t at = 0;
  for (const std::string& line : lines_of(diff)) {
    if (line.starts_with("@@ -")) {
      const std::size_t start = std::stoul(line.substr(4));
      const std::size_t comma = line.find(','), space = line.find(' ', 4);
      const bool none = comma < space && line.substr(comma + 1, space - comma - 1) == "0";
      for (const std::size_t first = none ? start : start - 1; at < first;)
        result.push_back(old.at(at++));
      continue;
    }
    if (line[0] != ' ') ++changed;
    if (line[0] != '+') REQUIRE(old.at(at++) == line.substr(1));
    if (line[0] != '-') result.push_back(line.substr(1));
  }
  while (at < old.size())
    result.push_back(old[at++]);
  return joined(result);
}

// Returns the number of lines that the longest common subsequence leaves.
std::size_t fewest_changes(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> longest(a.size() + 1,
                                                std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j)
      longest[i][j] = a[i - 1] == b[j - 1] ? longest[i - 1][j - 1] + 1
                                           : std::max(longest[i - 1][j], longest[i][j - 1]);
  return a.size() + b.size() - 2 * longest[a.size()][b.size()];
}

}  // namespace

TEST_CASE("equal texts have no difference, whether or not the last line is ended") {
  CHECK(unified_diff("", "").empty());
  CHECK(unified_diff("a\nb\n", "a\nb").empty());
}

TEST_CASE("differences have the form of diff -u") {
  CHECK(unified_diff("same\n", "other\n") == "@@ -1 +1 @@\n-same\n+other\n");
  CHECK(unified_diff("", "a\nb\n") == "@@ -0,0 +1,2 @@\n+a\n+b\n");
  CHECK(unified_diff("a\n", "") == "@@ -1 +0,0 @@\n-a\n");
  CHECK(unified_diff("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nx\n5\n6\n") ==
        "@@ -2,5 +2,6 @@\n 2\n 3\n 4\n+x\n 5\n 6\n");
  CHECK(unified_diff("a\n\n", "a\n") == "@@ -1,2 +1 @@\n a\n-\n");
}

TEST_CASE("changes that are near share a hunk, and others do not") {
  const auto numbers = [](int from, int to) {
    std::string text;
    for (int i = from; i <= to; ++i)
      text += std::to_string(i) + "\n";
    return text;
  };
  const auto hunks = [&](int between) {
    const std::string diff =
        unified_diff("a\n" + numbers(1, between) + "b\n", "x\n" + numbers(1, between) + "y\n");
    return std::count(diff.begin(), diff.end(), '@') / 4;
  };
  CHECK(hunks(6) == 1);
  CHECK(hunks(7) == 2);
}

TEST_CASE("a difference turns one text into the other by the fewest changes") {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    const auto draw = [&] {
      std::vector<std::string> lines(random.below(30));
      for (std::string& line : lines)
        line = std::string(1, static_cast<char>('a' + random.below(4)));
      return lines;
    };
    const std::vector<std::string> a = draw(), b = draw();
    std::size_t changed = 0;
    REQUIRE(patched(joined(a), unified_diff(joined(a), joined(b)), changed) == joined(b));
    REQUIRE(changed == fewest_changes(a, b));
  }
}

TEST_CASE("texts with more changes than the limit are still compared, but for the shortest way") {
  std::string a = "same\n", b = "same\n";
  for (std::size_t i = 0; i <= kMaxChanges; ++i) {
    a += "a" + std::to_string(i) + "\nboth\n";
    b += "b" + std::to_string(i) + "\nboth\n";
  }
  std::size_t changed = 0;
  CHECK(patched(a, unified_diff(a, b), changed) == b);
  CHECK(changed == 2 * (2 * kMaxChanges + 1));
  CHECK(unified_diff(a, b).starts_with("@@ -1,"));
}

}  // namespace line_diff_test
