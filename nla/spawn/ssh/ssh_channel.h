// A command on the other side of an ssh session, from its request to its end: its streams, its
// standard error, its exit status. SshSession uses it.
//
// One thread; nothing blocks. libssh announces little by itself, since every call that takes
// packets in may bring what a handler waits for. So the session calls serve() whenever something
// may have changed. By Needs the channel asks the session to do so again, or to listen to its
// socket.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "nla/io/transport.h"

namespace scela::nla {

// One command of one session. The session owns it.
class SshChannel : public std::enable_shared_from_this<SshChannel> {
 public:
  // The functions by which the channel asks its session for turns.
  struct Needs {
    // Calls SshChannel::serve() soon, not from within this call.
    std::function<void()> serve;
    // Watches the session's socket, because handlers wait.
    std::function<void()> listen;
  };
  // The session must outlive the channel, or end() must be called before.
  SshChannel(ssh_session session, Needs needs) : session_(session), needs_(std::move(needs)) {}
  ~SshChannel() { end(); }
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;

  // Opens the channel. Returns SSH_OK, SSH_AGAIN (call it again when there are packets) or
  // SSH_ERROR.
  int open();
  // Requests the command, once open() has returned SSH_OK. Returns the same values as open().
  int execute(const std::string& command);
  // Lets the command use the ssh-agent on this side. To be called between open() and execute().
  void offer_agent() { ::ssh_channel_request_auth_agent(channel_); }

  // Calls the waiting handlers that can proceed. Any of them may end the channel.
  void serve();
  // Returns true if a handler waits for the channel.
  bool is_waited_for() const { return reader_ || writer_ || closer_; }
  // Sends the command a signal, because its result is not needed any more. This does not close the
  // channel.
  void abandon();
  // Frees the channel and drops the waiting handlers. May be called again.
  void end();
  bool is_open() const { return channel_ != nullptr; }

  // The functions of Transport (nla/io/transport.h), for the command's standard input and output.
  // read() and write() return as read(2) and writev(2) on a non-blocking descriptor.
  ssize_t read(char* bytes, std::size_t size);
  ssize_t write(const iovec* parts, int count);
  // Call the handler once when the channel can be read, when it can be written, or when the command
  // has ended.
  void wait_readable(Transport::Handler handler) { wait(reader_, std::move(handler)); }
  void wait_writable(Transport::Handler handler) { wait(writer_, std::move(handler)); }
  void wait_closed(Transport::Handler handler) { wait(closer_, std::move(handler)); }
  void limit_ahead(std::size_t bytes) { ahead_limit_ = bytes; }
  // Ends the command's standard input.
  void end_writing();
  // Returns why the stream broke, or an empty string.
  const std::string& trouble() const { return trouble_; }

  // Returns the exit status: 128 + N if signal N ended the command, and -1 while it is unknown. It
  // stays valid after the channel's end.
  int exit_status() const { return exit_status_; }
  // Returns the last output to standard error. It stays valid after the channel's end.
  const std::string& error_tail() const { return error_tail_; }

 private:
  // Keeps the handler and asks for serve(), which calls it if it can proceed.
  void wait(Transport::Handler& which, Transport::Handler handler) {
    which = std::move(handler);
    needs_.serve();
  }
  // Returns true if libssh holds bytes that the socket has not taken yet.
  bool is_write_pending() const {
    return (::ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0;
  }
  // Returns true if a write can proceed or will fail at once.
  bool has_room() { return broken_ || (room() > 0 && !is_write_pending()); }
  // Returns how many bytes may be sent now: as the window of the other side and limit_ahead()
  // allow.
  std::size_t room();
  // Takes in packets that have come, though libssh would not look at them now. Does not block.
  void hear_packets();
  // Moves what has come of the standard error to error_tail_.
  void take_error_output();
  // libssh calls it with the name of the signal ("TERM") that has ended the command. `self` is
  // the channel.
  static void hear_signal(ssh_session, ssh_channel, const char* name, int, const char*, const char*,
                          void* self);

  ssh_session session_;
  Needs needs_;
  ssh_channel channel_ = nullptr;
  ssh_event event_ = nullptr;
  ssh_channel_callbacks_struct callbacks_{};
  std::uint32_t window_ = 0;            // the largest one that the other side has given
  std::size_t ahead_limit_ = SIZE_MAX;  // see Transport::limit_ahead()
  bool broken_ = false;                 // the connection failed; no more bytes
  int exit_status_ = -1;
  std::string error_tail_;
  std::string trouble_;
  Transport::Handler reader_, writer_, closer_;  // empty: not waited for
};

}  // namespace scela::nla
