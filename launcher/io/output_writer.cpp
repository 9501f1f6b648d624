#include "launcher/io/output_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/core/line_marks.h"
#include "common/core/text.h"

namespace scela {

namespace {

// A pipe or terminal that poll() reports writable takes at least this many bytes without blocking.
constexpr std::size_t kSureWrite = 4096;
// Maximum number of open files with --output-dir. Beyond it the oldest file is closed, and it is
// reopened for appending if needed.
constexpr std::size_t kOpenFiles = 512;

constexpr std::size_t kGatheredPiece = std::size_t{64} * 1024;
// The time that a reader of gathered output has for each such piece, after the job was stopped.
constexpr std::chrono::milliseconds kPatience{1000};

// A write to a regular file does not block for long, so poll() is not needed.
bool is_file(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool takes_more(int fd) {
  pollfd one{fd, POLLOUT, 0};
  return ::poll(&one, 1, 0) != 0;  // write() finds an error
}

// Other users may be able to write to the directory. If a link or a FIFO stands in place of the
// file, the output would go elsewhere, or the open would block.
Result<Fd> open_output(const std::string& path, int flags) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd file(::open(path.c_str(), kNew, 0666));
  const auto refused = [&](std::string why, std::string hint) {
    return scela::fail(
        Error{ErrorKind::io, cat("open '", path, "'"), "", std::move(why), std::move(hint)});
  };
  if (!file && (errno == ELOOP || errno == ENXIO))
    return refused(
        errno == ELOOP ? "it is a link, and links are not followed" : "it is no regular file",
        "remove it, or name another directory with --output-dir");
  if (!file)
    return refused(errno_text(errno),
                   errno == ENOSPC ? "free some space and run the job again" : "");
  if (!is_file(file.get()))
    return refused("it is no regular file",
                   "remove it, or name another directory with --output-dir");
  if ((flags & O_TRUNC) != 0 && ::ftruncate(file.get(), 0) != 0)
    return refused(errno_text(errno), "");
  return file;
}

}  // namespace

OutputWriter::OutputWriter(PresentationSettings settings, OutputFiles files,
                           std::unique_ptr<Gatherer> gatherer, Hooks hooks)
    : terminal_(settings.terminal),
      live_view_(
          gatherer && LiveView::is_possible()
              ? std::make_unique<LiveView>(settings.ranks, gatherer->has_names() ? "host" : "rank")
              : nullptr),
      presentation_(std::move(settings)),
      files_in_(std::move(files)),
      gatherer_(std::move(gatherer)),
      hooks_(std::move(hooks)) {
  for (int which = 0; which < 2; ++which)
    is_file_[which] = is_file(which + 1);
}

void OutputWriter::accept(Rank rank, OutputStream stream, std::string_view bytes, bool end) {
  if (gatherer_ && stream == OutputStream::out) {
    if (!broken_[0]) {
      if (auto kept = gatherer_->add(rank, bytes); !kept) {
        broken_[0] = true;
        fail(kept.error());
      }
    }
    if (live_view_ && end && !broken_[0]) {
      gatherer_->end(rank);
      live_view_->set_changed();
    }
    return hooks_.written(bytes.size());
  }
  take(presentation_.accept(rank, stream, bytes, end));
}

void OutputWriter::set_no_input() {
  presentation_.set_no_input();
}

void OutputWriter::set_raw(bool on) {
  for (int which = 0; which < 2; ++which)
    raw_[which] = on && ::isatty(which + 1) == 1;
}

void OutputWriter::tick() {
  take(presentation_.tick(!idle()));
  // The lines must begin where a line begins, and the output of ranks comes first.
  if (live_view_ && idle() && !in_line_[0] && !in_line_[1]) live_view_->tick(*gatherer_);
}

void OutputWriter::hide_live_view() {
  if (live_view_) live_view_->hide();
}

void OutputWriter::take(std::vector<PresentedWrite> writes) {
  for (PresentedWrite& write : writes) {
    if (write.target == PresentedWrite::Target::file) {
      write_file(write);
      continue;
    }
    const int which = write.target == PresentedWrite::Target::standard_output ? 0 : 1;
    if (broken_[which]) {
      hooks_.written(write.credit);
    } else if (!write.bytes.empty() || write.credit > 0) {
      if (raw_[which] && write.rank != terminal_) write.bytes = with_returns(write.bytes);
      queues_[which].push_back({std::move(write.bytes), 0, write.credit});
    }
  }
  resume();
}

void OutputWriter::add_text(std::string text) {
  if (broken_[0] || text.empty()) return;
  queues_[0].push_back({std::move(text), 0, 0});
  resume();
}

void OutputWriter::resume() {
  pump(0);
  pump(1);
}

void OutputWriter::pump(int which) {
  std::deque<Piece>& queue = queues_[which];
  const int fd = which + 1;
  std::uint64_t credit = 0;
  while (!queue.empty()) {
    Piece& piece = queue.front();
    if (piece.bytes.empty()) {  // held back: credit follows its turn
      credit += piece.credit;
      queue.pop_front();
      continue;
    }
    if (!is_file_[which] && !takes_more(fd)) {
      hooks_.wait_writable(fd);
      break;
    }
    const std::size_t rest = piece.bytes.size() - piece.done;
    const std::size_t length = is_file_[which] ? rest : std::min(kSureWrite, rest);
    hide_live_view();
    const ssize_t wrote = ::write(fd, piece.bytes.data() + piece.done, length);
    if (wrote < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        hooks_.wait_writable(fd);
        break;
      }
      broken_[which] = true;
      for (const Piece& lost : queue)
        credit += lost.credit;
      queue.clear();
      if (errno == EPIPE) reader_gone_ = true;
      fail(which == 0 ? "write standard output" : "write standard error", errno);
      break;
    }
    piece.done += static_cast<std::size_t>(wrote);
    if (wrote > 0) in_line_[which] = piece.bytes[piece.done - 1] != '\n';
    if (piece.done == piece.bytes.size()) {
      credit += piece.credit;
      queue.pop_front();
    }
  }
  if (credit > 0) hooks_.written(credit);
}

