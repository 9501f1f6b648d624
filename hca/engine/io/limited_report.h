// Limits the lines about one cause to one each second, and counts those that it leaves out. The
// line goes to the standard error (stderr_report.h). Only the engine's thread uses it.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/text.h"
#include "hca/core/model/engine.h"
#include "hca/engine/io/stderr_report.h"

namespace scela::hca {

// The reports about one cause.
class LimitedReport {
 public:
  // Writes the line, or only counts it if another was written less than a second ago. The next line
  // that is written has the count. `now` is the present time in nanoseconds.
  void say(const std::string& text, Moment now) {
    constexpr Moment kQuietNs = 1'000'000'000;
    if (now < quiet_until_) {
      ++unsaid_;
      return;
    }
    quiet_until_ = now + kQuietNs;
    report(unsaid_ == 0 ? text : cat(text, " (and ", unsaid_, " more of such lines)"));
    unsaid_ = 0;
  }

 private:
  Moment quiet_until_ = 0;
  std::uint64_t unsaid_ = 0;
};

}  // namespace scela::hca
