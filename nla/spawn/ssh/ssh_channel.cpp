#include "nla/spawn/ssh/ssh_channel.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/core/text.h"

namespace scela::nla {

namespace {

constexpr std::size_t kErrorTail = 2048;
// Bytes passed to the channel at once: as many as one TCP window takes without waiting.
constexpr std::size_t kWritePiece = std::size_t{64} * 1024;

int signal_number(std::string_view name) {
  for (int signo = 1; signo < 32; ++signo) {
    const char* known = ::sigabbrev_np(signo);
    if (known != nullptr && name == known) return signo;
  }
  return 0;
}

}  // namespace

int SshChannel::open() {
  if (channel_ == nullptr) channel_ = ::ssh_channel_new(session_);
  return channel_ == nullptr ? SSH_ERROR : ::ssh_channel_open_session(channel_);
}

int SshChannel::execute(const std::string& command) {
  const int got = ::ssh_channel_request_exec(channel_, command.c_str());
  if (got != SSH_OK) return got;
  callbacks_.userdata = this;
  callbacks_.channel_exit_signal_function = &hear_signal;
  ssh_callbacks_init(&callbacks_);
  ::ssh_set_channel_callbacks(channel_, &callbacks_);
  return SSH_OK;
}

void SshChannel::hear_signal(ssh_session, ssh_channel, const char* name, int, const char*,
                             const char*, void* self) {
  const int signo = signal_number(name == nullptr ? "" : name);
  static_cast<SshChannel*>(self)->exit_status_ = signo == 0 ? -1 : 128 + signo;
}

// A command that does not end with its input is ended by a signal, if sshd passes it on (not for
// root). This signal lets the command remove the shipped agent.
void SshChannel::abandon() {
  if (channel_ == nullptr || broken_ || ::ssh_channel_is_closed(channel_) != 0) return;
  ::ssh_channel_request_send_signal(channel_, "TERM");
}

void SshChannel::end() {
  reader_ = writer_ = closer_ = nullptr;
  if (event_ != nullptr) {
    ::ssh_event_remove_session(event_, session_);
    ::ssh_event_free(event_);
    event_ = nullptr;
  }
  if (channel_ == nullptr) return;
  ::ssh_channel_free(channel_);
  channel_ = nullptr;
}

void SshChannel::end_writing() {
  if (channel_ != nullptr && !broken_) ::ssh_channel_send_eof(channel_);
  needs_.listen();
}

ssize_t SshChannel::read(char* bytes, std::size_t size) {
  if (channel_ == nullptr) {
    errno = ECONNRESET;
    return -1;
  }
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(size, 1u << 20));
  const int got = ::ssh_channel_read_nonblocking(channel_, bytes, most, 0);
  if (writer_) needs_.serve();  // libssh may have read that there is room
  if (got > 0) return got;
  take_error_output();
  if (got == SSH_EOF || (got == 0 && ::ssh_channel_is_eof(channel_) != 0)) return 0;
  if (got == SSH_ERROR) {
    broken_ = true;
    trouble_ = cat("the ssh connection broke: ", ::ssh_get_error(session_));
    errno = ECONNRESET;
    return -1;
  }
  errno = EAGAIN;
  return -1;
}

std::size_t SshChannel::room() {
  const std::uint32_t now = ::ssh_channel_window_size(channel_);
  window_ = std::max(window_, now);
  const std::size_t ahead = window_ - now;
  return ahead < ahead_limit_ ? std::min<std::size_t>(now, ahead_limit_ - ahead) : 0;
}

ssize_t SshChannel::write(const iovec* parts, int count) {
  if (channel_ == nullptr || broken_) {
    errno = EPIPE;
    return -1;
  }
  ssize_t total = 0;
  for (int i = 0; i < count; ++i) {
    const char* bytes = static_cast<const char*>(parts[i].iov_base);
    for (std::size_t left = parts[i].iov_len; left > 0;) {
      // libssh keeps bytes that it cannot send now, without bound. So it gets no more than it can
      // send.
      if (!has_room()) goto done;
      const auto piece = static_cast<std::uint32_t>(std::min({left, kWritePiece, room()}));
      const int wrote = ::ssh_channel_write(channel_, bytes, piece);
      if (wrote == SSH_ERROR) {
        errno = EPIPE;
        return -1;
      }
      if (wrote <= 0) goto done;
      total += wrote;
      bytes += wrote;
      left -= static_cast<std::size_t>(wrote);
    }
  }
done:
  // No other call announces the packets that came in meanwhile.
  if (reader_ && ::ssh_channel_poll(channel_, 0) != 0) needs_.serve();
  needs_.listen();
  if (total > 0) return total;
  errno = EAGAIN;
  return -1;
}

// Calls the waiting handlers that can proceed.
void SshChannel::serve() {
  if (channel_ == nullptr) return;
  const auto keep = shared_from_this();
  // libssh looks at no further packet of a channel after its end of file, not even at the close.
  if (::ssh_channel_is_eof(channel_) != 0 && !broken_) hear_packets();
  take_error_output();
  // Every call that takes packets in may bring bytes for the reader, and nothing else announces
  // them. So this is looked at after all of them.
  const int waiting = ::ssh_channel_poll(channel_, 0);
  // libssh takes no packets in while bytes wait to be read, which may be for long. The peer's
  // window updates would not be seen, and bytes that could not be sent yet would stay.
  if (waiting > 0 && (writer_ || is_write_pending()) && !has_room()) hear_packets();
  const bool ended = waiting == SSH_EOF || waiting == SSH_ERROR;
  if (waiting == SSH_ERROR) broken_ = true;
  const bool closed = broken_ || ::ssh_channel_is_closed(channel_) != 0;
  if (closed && exit_status_ < 0) exit_status_ = ::ssh_channel_get_exit_status(channel_);
  if (has_room() && writer_) std::exchange(writer_, nullptr)();
  if (channel_ == nullptr) return;
  if (reader_ && (ended || closed || ::ssh_channel_poll(channel_, 0) != 0)) {
    std::exchange(reader_, nullptr)();
  }
  // That poll may have sent the bytes that blocked the writer, and nothing else announces it.
  if (channel_ != nullptr && writer_ && has_room()) needs_.serve();
  if (closed && closer_) std::exchange(closer_, nullptr)();
}

void SshChannel::hear_packets() {
  if (event_ == nullptr) {
    event_ = ::ssh_event_new();
    if (event_ == nullptr || ::ssh_event_add_session(event_, session_) != SSH_OK) {
      broken_ = true;
      return;
    }
  }
  if (::ssh_event_dopoll(event_, 0) == SSH_ERROR) broken_ = true;
}

void SshChannel::take_error_output() {
  char piece[512];
  for (;;) {
    const int got = ::ssh_channel_read_nonblocking(channel_, piece, sizeof piece, 1);
    if (got <= 0) return;
    error_tail_.append(piece, static_cast<std::size_t>(got));
    if (error_tail_.size() > 2 * kErrorTail) {
      error_tail_.erase(0, error_tail_.size() - kErrorTail);
    }
  }
}

}  // namespace scela::nla
