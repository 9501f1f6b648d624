// Shows on the user's terminal which hosts have ended and which of them wrote the same, while
// --gather keeps their output (launcher/core/report/live_text.h). OutputWriter owns it, in the
// session's one thread.
//
// The lines are on standard error and are drawn over in place. Every other text for the terminal
// must be preceded by hide(). It never blocks: if the terminal takes nothing, nothing is drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/io/gatherer.h"

namespace scela {

// The lines about the groups so far.
class LiveView {
 public:
  // The number of moments (OutputWriter::tick()) between two drawings. A smaller value costs more
  // time for jobs of many hosts.
  static constexpr std::uint32_t kMomentsBetween = 8;

  // Returns true if standard error is a terminal that can draw over its lines.
  static bool is_possible();

  // `all` is the number of hosts or ranks, and `noun` says which of the two.
  LiveView(std::uint64_t all, std::string_view noun) : all_(all), noun_(noun) {}

  // Says that a rank has ended.
  void set_changed() { changed_ = true; }
  // Returns true if tick() will draw.
  bool needs_ticks() const { return changed_ && !closed_; }
  // Counts a moment. If it is time, draws the groups of `gatherer`.
  void tick(const Gatherer& gatherer);
  // Removes the lines from the terminal. The next tick() may draw them again.
  void hide();
  // Removes the lines for good.
  void close();

 private:
  void draw(const Gatherer& gatherer);

  std::uint64_t all_;
  std::string noun_;
  bool changed_ = false, closed_ = false;
  std::uint32_t moments_ = kMomentsBetween;  // since the last drawing
  std::size_t lines_ = 0;                    // on the terminal
};

}  // namespace scela
