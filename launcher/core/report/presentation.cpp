#include "launcher/core/report/presentation.h"

#include <algorithm>
#include <iterator>

#include "common/core/line_marks.h"
#include "common/core/text.h"
#include "launcher/core/report/json_records.h"

namespace scela {
Presentation::Presentation(PresentationSettings settings)
    : settings_(std::move(settings)), alone_(settings_.ranks <= 1) {}

std::vector<PresentedWrite> Presentation::accept(Rank rank, OutputStream stream,
                                                 std::string_view bytes, bool eof) {
  accepted_ += bytes.size();
  const Key key{rank, stream};
  if (settings_.files) return accept_file(key, bytes, eof);
  if (settings_.terminal == rank) return accept_terminal(key, bytes);

  // Whole lines may go out now. All bytes may go out at the end of the stream, if there is only one
  // rank, or if too many bytes are held.
  const auto newline = bytes.rfind('\n');
  std::size_t ready = newline == std::string_view::npos ? 0 : newline + 1;
  const auto line = lines_.find(key);
  const std::size_t held = line == lines_.end() ? 0 : line->second.text.size();
  const std::size_t waiting = ready > 0 ? bytes.size() - ready : held + bytes.size();
  const bool is_alone = alone_ && !makes_records();
  if (eof || is_alone || waiting >= kMaxHeldLine) ready = bytes.size();

  std::vector<PresentedWrite> writes;
  if (ready > 0 || (eof && held > 0)) {
    std::string text;
    if (line != lines_.end()) {
      text = std::move(line->second.text);
      lines_.erase(line);
      held_ -= held;
    }
    text += bytes.substr(0, ready);
    writes.push_back(present(key, std::move(text), bytes.size()));
  } else if (!bytes.empty()) {
    writes.push_back(present(key, {}, bytes.size()));
  }
  if (ready < bytes.size()) {
    Line& rest = lines_[key];
    rest.text += bytes.substr(ready);
    rest.moments = 0;
    held_ += bytes.size() - ready;
  }
  if (eof) end_stream(key, writes);
  if (held_ > kMaxHeld) {
    std::vector<PresentedWrite> shown = flush();
    std::move(shown.begin(), shown.end(), std::back_inserter(writes));
  }
  return writes;
}

std::vector<PresentedWrite> Presentation::accept_terminal(const Key& key, std::string_view bytes) {
  if (bytes.empty()) return {};
  PresentedWrite write;
  write.bytes = bytes;
  write.rank = key.first;
  write.credit = bytes.size();
  return {std::move(write)};
}

std::vector<PresentedWrite> Presentation::accept_file(const Key& key, std::string_view bytes,
                                                      bool eof) {
  if (bytes.empty() && !eof) return {};
  PresentedWrite write;
  write.target = PresentedWrite::Target::file;
  write.file = settings_.file_name(key.first, key.second);
  write.bytes = bytes;
  write.rank = key.first;
  write.stream = key.second;
  write.credit = bytes.size();
  write.last = eof;
  return {std::move(write)};
}

std::vector<PresentedWrite> Presentation::tick(bool congested) {
  const bool is_quiet = !congested && accepted_ == accepted_before_;
  accepted_before_ = accepted_;
  quiet_moments_ = is_quiet ? quiet_moments_ + 1 : 0;
  std::vector<PresentedWrite> writes;
  if (congested) return writes;
  const bool all = quiet_moments_ >= kQuietMoments;
  for (auto at = lines_.begin(); at != lines_.end();) {
    const bool stale = ++at->second.moments >= kStaleMoments;
    const bool answered = settings_.prompts.contains(at->first.first);
    if (!(answered ? all || stale : all && !keeps_lines())) {
      ++at;
      continue;
    }
    held_ -= at->second.text.size();
    writes.push_back(present(at->first, std::move(at->second.text), 0));
    at = lines_.erase(at);
  }
  return writes;
}

bool Presentation::needs_ticks() const {
  if (!keeps_lines()) return held_ > 0;
  const auto& prompts = settings_.prompts.ranges();
  return std::any_of(prompts.begin(), prompts.end(), [&](const RankSet::Range& ranks) {
    const auto line = lines_.lower_bound({ranks.first, OutputStream::out});
    return line != lines_.end() && line->first.first <= ranks.last;
  });
}

std::vector<PresentedWrite> Presentation::flush() {
  std::vector<PresentedWrite> writes;
  for (auto& [key, line] : lines_)
    writes.push_back(present(key, std::move(line.text), 0));
  lines_.clear();
  held_ = 0;
  return writes;
}

PresentedWrite Presentation::present(const Key& key, std::string bytes, std::size_t credit) {
  PresentedWrite write;
  write.target = key.second == OutputStream::out || makes_records()
                     ? PresentedWrite::Target::standard_output
                     : PresentedWrite::Target::standard_error;
  write.rank = key.first;
  write.stream = key.second;
  write.credit = credit;
  write.bytes = makes_records() ? records_of(key, bytes)
                : marked()      ? on_one_line(key, bytes)
                                : std::move(bytes);
  return write;
}

std::string Presentation::records_of(const Key& key, std::string_view bytes) const {
  const std::string host = bytes.empty() ? "" : settings_.host_of(key.first);
  std::string text;
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const std::string_view line =
        bytes.substr(0, newline == std::string_view::npos ? newline : newline + 1);
    text +=
        output_record(key.first, host, key.second == OutputStream::out ? "stdout" : "stderr", line);
    bytes.remove_prefix(line.size());
  }
  return text;
}

