// How the ranks' output becomes scela-run's: whole lines, one file per rank and stream.
//
// Bytes in, writes out. Knows no descriptor and no clock: the shell writes, and tells of every
// moment that passes while awaits_moments(), so that prompts show. Adds and drops no byte,
// with one exception: where lines begin with a mark (a label, a time, made by the agent of the
// rank: common/core/line_marks.h), a line that another rank or the end of the stream cuts short is
// ended, and its rest begins with the same mark. Credit: each Write says how many bytes of the rank
// were accepted with it; the shell returns that much credit to the rank's stream once the write is
// done. Partial lines keep no credit, or ranks with none left could not end theirs: what is held is
// bounded by kMaxHeldLine a stream and kMaxHeld in all. One loop owns an object; nothing blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/rank_set.h"

namespace scela {

enum class OutputStream : std::uint8_t { out, err };

// A longer line is passed on in pieces: memory stays bounded, whatever a program prints.
inline constexpr std::size_t kMaxHeldLine = 64 * 1024;
inline constexpr std::size_t kMaxHeld = std::size_t{8} * 1024 * 1024;  // of all streams

// A partial line is shown when nobody has printed for so many moments: then it is a prompt, not a
// line on its way. Fewer would cut lines of ranks that the machine keeps waiting. A line with a
// mark is cut only if its rank can be answered: no line of another is a prompt.
inline constexpr std::uint32_t kQuietMoments = 8;
// Beside ranks that go on printing, that of a rank that can be answered is shown after so many
// moments without a byte of its own.
inline constexpr std::uint32_t kStaleMoments = 40;

struct PresentationSettings {
  Rank ranks = 1;          // in the job; gives the width of labels and file names
  bool label = false;      // every line begins with its rank, or its name; ignored with files
  bool timestamp = false;  // and, after that, with the time
  bool files = false;      // --output-dir: one file per rank and stream
  // By rank, instead of numbers in labels and files: HOST.out. Empty: numbers.
  std::vector<std::string> names = {};
  RankSet prompts = {};               // ranks that are given standard input
  std::optional<Rank> terminal = {};  // what this rank writes is no lines: it is shown at once
};

struct PresentedWrite {
  enum class Target : std::uint8_t { standard_output, standard_error, file };
  Target target = Target::standard_output;
  std::string file;   // name within the output directory, for Target::file
  std::string bytes;  // may be empty when last is set: the file must exist all the same
  Rank rank = 0;      // whose credit
  OutputStream stream = OutputStream::out;
  std::size_t credit = 0;  // bytes of the rank, held ones too (what is added here is not counted)
  bool last = false;       // nothing follows of this rank and stream: the file can be closed
};

class Presentation {
 public:
  explicit Presentation(PresentationSettings settings);

  // The next bytes of one rank's stream, in order; eof after the last (bytes may be empty then).
  std::vector<PresentedWrite> accept(Rank rank, OutputStream stream, std::string_view bytes,
                                     bool eof);
  // Writes out the held partial lines that have waited long enough, in rank order. `congested`:
  // what was written before has not left yet; a rank that is kept waiting by that may be within a
  // line, so such a moment does not count.
  std::vector<PresentedWrite> moment_passed(bool congested);
  // Writes out every held partial line, in rank order.
  std::vector<PresentedWrite> flush();
  // The job has more of them than it began with, whatever labels and file names look like.
  void more_ranks() { alone_ = false; }
  // No rank gets more input.
  void input_over() { settings_.prompts = {}; }

  bool holds_partial_lines() const { return held_ > 0; }
  // Some of them will be shown if moments pass and nothing else happens.
  bool awaits_moments() const;
  std::uint64_t bytes_accepted() const { return accepted_; }
  std::uint64_t bytes_written() const { return written_; }  // handed out in writes

  static std::string file_name(Rank rank, OutputStream stream, Rank ranks);

 private:
  using Key = std::pair<Rank, OutputStream>;
  struct Line {
    std::string text;
    std::uint32_t moments = 0;  // since its last byte
  };

  PresentedWrite present(const Key& key, std::string_view bytes, std::size_t credit);
  std::string on_one_line(const Key& key, std::string_view bytes);
  std::size_t mark_length(Rank rank) const;
  bool marked() const { return (settings_.label || settings_.timestamp) && !settings_.files; }
  std::vector<PresentedWrite> accept_terminal(const Key& key, std::string_view bytes);
  std::vector<PresentedWrite> accept_file(const Key& key, std::string_view bytes, bool eof);
  void end_stream(const Key& key, std::vector<PresentedWrite>& writes);

  PresentationSettings settings_;
  std::map<Key, Line> lines_;  // the partial lines held
  bool alone_;                 // there is one rank
  std::uint64_t held_ = 0;     // bytes in them
  std::uint64_t accepted_ = 0;
  std::uint64_t accepted_before_ = 0;  // at the last moment
  std::uint32_t quiet_moments_ = 0;
  std::uint64_t written_ = 0;
  // With marks: whose unfinished line stands on standard output and on standard error, and the mark
  // of every line that was shown in part.
  std::map<OutputStream, std::optional<Rank>> unfinished_;
  std::map<Key, std::string> marks_;
};

}  // namespace scela
