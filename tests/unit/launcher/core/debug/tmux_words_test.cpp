// Tests the command lines by which tmux makes panes.
#include "launcher/core/debug/tmux_words.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/core/text.h"

namespace tmux_words_test {

using namespace scela;

std::vector<TmuxPane> panes(std::size_t count) {
  std::vector<TmuxPane> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({cat("rank ", i), {"relay", cat(i)}});
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    out += cat(out.empty() ? "" : " ", word);
  return out;
}

TEST_CASE("a server of its own gets a session, and each pane its command and its title") {
  const auto calls = tmux_calls({{"tmux", "-S", "/s"}, "job", "w", 90, 30}, panes(2));
  REQUIRE(calls.size() == 2);
  CHECK(joined(calls[0]).starts_with(
      "tmux -S /s new-session -d -s job -x 90 -y 30 -n w0 relay 0 ; set-option -w -t =job:=w0 "
      "remain-on-exit off ; "));
  CHECK(joined(calls[0]).ends_with(" ; set-option -p -t =job:=w0 @scela rank 0"));
  CHECK(joined(calls[1]) ==
        "tmux -S /s split-window -t =job:=w0 relay 1 ; select-layout -t =job:=w0 tiled ; "
        "set-option -p -t =job:=w0 @scela rank 1");
}

TEST_CASE("a window has a bounded number of panes, and more panes are in further windows") {
  const auto calls = tmux_calls({{"tmux"}, "job", "w"}, panes(kPanesOfWindow + 2));
  REQUIRE(calls.size() == kPanesOfWindow + 2);
  CHECK(joined(calls[kPanesOfWindow]).starts_with("tmux new-window -d -t =job: -n w1 relay 16 ; "));
  CHECK(joined(calls[kPanesOfWindow + 1]).starts_with("tmux split-window -t =job:=w1 relay 17 ; "));
}

TEST_CASE("a scela-run that was started in tmux makes its windows there") {
  const auto calls = tmux_calls({{"tmux"}, "", "w"}, panes(2));
  CHECK(joined(calls[0]).starts_with("tmux new-window -n w0 relay 0 ; "));
  CHECK(joined(calls[1]).starts_with("tmux split-window -t :=w0 relay 1 ; "));
}

}  // namespace tmux_words_test
