// The stream that the link began on stays open to the end. A closed other end is the promise that
// no process is left there, and only the process at the other end can make the second stream close.
#include "nla/link/link.h"

#include <sys/uio.h>

#include <cerrno>
#include <utility>

#include "common/core/text.h"
#include "nla/io/read_buffer.h"

namespace scela::nla {

void Link::attach(std::unique_ptr<Transport> stream) {
  first_ = std::move(stream);
  in_ = out_ = first_.get();
  if (given_up_) first_->end_writing();
  wait_readable();
  flush();
}

void Link::change_to(std::unique_ptr<Transport> stream, bool leads) {
  if (broken_ || given_up_ || at_end_ || second_ || !first_) return stream->close();
  second_ = std::move(stream);
  leads_ = leads;
  if (!leads) return;
  queue_.add_change(link_frame(LinkFrame::change));
  flush();
}

void Link::send(Encoded message) {
  if (broken_ || given_up_) return;
  sent_ += message.size();
  queue_.add(std::move(message));
}

void Link::send_link_frame(std::string frame) {
  if (!broken_ && !given_up_) queue_.add_link_frame(std::move(frame));
}

void Link::flush() {
  while (is_open() && !waiting_to_write_ && !queue_.empty()) {
    iovec parts[kWriteParts];
    const ssize_t wrote = out_->write(parts, queue_.gather(parts, kWriteParts));
    if (wrote >= 0) {
      wrote_ += static_cast<std::size_t>(wrote);
      if (queue_.wrote(static_cast<std::size_t>(wrote))) out_ = second_.get();
    } else if (errno == EAGAIN) {
      wait_writable();
    } else {
      // The reading side notices it too, after the peer's last frames.
      break_off();
    }
  }
}

void Link::set_reading(bool on) {
  if (std::exchange(reading_, on) == on) return;
  was_deaf_ = true;
  if (on && is_open() && !at_end_) wait_readable();
}

void Link::give_up() {
  given_up_ = true;
  queue_.clear();
  if (!is_open()) return;
  first_->end_writing();
  if (second_) second_->end_writing();
  set_reading(true);
}

void Link::limit_silence(std::chrono::milliseconds limit) {
  if (first_) first_->limit_silence(limit);
  if (second_) second_->limit_silence(limit);
}

bool Link::finish() {
  if (!is_open() || broken_ || at_end_) return true;
  if (!queue_.empty()) return false;
  if (out_ == first_.get()) return true;
  // Closing a socket while the peer still sends would destroy bytes that the peer has not got
  // yet.
  if (!std::exchange(given_up_, true)) second_->end_writing();
  set_reading(true);
  return false;
}

void Link::beat() {
  if (!queue_.empty() || !is_open()) return;
  send_link_frame(link_frame(LinkFrame::beat));
  flush();
}

Heartbeat::Seen Link::activity() {
  return {heard_, wrote_, std::exchange(was_deaf_, !reading_)};
}

void Link::close_now() {
  break_off();
  given_up_ = told_end_ = true;
  close();
}

void Link::break_off() {
  broken_ = true;
  queue_.clear();
}

void Link::close() {
  if (first_) first_->close();
  if (second_) second_->close();
}

void Link::wait_writable() {
  waiting_to_write_ = true;
  out_->wait_writable([this] {
    waiting_to_write_ = false;
    flush();
    listener_.on_turn_over();
  });
}

void Link::wait_readable() {
  if (waiting_to_read_ || !reading_ || at_end_) return;
  waiting_to_read_ = true;
  in_->wait_readable([this] {
    waiting_to_read_ = false;
    if (!reading_) return;
    read_turn();
    listener_.on_turn_over();
  });
}

void Link::read_turn() {
  for (std::size_t total = 0; total < kLinkTurn;) {
    const ssize_t got = in_->read(buffer_.bytes, sizeof buffer_.bytes);
    if (got < 0 && errno == EAGAIN) break;
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return at_end(in_->trouble());
    if (got < 0) return at_end(errno_text(errno));
    const auto size = static_cast<std::size_t>(got);
    total += size;
    heard_ += size;
    if (!given_up_) take({buffer_.bytes, size});
    if (size < sizeof buffer_.bytes) break;
  }
  wait_readable();
}

void Link::take(std::string_view bytes) {
  while (!given_up_) {
    Result<std::optional<Frame>> frame = decoder_.next(bytes);
    if (!frame) {
      refuse(frame.error().text());
    } else if (!*frame) {
      return;
    } else if (is_link_frame((*frame)->kind)) {
      take_link_frame(std::move(**frame), bytes.empty());
    } else {
      listener_.on_frame(id_, std::move(**frame));
    }
  }
}

void Link::refuse(std::string why) {
  give_up();
  tell_end(std::move(why));
}

void Link::take_link_frame(Frame frame, bool is_last) {
  if (Result<void> checked = check_link_frame(frame); !checked) {
    return refuse(checked.error().text());
  }
  if (frame.kind == static_cast<std::uint8_t>(LinkFrame::beat)) return;
  if (frame.kind == static_cast<std::uint8_t>(LinkFrame::change)) {
    if (!second_ || in_ == second_.get() || !is_last) {
      return refuse("it changes to a stream that was not agreed");
    }
    in_ = second_.get();
    watch_first();
    if (!leads_) queue_.add_change(link_frame(LinkFrame::change));
  }
  listener_.on_link_frame(id_, std::move(frame));
}

void Link::watch_first() {
  first_->wait_readable([this] {
    const ssize_t got = first_->read(buffer_.bytes, sizeof buffer_.bytes);
    if (got > 0 && !given_up_) refuse("something follows the last frame of its first stream");
    if (got > 0 || (got < 0 && errno == EAGAIN)) {
      watch_first();
    } else {
      first_at_end();
    }
    listener_.on_turn_over();
  });
}

void Link::first_at_end() {
  // To a child this end says that the parent is gone. A parent still reads the second stream to
  // its end.
  if (leads_ && !at_end_) at_end("the connection that it was started over ended");
  await_first_closed();
}

void Link::await_first_closed() {
  first_->wait_closed([this] {
    first_closed_ = true;
    closed_if();
  });
}

void Link::at_end(std::string why) {
  at_end_ = true;
  if (why.empty() && !given_up_ && !decoder_.at_boundary()) why = "it ended inside a message";
  tell_end(std::move(why));
  if (in_ == first_.get()) {
    if (second_) second_->close();
    return await_first_closed();
  }
  // A process that still holds the other end of the first stream learns that this end has gone.
  break_off();
  second_->close();
  first_->end_writing();
  if (first_closed_) closed_if();
}

void Link::tell_end(std::string why) {
  decoder_ = {};
  if (!std::exchange(told_end_, true)) listener_.on_ended(id_, std::move(why));
}

void Link::closed_if() {
  if (!first_closed_ || !at_end_) return;
  break_off();
  close();
  listener_.on_closed(id_);
  listener_.on_turn_over();
}

}  // namespace scela::nla
