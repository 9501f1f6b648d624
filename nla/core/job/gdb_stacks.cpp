#include "nla/core/job/gdb_stacks.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"

namespace scela::nla {

namespace {

// gdb writes this after it has attached, before the stacks.
constexpr std::string_view kMark = "scela: the stacks follow";

// A stack, and the number of threads that have it.
struct Threads {
  std::string frames;
  int count = 0;
};

bool is_frame(std::string_view line) {
  return line.size() > 1 && line[0] == '#' && line[1] >= '0' && line[1] <= '9';
}

// Returns the next line and removes it from the text.
std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

void add(std::vector<Threads>& all, std::string frames) {
  if (frames.empty()) return;
  const auto same =
      std::ranges::find_if(all, [&](const Threads& one) { return one.frames == frames; });
  if (same != all.end()) {
    ++same->count;
  } else {
    all.push_back({std::move(frames), 1});
  }
}

// Returns the last line of gdb that is not empty, without what it says of itself.
std::string last_words(std::string_view output) {
  std::string_view last;
  while (!output.empty()) {
    const std::string_view line = next_line(output);
    if (!line.empty() && line != kMark && !line.starts_with("[Inferior ")) last = line;
  }
  return last.empty() ? "gdb has said nothing" : cat("gdb: ", last.substr(0, kMaxFrameLine));
}

}  // namespace

std::vector<std::string> gdb_words(std::uint32_t pid) {
  return {"gdb", "-nx", "-q", "-batch",
          // gdb asks no server for symbols, which could take minutes.
          "-iex", "set debuginfod enabled off", "-iex", "set auto-load off", "-p", cat(pid), "-ex",
          "set print address off", "-ex", "set print frame-arguments none", "-ex", "set width 0",
          "-ex", cat("echo ", kMark, "\\n"), "-ex", cat("thread apply all backtrace ", kMaxFrames)};
}

std::string stacks_text(std::string_view output) {
  const std::size_t mark = output.find(kMark);
  std::string_view rest = output.substr(mark == std::string_view::npos ? 0 : mark + kMark.size());
  std::vector<Threads> all;
  std::string frames;
  while (!rest.empty()) {
    const std::string_view line = next_line(rest);
    if (line.starts_with("Thread ")) add(all, std::exchange(frames, {}));
    if (is_frame(line)) frames += cat(line.substr(0, kMaxFrameLine), "\n");
  }
  add(all, std::move(frames));
  if (all.empty()) return cat("no stack: ", last_words(output), "\n");
  const bool single = all.size() == 1 && all.front().count == 1;
  std::string out;
  for (const Threads& one : all) {
    if (!single) out += cat(one.count, one.count == 1 ? " thread:\n" : " threads:\n");
    out += one.frames;
  }
  return out;
}

}  // namespace scela::nla
