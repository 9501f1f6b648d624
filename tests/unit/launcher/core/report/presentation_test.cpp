#include "launcher/core/report/presentation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>

#include "common/core/line_marks.h"
#include "common/core/random.h"

namespace presentation_test {

using namespace scela;

namespace {

constexpr auto kOut = OutputStream::out;
constexpr auto kErr = OutputStream::err;

std::string joined(const std::vector<PresentedWrite>& writes) {
  std::string text;
  for (const PresentedWrite& write : writes)
    text += write.bytes;
  return text;
}

// Passes bytes of one rank. The stream of the rank does not end here.
std::string show(Presentation& presentation, Rank rank, std::string_view bytes) {
  return joined(presentation.accept(rank, kOut, bytes, false));
}

// Returns true if a flush of the presentation would write bytes.
bool holds_bytes(Presentation copy) {
  return !copy.flush().empty();
}

std::string end(Presentation& presentation, Rank rank, std::string_view bytes = "") {
  return joined(presentation.accept(rank, kOut, bytes, true));
}

// Returns the letters of the text. Labels, and newlines that are added, have none.
std::string letters_of(std::string_view text) {
  std::string letters;
  std::ranges::copy_if(text, std::back_inserter(letters),
                       [](char c) { return c >= 'a' && c <= 'z'; });
  return letters;
}

using Labels = std::function<std::string(Rank, OutputStream)>;

// Returns the labels "N: " of a job of so many ranks, or none.
Labels numbers_of(Rank ranks, bool labelled = true) {
  if (!labelled) return {};
  return [ranks](Rank rank, OutputStream) { return padded_rank(rank, ranks) + ": "; };
}

// Returns the labels "NAME: ", by rank.
Labels names_of(std::vector<std::string> names) {
  return [names = std::move(names)](Rank rank, OutputStream) { return names[rank] + ": "; };
}

}  // namespace

TEST_CASE("lines of two ranks are never mixed") {
  Presentation presentation({.ranks = 2});
  CHECK(show(presentation, 0, "ab") == "");
  CHECK(show(presentation, 1, "one\ntw") == "one\n");
  CHECK(show(presentation, 0, "cd\ne") == "abcd\n");
  CHECK(show(presentation, 1, "o\n") == "two\n");
  CHECK(holds_bytes(presentation));
  CHECK(end(presentation, 0) == "e");
  CHECK_FALSE(holds_bytes(presentation));
}

TEST_CASE("several whole lines go out in one write") {
  Presentation presentation({.ranks = 2});
  const auto writes = presentation.accept(1, kErr, "a\nb\nc", false);
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].target == PresentedWrite::Target::standard_error);
  CHECK(writes[0].rank == 1);
  CHECK(writes[0].stream == kErr);
  CHECK(writes[0].bytes == "a\nb\n");
  CHECK(writes[0].credit == 5);  // for what is held too
  CHECK_FALSE(writes[0].last);
}

TEST_CASE("a flush shows a prompt, and the rest of its line follows") {
  Presentation presentation({.ranks = 2});
  CHECK(show(presentation, 0, "name? ") == "");
  CHECK(joined(presentation.flush()) == "name? ");
  CHECK(presentation.flush().empty());
  CHECK(show(presentation, 0, "ok\n") == "ok\n");
}

TEST_CASE("a prompt is shown once all ranks have been silent for a while") {
  Presentation presentation({.ranks = 2});
  show(presentation, 0, "name? ");
  CHECK(presentation.tick(false).empty());  // something came within this moment
  for (std::uint32_t i = 1; i < kQuietMoments; ++i)
    CHECK(presentation.tick(false).empty());
  CHECK(joined(presentation.tick(false)) == "name? ");
  CHECK_FALSE(holds_bytes(presentation));
}

