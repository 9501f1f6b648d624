#include "launcher/core/debug/tmux_words.h"

#include "common/core/text.h"

namespace scela {

namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

std::vector<Words> tmux_calls(const TmuxPlace& place, const std::vector<TmuxPane>& panes) {
  std::vector<Words> calls;
  std::string target;
  for (std::size_t i = 0; i < panes.size(); ++i) {
    const TmuxPane& pane = panes[i];
    Words words = place.tmux;
    if (i % kPanesOfWindow == 0) {
      const std::string name = cat(place.window, i / kPanesOfWindow);
      const std::string session = place.session.empty() ? "" : cat("=", place.session);
      target = cat(session, ":=", name);
      if (place.session.empty()) {
        append(words, {"new-window", "-n", name});
      } else if (i == 0) {
        append(words, {"new-session", "-d", "-s", place.session, "-x", cat(place.columns), "-y",
                       cat(place.rows), "-n", name});
      } else {
        append(words, {"new-window", "-d", "-t", cat(session, ":"), "-n", name});
      }
      append(words, pane.command);
      // A pane goes when its rank has ended, whatever the user's configuration says.
      append(words, {";", "set-option", "-w", "-t", target, "remain-on-exit", "off"});
      append(words, {";", "set-option", "-w", "-t", target, "pane-border-status", "top"});
      append(words, {";", "set-option", "-w", "-t", target, "pane-border-format", " #{@scela} "});
    } else {
      append(words, {"split-window", "-t", target});
      append(words, pane.command);
      append(words, {";", "select-layout", "-t", target, "tiled"});
    }
    append(words, {";", "set-option", "-p", "-t", target, "@scela", pane.title});
    calls.push_back(std::move(words));
  }
  return calls;
}

}  // namespace scela
