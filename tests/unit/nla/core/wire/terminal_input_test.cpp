// Tests the stream of what is typed at several terminals.
#include "nla/core/wire/terminal_input.h"

#include <catch2/catch.hpp>
#include <vector>

namespace terminal_input_test {

using namespace scela;
using namespace scela::nla;
using Kind = TerminalInput::Kind;

std::vector<TerminalInput> records() {
  return {{7, Kind::keys, std::string("ab\0\x1b", 4), {}},
          {UINT32_MAX, Kind::size, {}, {50, 132, 1000, 800}},
          {0, Kind::keys, std::string(kMaxKeys, 'x'), {}},
          {3, Kind::hang_up, {}, {}}};
}

TEST_CASE("records come out of the stream as they went in, however it is cut") {
  std::string stream;
  for (const TerminalInput& record : records())
    stream += encode(record);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    TerminalInputReader reader;
    std::vector<TerminalInput> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.add(std::string_view(stream).substr(at, piece));
      while (const auto record = reader.next())
        got.push_back(*record);
    }
    CHECK(got == records());
    CHECK_FALSE(reader.broken());
  }
}

TEST_CASE("a stream that has something else in it has no more records") {
  const auto breaks = [](const std::string& bytes) {
    TerminalInputReader reader;
    reader.add(bytes);
    const bool none = !reader.next();
    reader.add(encode(records().front()));
    return none && !reader.next() && reader.broken();
  };
  std::string kind = encode({3, Kind::hang_up, {}, {}});
  kind[4] = 3;
  CHECK(breaks(kind));
  std::string size = encode({3, Kind::size, {}, {}});
  size[5] = 7;
  CHECK(breaks(size));
  std::string hang_up = encode({3, Kind::hang_up, {}, {}});
  hang_up[5] = 1;
  CHECK(breaks(hang_up));
  std::string keys = encode({3, Kind::keys, std::string(kMaxKeys, 'x'), {}});
  keys[5] = 1;  // 4097
  CHECK(breaks(keys));
}

}  // namespace terminal_input_test