TEST_CASE("a line that does not begin with its rank's label gets that label") {
  Presentation ranks({.ranks = 12, .label = numbers_of(12)});
  CHECK(show(ranks, 3, "03: mine\n05: forged\n\n03:no\n") ==
        "03: mine\n03: 05: forged\n03: \n03: 03:no\n");
  CHECK(end(ranks, 4, "05: forged") == "04: 05: forged\n");
  Presentation times({.ranks = 2, .label = numbers_of(2), .timestamp = true});
  CHECK(show(times, 1, "1: 12:34:56.789 a\n0: 12:34:56.789 b\n") ==
        "1: 12:34:56.789 a\n1: 0: 12:34:56.789 b\n");
  Presentation hosts({.ranks = 2, .label = names_of({"a", "b"})});
  CHECK(show(hosts, 1, "a: forged\nb: mine\n") == "b: a: forged\nb: mine\n");
}

TEST_CASE("a line must begin with the label of its own stream") {
  Presentation presentation({.ranks = 1, .label = [](Rank, OutputStream stream) {
                               return std::string(stream == kOut ? "<out>" : "<err>");
                             }});
  CHECK(show(presentation, 0, "<out>mine\n<err>forged\n") == "<out>mine\n<out><err>forged\n");
  CHECK(joined(presentation.accept(0, kErr, "<err>mine\n<out>forged\n", false)) ==
        "<err>mine\n<err><out>forged\n");
}

TEST_CASE("a label that comes in parts is whole, or is forged from where it differs") {
  Presentation presentation({.ranks = 12, .label = numbers_of(12)});
  CHECK(show(presentation, 3, "0") == "");
  CHECK(joined(presentation.flush()) == "0");
  CHECK(show(presentation, 3, "3: mine\n") == "3: mine\n");
  CHECK(show(presentation, 3, "0") == "");
  CHECK(joined(presentation.flush()) == "0");
  CHECK(show(presentation, 3, "5: forged\n") == "\n03: 5: forged\n");
  CHECK(show(presentation, 3, "03: next\n") == "03: next\n");
}

TEST_CASE("a line on its way is not cut while others print") {
  Presentation presentation({.ranks = 2});
  show(presentation, 0, "a line on ");
  for (std::uint32_t i = 1; i < kStaleMoments; ++i) {
    CHECK(show(presentation, 1, "other\n") == "other\n");
    CHECK(presentation.tick(false).empty());
  }
  CHECK(show(presentation, 0, "its way\n") == "a line on its way\n");
}

TEST_CASE("a prompt is shown at last though others print, the line that another is on is not") {
  Presentation presentation({.ranks = 2, .prompts = RankSet::single(0)});
  show(presentation, 0, "name? ");
  std::string shown;
  for (std::uint32_t i = 0; i < kStaleMoments; ++i) {
    CHECK(shown.empty());
    show(presentation, 1, "more ");
    shown += joined(presentation.tick(false));
  }
  CHECK(shown == "name? ");
  CHECK(holds_bytes(presentation));
}

TEST_CASE("a line of a rank that takes no input is not cut however long others print") {
  Presentation presentation({.ranks = 2});
  show(presentation, 0, "a line on ");
  for (std::uint32_t i = 0; i < 2 * kStaleMoments; ++i) {
    show(presentation, 1, "more\n");
    CHECK(presentation.tick(false).empty());
  }
  CHECK(show(presentation, 0, "its way\n") == "a line on its way\n");
}

TEST_CASE("moments are awaited only for a line that they will show") {
  SECTION("without marks every one is") {
    Presentation presentation({.ranks = 4});
    CHECK_FALSE(presentation.needs_ticks());
    show(presentation, 2, "part ");
    CHECK(presentation.needs_ticks());
    show(presentation, 2, "whole\n");
    CHECK_FALSE(presentation.needs_ticks());
  }
  SECTION("with marks those of ranks that can be answered") {
    Presentation presentation({.ranks = 4, .label = numbers_of(4), .prompts = RankSet::run(1, 2)});
    show(presentation, 0, "part ");
    show(presentation, 3, "part ");
    CHECK(holds_bytes(presentation));
    CHECK_FALSE(presentation.needs_ticks());
    presentation.accept(2, kErr, "name? ", false);
    CHECK(presentation.needs_ticks());
    SECTION("until it is shown") {
      std::string shown;
      while (presentation.needs_ticks())
        shown += joined(presentation.tick(false));
      CHECK(shown.find("name? ") != std::string::npos);
    }
    SECTION("until no rank can be answered") {
      presentation.set_no_input();
      CHECK_FALSE(presentation.needs_ticks());
    }
    CHECK(holds_bytes(presentation));
  }
}

