#include "pmi/protocol/greeting.h"

#include <algorithm>

#include "common/core/text.h"
#include "pmi/protocol/keyval.h"
#include "pmi/protocol/native_ints.h"

namespace scela::pmi {

namespace {

using namespace greeting;

constexpr std::int32_t kPmgrVersion = 8;

// MVAPICH 1 sends the version 8, too, or a lower one.
bool is_version(Dialect dialect, std::int32_t word) {
  return word == kPmgrVersion || (dialect == Dialect::mvapich1 && word > 0 && word < kPmgrVersion);
}

std::optional<std::variant<Rank, Malformed>> line_speaker(std::string_view bytes, bool ended,
                                                          Rank size) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    if (!ended && bytes.size() < kMaxGreeting) return std::nullopt;
    return Malformed{cat("sent \"", excerpt(bytes), "\" and no whole line")};
  }
  const std::string_view text = bytes.substr(0, end);
  const Result<Line> line = parse_line(text);
  if (!line || line->find("cmd") != "initack") {
    return Malformed{cat("sent \"", excerpt(text), "\" instead of initack")};
  }
  const auto id = parse_int(line->find("pmiid").value_or(""));
  if (!id || *id < 0 || static_cast<Rank>(*id) >= size) {
    return Malformed{cat("sent \"", excerpt(text), "\", there are ", size, " ranks")};
  }
  return static_cast<Rank>(*id);
}

}  // namespace

std::optional<std::variant<Rank, Malformed>> greeting::speaker(Dialect dialect,
                                                               std::string_view bytes, bool ended,
                                                               Rank size) {
  if (dialect == Dialect::pmi1) return line_speaker(bytes, ended, size);
  if (bytes.size() < 2 * kInt) {
    if (!ended) return std::nullopt;
    return Malformed{cat("sent ", bytes.size(), " bytes and no rank")};
  }
  const std::int32_t rank = int_at(bytes, 1);
  if (rank < 0 || static_cast<Rank>(rank) >= size) {
    return Malformed{cat("sent the number ", rank, ", there are ", size, " ranks")};
  }
  return static_cast<Rank>(rank);
}

std::optional<Greeting> greeting::meaning(Dialect dialect, std::string_view bytes, bool ended,
                                          Rank rank, bool checked_in) {
  if (dialect == Dialect::pmi1) {
    if (checked_in) return RepeatedHello{rank};
    return Hello{rank, bytes.find('\n') + 1};
  }
  const std::int32_t word = int_at(bytes, 0);
  if (is_version(dialect, word) && !checked_in) return Hello{rank, 2 * kInt};
  // The message is an abort. Its length and text may be missing: MVAPICH 1 sends neither.
  if (bytes.size() < 3 * kInt) {
    if (!ended) return std::nullopt;
    if (dialect == Dialect::pmgr && is_version(dialect, word)) return RepeatedHello{rank};
    return Abort{rank, word};
  }
  const std::int32_t length = int_at(bytes, 2);
  const std::string_view rest = bytes.substr(3 * kInt);
  if (length < 0 || static_cast<std::size_t>(length) > kMaxGreeting - 3 * kInt) {
    return Malformed{cat("sent an abort with a message of ", length, " bytes")};
  }
  if (rest.size() < static_cast<std::size_t>(length)) {
    if (!ended) return std::nullopt;
    if (dialect == Dialect::pmgr && is_version(dialect, word)) return RepeatedHello{rank};
  }
  const std::string_view message =
      rest.substr(0, std::min(rest.find('\0'), static_cast<std::size_t>(length)));
  return Abort{rank, word, std::string(message)};
}

std::string initack_answer(const JobFacts& facts) {
  return LineWriter("initack").add("rc", 0).text() +
         LineWriter("set").add("size", facts.size).text() +
         LineWriter("set").add("rank", facts.rank).text() +
         LineWriter("set").add("debug", 0).text();
}

}  // namespace scela::pmi
