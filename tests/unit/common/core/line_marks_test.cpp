#include "common/core/line_marks.h"

#include <catch2/catch.hpp>

namespace line_marks_test {

using namespace scela;

namespace {

std::string marked(const std::vector<std::string_view>& pieces) {
  std::string out;
  bool at_line_start = true;
  for (const std::string_view piece : pieces)
    mark_lines(piece, "n1: ", at_line_start, out);
  return out;
}

}  // namespace

TEST_CASE("every line is marked once, however its bytes arrive") {
  CHECK(marked({"a\n\nb"}) == "n1: a\nn1: \nn1: b");
  CHECK(marked({"a", "", "b\n", "\n", "c", "\n"}) == "n1: ab\nn1: \nn1: c\n");
  CHECK(marked({"a\n"}) == "n1: a\n");
  CHECK(marked({""}).empty());
  CHECK(marked({std::string_view("\0\n\xff", 3)}) == std::string("n1: \0\nn1: \xff", 11));
}

TEST_CASE("numbers of ranks are as wide as the largest") {
  CHECK(padded_rank(3, 10) == "3");
  CHECK(padded_rank(3, 11) == "03");
  CHECK(padded_rank(1000, 1001) == "1000");
  CHECK(padded_rank(0, 0) == "0");
}

TEST_CASE("a label has the values of its parts") {
  const StreamParts parts{"node007", 6, 3, 12, "job", "err"};
  CHECK(stream_pattern_text(kLabelOfRank, parts) == "03: ");
  CHECK(stream_pattern_text(kLabelOfHost, parts) == "node007: ");
  CHECK(stream_pattern_text("[%j %n %r@%h std%s 100%%] ", parts) ==
        "[job 6 03@node007 stderr 100%] ");
}

TEST_CASE("a label with unknown parts or control characters is refused") {
  CHECK(label_fault("[%r] %h%n%j%s%%").empty());
  CHECK(label_fault("%r%") == "a '%' stands at its end");
  CHECK(label_fault("%r%q") == "'%q' means nothing");
  CHECK(label_fault("%r\t") == "it has a control character");
  CHECK(label_fault(std::string(kLongestLabel + 1, 'x')) == "it has more than 256 bytes");
}

TEST_CASE("a label tells ranks or hosts apart by the parts that differ between them") {
  for (const char* const one : {"%r", "x%h", "%n%%"})
    CHECK(label_tells_apart(one));
  for (const char* const one : {"", "%%r", "%j%s: "})
    CHECK_FALSE(label_tells_apart(one));
}

TEST_CASE("the time of day is that of the reader, to the millisecond") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  CHECK(clock_text(0, 0) == "00:00:00.000");
  CHECK(clock_text(((12 * 60 + 34) * 60 + 56) * kSecond + 789'999'999, 0) == "12:34:56.789");
  CHECK(clock_text(1'700'000'000 * kSecond, 3600) == "23:13:20.000");
  CHECK(clock_text(0, -1) == "23:59:59.000");
  CHECK(clock_text(0, 7200).size() == kClockTextBytes);
}

TEST_CASE("a raw terminal gets a carriage return with every line") {
  CHECK(with_returns("a\nb\n\nc") == "a\r\nb\r\n\r\nc");
  CHECK(with_returns("") == "");
}

}  // namespace line_marks_test