TEST_CASE("while the reader is slow no partial line is shown, however long it takes") {
  Presentation presentation({.ranks = 2});
  show(presentation, 0, "a line on ");
  for (std::uint32_t i = 0; i < 2 * kStaleMoments; ++i)
    CHECK(presentation.tick(true).empty());
  CHECK(show(presentation, 0, "its way\n") == "a line on its way\n");
}

TEST_CASE("a line with a mark is never cut, unless its rank takes input") {
  Presentation presentation({.ranks = 2, .label = numbers_of(2), .prompts = RankSet::single(1)});
  show(presentation, 0, "0: a line on ");
  show(presentation, 1, "1: name? ");
  std::string shown;
  for (std::uint32_t i = 0; i < 2 * kStaleMoments; ++i)
    shown += joined(presentation.tick(false));
  CHECK(shown == "1: name? ");
  CHECK(show(presentation, 0, "its way\n") == "\n0: a line on its way\n");
  presentation.set_no_input();
  show(presentation, 1, "ok\n1: one more ");
  for (std::uint32_t i = 0; i < 2 * kStaleMoments; ++i)
    CHECK(presentation.tick(false).empty());
}

TEST_CASE("held output has a total bound, and costs no rank its credit") {
  constexpr Rank kRanks = kMaxHeld / kMaxHeldLine + 2;
  Presentation presentation({.ranks = kRanks, .label = numbers_of(kRanks)});
  const std::string most(kMaxHeldLine - 1, 'x');
  std::size_t credit = 0, shown = 0;
  for (Rank rank = 0; rank < kRanks; ++rank) {
    for (const PresentedWrite& write : presentation.accept(rank, kOut, most, false)) {
      credit += write.credit;
      shown += write.bytes.size();
    }
    CHECK(credit == (rank + 1) * most.size());
    CHECK(credit - std::min(credit, shown) <= kMaxHeld);
  }
  CHECK(shown > 0);
}

TEST_CASE("standard output and standard error of a rank are held apart") {
  Presentation presentation({.ranks = 2});
  CHECK(show(presentation, 0, "out") == "");
  CHECK(joined(presentation.accept(0, kErr, "err\n", false)) == "err\n");
  const auto writes = presentation.accept(0, kOut, "\n", false);
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].target == PresentedWrite::Target::standard_output);
  CHECK(writes[0].bytes == "out\n");
}

TEST_CASE("the bytes of a job of one rank pass at once") {
  Presentation presentation({.ranks = 1});
  CHECK(show(presentation, 0, "par") == "par");
  CHECK_FALSE(holds_bytes(presentation));
  CHECK(show(presentation, 0, std::string_view("\0\xff", 2)) == std::string("\0\xff", 2));
  Presentation labelled({.ranks = 1, .label = numbers_of(1)});
  CHECK(show(labelled, 0, "0: par") == "0: par");
  CHECK(show(labelled, 0, "tial\n0: x") == "tial\n0: x");
}

TEST_CASE("a line of 64 KiB is passed on in pieces") {
  Presentation presentation({.ranks = 2});
  const std::string almost(kMaxHeldLine - 1, 'x');
  CHECK(show(presentation, 0, almost) == "");
  CHECK(show(presentation, 0, "y") == almost + "y");
  CHECK_FALSE(holds_bytes(presentation));
  CHECK(show(presentation, 0, "\n" + std::string(kMaxHeldLine, 'z')).size() == kMaxHeldLine + 1);
}

TEST_CASE("labelled lines pass as they are") {
  Presentation presentation({.ranks = 11, .label = numbers_of(11)});
  CHECK(show(presentation, 3, "03: a\n03: \n03: b\n") == "03: a\n03: \n03: b\n");
  CHECK(presentation.accept(10, kOut, "10: c\n", false)[0].credit == 6);
}

