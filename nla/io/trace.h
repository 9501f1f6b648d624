// Spans of time that this process spent on its tasks, for `scela-run --trace`. They are kept in
// memory and become Chrome trace events at the end. The shell (an agent's or scela-run's code with
// system calls) and the parts for its ranks use it, in one thread.
//
// Times are nanoseconds on the root's clock, that of scela-run. At most kMaxSpans are kept; the
// text says how many were not. Each event is one line, so pieces of several agents can be joined
// between any two lines:
//   {"name":"fence","ph":"X","pid":NODE+1,"tid":RANK+1,"ts":US,"dur":US}
// pid 0 is the launcher, tid 0 the agent itself. Lines of metadata name processes and threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"
#include "nla/io/report_pieces.h"

namespace scela::nla {

// Keeps the spans of this process.
class Tracer {
 public:
  // The value of `rank` for a span of this process itself.
  static constexpr std::uint32_t kOwnThread = UINT32_MAX;

  // Begins to keep spans. Until then span() does nothing.
  void enable() { enabled_ = true; }
  bool enabled() const { return enabled_; }
  // Keeps one span. Does nothing unless the tracer is enabled. `name` must live as long as the
  // tracer: a literal. `rank` is the rank that the span is about; kOwnThread: this process.
  void span(const char* name, std::uint64_t start_ns, std::uint64_t end_ns,
            std::uint32_t rank = kOwnThread);

  // Adds all spans to `out` as lines. `process` is the pid of the events, and 0 is the launcher.
  // `ranks` get names as threads.
  void add_lines(Pieces& out, std::uint32_t process, std::string_view process_name,
                 const RankSet& ranks) const;

 private:
  // One span, with the arguments of span().
  struct Span {
    const char* name;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint32_t rank;
  };
  bool enabled_ = false;
  std::vector<Span> spans_;
  std::uint64_t dropped_ = 0;
};

}  // namespace scela::nla