// Returns what every line of the stream begins with, before the time; nothing without labels.
std::string Presentation::label_of(const Key& key) const {
  return settings_.label ? settings_.label(key.first, key.second) : std::string();
}

// Appends the bytes to `text`. A line without the rank's label gets it. `begun` is the mark of the
// first line as far as it was shown before.
void Presentation::append_labelled(const Key& key, std::string_view begun, std::string_view bytes,
                                   std::string& text) const {
  const std::string label = label_of(key);
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const bool whole = newline != std::string_view::npos;
    const std::string_view line = bytes.substr(0, whole ? newline + 1 : newline);
    if (begun.size() < label.size()) {
      const std::string shown = cat(begun, line.substr(0, label.size() - begun.size()));
      // The label itself may arrive in parts.
      if (shown != label && (whole || !label.starts_with(shown))) {
        if (!begun.empty()) text += '\n';
        text += label;
      }
    }
    text += line;
    bytes.remove_prefix(line.size());
    begun = {};
  }
}

// Ends another rank's unfinished line with a newline. The continuation of that line gets the same
// mark again.
std::string Presentation::on_one_line(const Key& key, std::string_view bytes) {
  std::optional<Rank>& unfinished = unfinished_[key.second];
  if (bytes.empty()) return {};
  std::string text;
  if (unfinished && *unfinished != key.first) text += '\n';
  const auto open = marks_.find(key);
  if (open != marks_.end() && unfinished != key.first) text += open->second;
  const std::size_t before = text.size();
  append_labelled(key, open == marks_.end() ? "" : open->second, bytes, text);
  const std::string_view shown = std::string_view(text).substr(before);
  const auto newline = shown.rfind('\n');
  if (newline == shown.size() - 1) {
    if (open != marks_.end()) marks_.erase(open);
    unfinished.reset();
    return text;
  }
  // The mark itself may arrive in parts.
  std::string& mark = marks_[key];
  if (newline != std::string_view::npos) mark.clear();
  const std::string_view rest = shown.substr(newline == std::string_view::npos ? 0 : newline + 1);
  const std::size_t length = label_of(key).size() + (settings_.timestamp ? kClockTextBytes + 1 : 0);
  mark += rest.substr(0, length - std::min(length, mark.size()));
  unfinished = key.first;
  return text;
}

// If lines have marks, the last line of a stream gets a newline even if the program did not write
// one.
void Presentation::end_stream(const Key& key, std::vector<PresentedWrite>& writes) {
  std::optional<Rank>& unfinished = unfinished_[key.second];
  marks_.erase(key);
  if (marked() && unfinished == key.first) {
    if (writes.empty()) writes.push_back(present(key, "", 0));
    writes.back().bytes += '\n';
    unfinished.reset();
  }
  if (!writes.empty()) writes.back().last = true;
}

}  // namespace scela