TEST_CASE("the continuation of a flushed line has no second label") {
  Presentation presentation({.ranks = 2, .label = numbers_of(2)});
  CHECK(show(presentation, 0, "0: name? ") == "");
  CHECK(joined(presentation.flush()) == "0: name? ");
  CHECK(show(presentation, 0, "ok\n0: next\n") == "ok\n0: next\n");
}

TEST_CASE("a marked line that another rank cuts short ends, and goes on under its mark") {
  Presentation presentation({.ranks = 2, .label = numbers_of(2), .timestamp = true});
  show(presentation, 0, "0: 12:34:56.789 name? ");
  presentation.flush();
  const auto cut = presentation.accept(1, kOut, "1: 12:34:57.000 hello\n", false);
  REQUIRE(cut.size() == 1);
  CHECK(cut[0].bytes == "\n1: 12:34:57.000 hello\n");
  CHECK(cut[0].credit == 22);
  CHECK(show(presentation, 0, "ok\n") == "0: 12:34:56.789 ok\n");
}

TEST_CASE("a long line is labelled once, and again only where another one cut it short") {
  Presentation presentation({.ranks = 2, .label = numbers_of(2)});
  const std::string piece(kMaxHeldLine, 'x');
  CHECK(show(presentation, 0, "0: " + piece) == "0: " + piece);
  CHECK(show(presentation, 0, piece) == piece);
  CHECK(show(presentation, 1, "1: a\n") == "\n1: a\n");
  CHECK(show(presentation, 1, "1: b\n") == "1: b\n");
  CHECK(show(presentation, 0, piece) == "0: " + piece);
  CHECK(show(presentation, 0, "\n") == "\n");
  CHECK(show(presentation, 1, "1: c\n") == "1: c\n");
}

TEST_CASE("a label that arrives in parts is known when it is needed again") {
  Presentation presentation({.ranks = 2, .label = names_of({"node1", "node2"})});
  show(presentation, 0, "no");
  CHECK(joined(presentation.flush()) == "no");
  show(presentation, 0, "de1: text");
  CHECK(joined(presentation.flush()) == "de1: text");
  CHECK(show(presentation, 1, "node2: b\n") == "\nnode2: b\n");
  CHECK(show(presentation, 0, " ends\n") == "node1:  ends\n");
}

TEST_CASE("the end of a labelled stream ends its last line") {
  Presentation presentation({.ranks = 2, .label = numbers_of(2)});
  CHECK(end(presentation, 0, "0: last") == "0: last\n");
  show(presentation, 1, "1: half");
  presentation.flush();
  const auto writes = presentation.accept(1, kOut, "", true);
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].bytes == "\n");
  CHECK(writes[0].credit == 0);
  CHECK(writes[0].last);
  CHECK(end(presentation, 0).empty());
}

TEST_CASE("an output directory gets one file per rank and stream, without labels") {
  PresentationSettings settings{.ranks = 100, .label = numbers_of(100), .files = true};
  settings.file_name = [](Rank rank, OutputStream stream) {
    return std::to_string(rank) + (stream == kOut ? ".out" : ".err");
  };
  settings.records = true;  // means nothing with files
  Presentation presentation(settings);
  const auto writes = presentation.accept(7, kErr, "half", false);
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].target == PresentedWrite::Target::file);
  CHECK(writes[0].file == "7.err");
  CHECK(writes[0].bytes == "half");
  CHECK_FALSE(holds_bytes(presentation));
  const auto last = presentation.accept(99, kOut, "", true);
  REQUIRE(last.size() == 1);
  CHECK(last[0].file == "99.out");
  CHECK(last[0].bytes.empty());
  CHECK(last[0].last);
  CHECK(presentation.accept(7, kOut, "", false).empty());
}