void OutputWriter::write_file(const PresentedWrite& write) {
  auto at = files_.find(write.file);
  const std::string path = files_in_.directory + "/" + write.file;
  if (at == files_.end()) {
    if (files_.size() >= kOpenFiles) {
      files_.erase(open_order_.front());
      open_order_.pop_front();
    }
    const bool begins = begun_.insert(write.file).second && !files_in_.continued;
    const int fresh = begins ? O_TRUNC : 0;
    Result<Fd> file = open_output(path, fresh);
    if (!file) {
      fail(file.error());
      hooks_.written(write.credit);
      return;
    }
    at = files_.emplace(write.file, std::move(*file)).first;
    open_order_.push_back(write.file);
  }
  std::size_t done = 0;
  while (done < write.bytes.size()) {
    const ssize_t wrote =
        ::write(at->second.get(), write.bytes.data() + done, write.bytes.size() - done);
    if (wrote < 0) {
      if (errno == EINTR) continue;
      fail("write '" + path + "'", errno);
      break;
    }
    done += static_cast<std::size_t>(wrote);
  }
  if (write.last) {
    std::erase(open_order_, write.file);
    files_.erase(at);
  }
  hooks_.written(write.credit);
}

void OutputWriter::finish(std::optional<std::chrono::steady_clock::time_point> until) {
  if (live_view_) live_view_->close();
  take(presentation_.flush());
  if (!drain(0, until) || !drain(1, until)) return discard();
  if (gatherer_) show_gathered(until);
}

// Blocks until the queue is empty and returns true. Returns false if `until` passes first.
bool OutputWriter::drain(int which, const Deadline& until) {
  using std::chrono::milliseconds;
  while (!queues_[which].empty()) {
    milliseconds left(-1);
    if (until) {
      left = std::chrono::ceil<milliseconds>(*until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      left = std::min<milliseconds>(left, std::chrono::hours(1));  // poll() takes an int
    }
    pollfd one{which + 1, POLLOUT, 0};
    ::poll(&one, 1, static_cast<int>(left.count()));
    pump(which);
  }
  return true;
}

// Each piece has its own time limit, so a reader that is slow but reads gets all of the output.
void OutputWriter::show_gathered(Deadline until) {
  while (!broken_[0]) {
    Result<std::string> piece = gatherer_->next();
    if (!piece) return fail(piece.error());
    if (piece->empty()) return;
    for (std::size_t at = 0; at < piece->size(); at += kGatheredPiece) {
      queues_[0].push_back({piece->substr(at, kGatheredPiece), 0, 0});
      if (until) until = std::max(*until, std::chrono::steady_clock::now() + kPatience);
      if (!drain(0, until)) return discard();
    }
  }
}

void OutputWriter::discard() {
  for (int which = 0; which < 2; ++which) {
    broken_[which] = true;
    std::uint64_t credit = 0;
    for (const Piece& lost : queues_[which])
      credit += lost.credit;
    queues_[which].clear();
    if (credit > 0) hooks_.written(credit);
  }
}

void OutputWriter::fail(const std::string& what, int error) {
  fail(Error{ErrorKind::io, what, "", errno_text(error),
             error == ENOSPC ? "free some space and run the job again" : ""});
}

void OutputWriter::fail(const Error& error) {
  if (failed_) return;
  failed_ = true;
  hooks_.failed(error);
}

}  // namespace scela
