// Pieces of output on their way up, and the credit for them.
#include <catch2/catch.hpp>

#include "nla/core/tree/children.h"
#include "nla/core/tree/output_piece.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace output_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;

namespace {

std::vector<std::size_t> sizes(const std::vector<msg::Output>& all) {
  std::vector<std::size_t> found;
  for (const msg::Output& one : all)
    found.push_back(one.bytes.size());
  return found;
}

std::uint64_t allowed(const Chain& chain) {
  std::uint64_t bytes = 0;
  for (const Action& action : chain.actions) {
    if (const auto* read = std::get_if<action::ReadOutput>(&action)) bytes += read->bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("the windows of few children are whole pieces, so that credit cuts no piece") {
  for (const std::size_t children : {1, 4, 16})
    CHECK(output_window(children, true) == 4 * kOutputPiece);
  CHECK(output_window(1, false) == kOutputPiece);
  CHECK(output_window(16, false) == kOutputPiece);
  // Many children share the budget, and each can send something.
  CHECK(output_window(64, true) * 64 <= 4 * 1024 * 1024);
  CHECK(output_window(100'000, false) > 0);
}

TEST_CASE("pieces leave whole while the window lasts, and a rest leaves with the next credit") {
  Chain chain;
  chain.launch();
  chain.from(kParentLink, msg::Credit{output_window(1, true), 0});
  const Chunk piece(std::string(kOutputPiece, 'x'));
  for (int i = 0; i < 4; ++i) {
    chain.give(event::RankOutput{0, Stream::out, piece});
    CHECK(sizes(chain.sent<msg::Output>(kParentLink)) == std::vector<std::size_t>{kOutputPiece});
    CHECK(allowed(chain) == kOutputPiece);
  }
  chain.give(event::RankOutput{1, Stream::out, piece});
  CHECK(chain.sent<msg::Output>(kParentLink).empty());
  CHECK(allowed(chain) == 0);
  chain.from(kParentLink, msg::Credit{1000, 0});
  CHECK(sizes(chain.sent<msg::Output>(kParentLink)) == std::vector<std::size_t>{1000});
  chain.from(kParentLink, msg::Credit{kOutputPiece, 0});
  CHECK(sizes(chain.sent<msg::Output>(kParentLink)) ==
        std::vector<std::size_t>{kOutputPiece - 1000});
}

}  // namespace output_test
