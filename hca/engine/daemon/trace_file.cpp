#include "hca/engine/daemon/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/syscall.h"
#include "hca/engine/daemon/engine_status.h"

namespace scela::hca {

namespace {

constexpr std::size_t kBufferBytes = 256u << 10;
constexpr Moment kBetweenWritesNs = 200'000'000;
// Bytes reserved for the end of the file, which says how many events were left out.
constexpr std::uint64_t kReserve = 256;

std::string microseconds(Moment ns) {
  const std::string fraction = cat(ns % 1000);
  return cat(ns / 1000, ".", std::string(3 - fraction.size(), '0'), fraction);
}

std::string_view name_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::rdma_write:
      return "rdma_write";
    case Opcode::rdma_write_with_imm:
      return "rdma_write_with_imm";
    case Opcode::send:
      return "send";
    case Opcode::send_with_imm:
      return "send_with_imm";
    case Opcode::rdma_read:
      return "rdma_read";
    case Opcode::compare_swap:
      return "compare_swap";
    case Opcode::fetch_add:
      return "fetch_add";
    case Opcode::wait:
      return "wait";
    case Opcode::send_enable:
      return "send_enable";
    case Opcode::recv_enable:
      return "recv_enable";
    case Opcode::calc:
      return "calc";
    default:
      return "request";
  }
}

std::string_view name_of(QpType type) {
  switch (type) {
    case QpType::rc:
      return "RC";
    case QpType::uc:
      return "UC";
    case QpType::ud:
      return "UD";
    case QpType::xrc_send:
      return "XRC_SEND";
    case QpType::xrc_recv:
      return "XRC_RECV";
  }
  return "";
}

std::uint64_t key_of(pid_t pid, std::uint32_t qpn) {
  return static_cast<std::uint64_t>(pid) << 32 | qpn;
}

}  // namespace

Result<TraceFile> TraceFile::make(std::string name, std::uint64_t max_bytes) {
  if (const std::size_t at = name.find("%p"); at != name.npos) name.replace(at, 2, cat(::getpid()));
  Fd file(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return fail(os_error(ErrorKind::io, cat("write the trace ", name), errno));
  TraceFile made(std::move(file), max_bytes);
  made.name_process(::getpid(), "scela-hca");
  made.write();
  return made;
}

TraceFile::~TraceFile() {
  write();
}

void TraceFile::joined(ProcessId process, pid_t pid) {
  if (is_full()) return;
  pids_[process] = pid;
  std::string name = program_of(pid);
  std::erase_if(name, [](char c) { return c == '"' || c == '\\'; });
  name_process(pid, name);
}

void TraceFile::name_process(pid_t pid, std::string_view name) {
  add(cat(R"({"name":"process_name","ph":"M","pid":)", pid, R"(,"tid":0,"args":{"name":")", name,
          R"("}})"));
}

void TraceFile::slept(Moment from, Woken woken) {
  if (is_full()) return;
  const std::string_view by = woken == Woken::doorbell ? "bell"
                              : woken == Woken::other  ? "other"
                                                       : "time";
  add(cat(R"({"name":"sleep","ph":"X","pid":)", ::getpid(), R"(,"tid":0,"ts":)", microseconds(from),
          R"(,"dur":)", microseconds(time() - from), R"(,"args":{"woken by":")", by, R"("}})"));
}

Moment TraceFile::time() {
  return monotonic_ns();
}

TraceFile::Track TraceFile::track(ProcessId process, std::uint32_t qpn, std::string_view kind) {
  const auto found = pids_.find(process);
  const Track track{found == pids_.end() ? 0 : found->second, qpn};
  if (qpn != 0 && ends_.try_emplace(key_of(track.pid, qpn), 0).second) {
    add(cat(R"({"name":"thread_name","ph":"M","pid":)", track.pid, R"(,"tid":)", qpn,
            R"(,"args":{"name":")", kind, kind.empty() ? "" : " ", "queue pair ", qpn, R"("}})"));
  }
  return track;
}

void TraceFile::instant(std::string_view name, Track track, std::string_view arguments) {
  add(cat(R"({"name":")", name, R"(","ph":"i","s":"t","pid":)", track.pid, R"(,"tid":)", track.qpn,
          R"(,"ts":)", microseconds(time()), R"(,"args":{)", arguments, "}}"));
}

void TraceFile::posted(const Request& request) {
  if (is_full()) return;
  instant(cat("posted ", name_of(request.opcode)),
          track(request.process, request.qpn, name_of(request.type)),
          cat(R"("wr_id":)", request.wr_id));
}

void TraceFile::executed(const Request& request, Moment began, Status status) {
  if (is_full()) return;
  const Track where = track(request.process, request.qpn, name_of(request.type));
  const Moment now = time();
  Moment& last_end = ends_[key_of(where.pid, where.qpn)];
  // A time of 0 means that the request was taken before the trace began.
  const Moment start = std::min(now, std::max(began == 0 ? now : began, last_end));
  last_end = now;
  add(cat(R"({"name":")", name_of(request.opcode), R"(","ph":"X","pid":)", where.pid, R"(,"tid":)",
          where.qpn, R"(,"ts":)", microseconds(start), R"(,"dur":)", microseconds(now - start),
          R"(,"args":{"wr_id":)", request.wr_id, R"(,"bytes":)", request.bytes, R"(,"status":)",
          static_cast<std::uint32_t>(status), "}}"));
}

void TraceFile::completed(ProcessId process, const Completion& completion) {
  if (is_full()) return;
  instant("completed", track(process, completion.qpn, ""),
          cat(R"("wr_id":)", completion.wr_id, R"(,"bytes":)", completion.bytes, R"(,"opcode":)",
              completion.opcode, R"(,"status":)", static_cast<std::uint32_t>(completion.status)));
}

void TraceFile::woken(ProcessId process) {
  if (is_full()) return;
  instant("woken", track(process, 0, ""), "");
}

bool TraceFile::is_full() {
  if (left_out_ > 0) ++left_out_;
  return left_out_ > 0;
}

void TraceFile::add(std::string_view event) {
  if (left_out_ > 0 || written_ + buffer_.size() + event.size() + kReserve > max_bytes_) {
    ++left_out_;
    return;
  }
  buffer_ += written_ == 0 && buffer_.empty() ? "[\n" : ",\n";
  buffer_ += event;
  if (buffer_.size() >= kBufferBytes) write();
}

void TraceFile::settle() {
  if (!buffer_.empty() && time() - last_write_ >= kBetweenWritesNs) write();
}

void TraceFile::write() {
  if (!file_) return;
  last_write_ = time();
  const std::size_t events = buffer_.size();
  if (left_out_ > 0) {
    buffer_ += cat(",\n", R"({"name":"process_labels","ph":"M","pid":)", ::getpid(),
                   R"(,"tid":0,"args":{"labels":")", left_out_, R"( events were left out"}})");
  }
  buffer_ += "\n]\n";
  // The next write begins at the end of this one's events. A full disk ends the trace.
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t put = retry([&] {
      return ::pwrite(file_.get(), buffer_.data() + done, buffer_.size() - done,
                      static_cast<off_t>(written_ + done));
    });
    if (put <= 0) {
      static_cast<void>(!::ftruncate(file_.get(), static_cast<off_t>(written_)));
      static_cast<void>(!::pwrite(file_.get(), "\n]\n", 3, static_cast<off_t>(written_)));
      file_.reset();
      left_out_ = 1;
      break;
    }
    done += static_cast<std::size_t>(put);
  }
  written_ += events;
  buffer_.clear();
}

}  // namespace scela::hca
