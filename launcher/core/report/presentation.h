// Turns the output of the ranks into that of scela-run: whole lines, or one file per rank and
// stream. OutputWriter uses it.
//
// It takes bytes and returns writes, and it has no descriptor and no clock. The caller does the
// writes. It also calls tick() at a regular interval, a moment, while needs_ticks() is
// true, so that prompts are shown.
//
// It adds and drops no byte, with one exception. Lines may begin with a mark, a label or a time,
// which the rank's agent makes (common/core/line_marks.h). If another rank or the end of the stream
// then interrupts a line, the line gets a newline. Its rest begins with the same mark. A line that
// does not begin with its rank's label gets that label, so no compromised node can sign its lines
// with another rank.
//
// Credit is the number of bytes that a rank's stream may still send. Each write says how many bytes
// of the rank were accepted with it. The caller returns that much credit to the rank's stream when
// the write is done. Partial lines hold back no credit, as a rank without credit could not end its
// line. The bytes held are therefore bounded by kMaxHeldLine per stream and kMaxHeld in total. One
// thread uses an object, and no call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/rank_set.h"

namespace scela {

// The streams of a rank: standard output and standard error.
enum class OutputStream : std::uint8_t { out, err };

// A longer line is passed on in pieces, so that memory stays bounded whatever a program prints. The
// unit is bytes.
inline constexpr std::size_t kMaxHeldLine = 64 * 1024;
inline constexpr std::size_t kMaxHeld = std::size_t{8} * 1024 * 1024;  // of all streams, in bytes

// If no rank has printed for this many moments, a partial line is shown: it is then a prompt and
// not an incomplete line. A smaller value would cut lines of ranks that the machine delays. A line
// with a mark is cut only if its rank reads standard input, as lines of other ranks cannot be
// prompts.
inline constexpr std::uint32_t kQuietMoments = 8;
// If other ranks go on printing, a rank that reads standard input may still have a partial line. It
// is shown after this many moments without a byte from that rank.
inline constexpr std::uint32_t kStaleMoments = 40;

// Says how output is shown.
struct PresentationSettings {
  Rank ranks = 1;  // of the job
  // Returns the text with which each line of a rank's stream begins. If it is not set, lines have
  // no label. This is ignored with files.
  std::function<std::string(Rank, OutputStream)> label = {};
  bool timestamp = false;  // lines have the time, after the label
  bool files = false;      // --output-dir: a file per rank and stream
  // Returns the name of the file of a rank's stream. It must be set if `files` is.
  std::function<std::string(Rank, OutputStream)> file_name = {};
  // --json without a file: each line becomes a record (json_records.h) on standard output. Labels
  // and times must not be set then. This is ignored with files.
  bool records = false;
  // Returns the host of a rank. It must be set if `records` is.
  std::function<std::string(Rank)> host_of = {};
  RankSet prompts = {};  // ranks that read standard input
  // The output of this rank is not split into lines; it is shown at once.
  std::optional<Rank> terminal = {};
};

// One write that the caller must do: `bytes` to `target`.
struct PresentedWrite {
  enum class Target : std::uint8_t { standard_output, standard_error, file };
  Target target = Target::standard_output;
  std::string file;  // name in the directory, for files
  // May be empty if `last` is set: the file must then be created all the same.
  std::string bytes;
  Rank rank = 0;  // the rank that gets the credit
  OutputStream stream = OutputStream::out;
  // The number of bytes of the rank that were accepted, held ones too. Added bytes do not count.
  std::size_t credit = 0;
  // The rank's stream has ended, so its file can be closed.
  bool last = false;
};

// Holds the partial lines of all ranks, and says what is written and when.
class Presentation {
 public:
  // Makes the presentation of a job of which no rank has printed yet.
  explicit Presentation(PresentationSettings settings);

  // Takes the next bytes of one rank's stream, in order, and returns the writes that can be done
  // now. `eof` says that the stream ends after these bytes, which may be none.
  std::vector<PresentedWrite> accept(Rank rank, OutputStream stream, std::string_view bytes,
                                     bool eof);
  // Counts a moment, and returns the held partial lines that have waited long enough, in rank
  // order. `congested` says that earlier output is not written yet. This may delay a rank in the
  // middle of a line, so such a moment does not count.
  std::vector<PresentedWrite> tick(bool congested);
  // Returns all held partial lines, in rank order, for the end of the job.
  std::vector<PresentedWrite> flush();
  // Says that the job got more ranks than it had at the start. Labels and file names keep their
  // width.
  void more_ranks() { alone_ = false; }
  // Says that no rank gets more input.
  void set_no_input() { settings_.prompts = {}; }

  // Returns true if some held line will be shown if moments pass and no other event comes.
  bool needs_ticks() const;

 private:
  using Key = std::pair<Rank, OutputStream>;
  // A partial line of a stream.
  struct Line {
    std::string text;
    std::uint32_t moments = 0;  // since its last byte
  };

  // Makes the write of these bytes, with marks where they are missing. It may end the unfinished
  // line of another rank.
  PresentedWrite present(const Key& key, std::string bytes, std::size_t credit);
  // Returns the bytes so that no two ranks share a line. It is used only if lines have marks.
  std::string on_one_line(const Key& key, std::string_view bytes);
  // Returns the text with which each line of the stream begins, or an empty string without labels.
  std::string label_of(const Key& key) const;
  // Appends the bytes to `text`, and the label before each line that lacks it. `begun` is the mark
  // of the first line, as far as it was shown before.
  void append_labelled(const Key& key, std::string_view begun, std::string_view bytes,
                       std::string& text) const;
  // Returns the records of these lines.
  std::string records_of(const Key& key, std::string_view bytes) const;
  // Returns true if output becomes records.
  bool makes_records() const { return settings_.records && !settings_.files; }
  // Returns true if lines begin with a label or a time.
  bool marked() const { return (settings_.label || settings_.timestamp) && !settings_.files; }
  // Returns true if only prompts are cut off before their lines end.
  bool keeps_lines() const { return marked() || makes_records(); }
  // These two do the work of accept() for the rank with a terminal and for output to files. They
  // hold no bytes.
  std::vector<PresentedWrite> accept_terminal(const Key& key, std::string_view bytes);
  std::vector<PresentedWrite> accept_file(const Key& key, std::string_view bytes, bool eof);
  // Ends the stream's last line if lines have marks, and sets `last` in the last write.
  void end_stream(const Key& key, std::vector<PresentedWrite>& writes);

  PresentationSettings settings_;
  std::map<Key, Line> lines_;          // the partial lines held
  bool alone_;                         // there is one rank
  std::uint64_t held_ = 0;             // bytes in lines_
  std::uint64_t accepted_ = 0;         // bytes that accept() has taken
  std::uint64_t accepted_before_ = 0;  // at the last moment
  std::uint32_t quiet_moments_ = 0;
  // If lines have marks: the rank with the unfinished line on each of the standard streams, and the
  // mark of each line that was shown in part.
  std::map<OutputStream, std::optional<Rank>> unfinished_;
  std::map<Key, std::string> marks_;
};

}  // namespace scela
