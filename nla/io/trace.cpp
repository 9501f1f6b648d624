#include "nla/io/trace.h"

#include "common/core/text.h"
#include "nla/io/constants.h"

namespace scela::nla {

namespace {

// Returns microseconds with three decimals, as Chrome's viewer wants them.
std::string microseconds(std::uint64_t ns) {
  const std::string fraction = cat(ns % 1000);
  return cat(ns / 1000, ".", std::string(3 - fraction.size(), '0'), fraction);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

std::string metadata(std::string_view what, std::uint32_t process, std::uint32_t thread,
                     std::string_view name) {
  return cat(R"({"name":)", quoted(what), R"(,"ph":"M","pid":)", process, R"(,"tid":)", thread,
             R"(,"args":{"name":)", quoted(name), "}}\n");
}

}  // namespace

void Tracer::span(const char* name, std::uint64_t start_ns, std::uint64_t end_ns,
                  std::uint32_t rank) {
  if (!enabled_) return;
  if (spans_.size() >= kMaxSpans) {
    ++dropped_;
    return;
  }
  spans_.push_back({name, start_ns, std::max(start_ns, end_ns), rank});
}

void Tracer::add_lines(Pieces& out, std::uint32_t process, std::string_view process_name,
                       const RankSet& ranks) const {
  out.add(metadata("process_name", process, 0, process_name));
  out.add(metadata("thread_name", process, 0, process == 0 ? "launcher" : "agent"));
  ranks.for_each(
      [&](Rank rank) { out.add(metadata("thread_name", process, rank + 1, cat("rank ", rank))); });
  for (const Span& span : spans_) {
    out.add(cat(R"({"name":)", quoted(span.name), R"(,"ph":"X","pid":)", process, R"(,"tid":)",
                span.rank == kOwnThread ? 0 : span.rank + 1, R"(,"ts":)",
                microseconds(span.start_ns), R"(,"dur":)",
                microseconds(span.end_ns - span.start_ns), "}\n"));
  }
  if (dropped_ > 0) {
    out.add(metadata("process_labels", process, 0, cat(dropped_, " spans were not kept")));
  }
}

}  // namespace scela::nla