TEST_CASE("each line becomes a record on standard output, when it is complete") {
  PresentationSettings settings{.ranks = 1, .records = true};
  settings.host_of = [](Rank rank) { return "n" + std::to_string(rank); };
  Presentation presentation(settings);
  const auto record = [](const char* stream, const char* line, const char* whole) {
    return std::string(R"({"type":"output","rank":0,"host":"n0","stream":")") + stream +
           R"(","line":")" + line + R"(","whole":)" + whole + "}\n";
  };
  const auto writes = presentation.accept(0, kErr, "a\nb\nha", false);
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].target == PresentedWrite::Target::standard_output);
  CHECK(writes[0].credit == 6);
  CHECK(writes[0].bytes == record("stderr", "a", "true") + record("stderr", "b", "true"));
  CHECK(holds_bytes(presentation));
  for (std::uint32_t moment = 0; moment <= kStaleMoments; ++moment)
    CHECK(presentation.tick(false).empty());  // no rank reads input, so this is no prompt
  CHECK(show(presentation, 0, "x") == "");
  CHECK(end(presentation, 0, "y") == record("stdout", "xy", "false"));
  CHECK(joined(presentation.flush()) == record("stderr", "ha", "false"));
}

TEST_CASE("no byte is lost, doubled or credited twice, and plain lines stay whole") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    const Rank ranks = 1 + static_cast<Rank>(random.below(4));
    Presentation presentation({.ranks = ranks, .label = numbers_of(ranks, seed % 2 == 0)});
    std::vector<std::string> sent(ranks);
    std::vector<std::string> received(ranks);
    std::vector<std::size_t> credit(ranks);
    std::vector<bool> starts(ranks, true);
    std::string all;
    const auto take = [&](const std::vector<PresentedWrite>& writes) {
      for (const PresentedWrite& write : writes) {
        received[write.rank] += write.bytes;
        credit[write.rank] += write.credit;
        all += write.bytes;
      }
    };
    bool flushed = false;
    for (int step = 0; step < 60; ++step) {
      const Rank rank = static_cast<Rank>(random.below(ranks));
      if (seed % 3 == 0 && random.below(20) == 0) {
        take(presentation.flush());
        flushed = true;
        continue;
      }
      std::string bytes;
      for (std::uint64_t n = random.below(6); n > 0; --n) {
        bytes += random.below(3) == 0 ? '\n' : static_cast<char>('a' + rank);
      }
      if (seed % 2 == 0) {
        std::string text;
        bool at_start = starts[rank];
        mark_lines(bytes, padded_rank(rank, ranks) + ": ", at_start, text);
        starts[rank] = at_start;
        bytes = text;
      }
      sent[rank] += bytes;
      take(presentation.accept(rank, kOut, bytes, false));
    }
    const std::size_t before_end = all.size();
    for (Rank rank = 0; rank < ranks; ++rank)
      take(presentation.accept(rank, kOut, "", true));
    for (Rank rank = 0; rank < ranks; ++rank) {
      CHECK(credit[rank] == sent[rank].size());
      CHECK(letters_of(received[rank]) == letters_of(sent[rank]));
      if (seed % 2 != 0) CHECK(received[rank] == sent[rank]);
    }
    // A line has only one rank's letters, unless a part of one was flushed or ended by the stream.
    if (flushed) continue;
    all.resize(before_end);
    const std::size_t label = seed % 2 == 0 ? 3 : 0;
    std::size_t at = 0;
    for (auto stop = all.find('\n'); stop != std::string::npos; stop = all.find('\n', at)) {
      const std::string line = all.substr(at, stop - at);
      at = stop + 1;
      if (line.size() <= label) continue;
      const char letter = label == 0 ? line[0] : static_cast<char>('a' + (line[0] - '0'));
      CHECK(line.find_first_not_of(letter, label) == std::string::npos);
    }
    if (ranks > 1) CHECK(at == all.size());
  }
}

TEST_CASE("output for a terminal is shown at once and as it is") {
  Presentation presentation({.ranks = 2, .label = numbers_of(2), .terminal = 1});
  CHECK(show(presentation, 0, "0: half a ") == "");
  const auto writes = presentation.accept(1, kOut, "\x1b[Hx", false);
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].bytes == "\x1b[Hx");
  CHECK(writes[0].credit == 4);
  CHECK(writes[0].rank == 1);
  CHECK(show(presentation, 0, "line\n") == "0: half a line\n");
  CHECK(end(presentation, 1, "bye") == "bye");
  CHECK(end(presentation, 1) == "");
}

}  // namespace presentation_test
