// A link over any transport.

#include <sys/uio.h>

#include <cerrno>
#include <deque>
#include <utility>

#include "common/core/text.h"
#include "nla/link/factory.h"
#include "nla/read_buffer.h"

namespace scela::nla {

namespace {

class StreamLink final : public Link {
 public:
  StreamLink(ReadBuffer& buffer, LinkId id, LinkListener& listener)
      : buffer_(buffer), id_(id), listener_(listener) {}

  void attach(std::unique_ptr<Transport> stream) override {
    stream_ = std::move(stream);
    if (given_up_) stream_->end_writing();
    wait_readable();
    flush();
  }

  void send(Encoded message) override {
    if (broken_ || given_up_) return;
    sent_ += message.size();
    queued_ += message.size();
    queue_.push_back(std::move(message));
  }

  void send_link_frame(std::string frame) override {
    if (broken_ || given_up_) return;
    queued_ += frame.size();
    queue_.push_back({std::move(frame), {}});
  }

  void flush() override {
    if (!is_open() || waiting_to_write_) return;
    while (!queue_.empty()) {
      const ssize_t wrote = write_some();
      if (wrote >= 0) {
        forget(static_cast<std::size_t>(wrote));
      } else if (errno == EAGAIN) {
        return wait_writable();
      } else {
        // The reading side learns it too, after what the peer said last.
        break_off();
      }
    }
  }

  void set_reading(bool on) override {
    if (std::exchange(reading_, on) == on) return;
    was_deaf_ = true;
    if (on && is_open() && !at_end_) wait_readable();
  }

  void give_up() override {
    given_up_ = true;
    queue_.clear();
    queued_ = 0;
    offset_ = 0;
    if (!is_open()) return;
    stream_->end_writing();
    set_reading(true);
  }

  void beat() override {
    if (!queue_.empty() || !is_open()) return;
    send_link_frame(link_frame(LinkFrame::beat));
    flush();
  }

  Heartbeat::Seen activity() override {
    return {heard_, wrote_, std::exchange(was_deaf_, !reading_)};
  }

  void abandon() override {
    break_off();
    given_up_ = told_end_ = true;
    if (stream_) stream_->close();
  }

  std::size_t queued_bytes() const override { return queued_; }
  std::uint64_t sent_bytes() const override { return sent_; }

 private:
  void break_off() {
    broken_ = true;
    queue_.clear();
    queued_ = 0;
  }

  bool is_open() const { return stream_ != nullptr && stream_->is_open(); }

  ssize_t write_some() {
    iovec parts[kWriteParts];
    int count = 0;
    std::size_t skip = offset_;
    for (const Encoded& message : queue_) {
      for (const std::string_view bytes : {std::string_view(message.head), message.tail.view()}) {
        const std::string_view rest = bytes.substr(std::min(skip, bytes.size()));
        skip -= bytes.size() - rest.size();
        if (rest.empty()) continue;
        if (count == kWriteParts) return stream_->write(parts, count);
        parts[count++] = {const_cast<char*>(rest.data()), rest.size()};
      }
    }
    return stream_->write(parts, count);
  }

  void forget(std::size_t wrote) {
    wrote_ += wrote;
    queued_ -= wrote;
    wrote += std::exchange(offset_, 0);
    while (!queue_.empty() && wrote >= queue_.front().size()) {
      wrote -= queue_.front().size();
      queue_.pop_front();
    }
    offset_ = wrote;
  }

  void wait_writable() {
    waiting_to_write_ = true;
    stream_->wait_writable([this] {
      waiting_to_write_ = false;
      flush();
      listener_.on_turn_over();
    });
  }

  void wait_readable() {
    if (waiting_to_read_ || !reading_) return;
    waiting_to_read_ = true;
    stream_->wait_readable([this] {
      waiting_to_read_ = false;
      if (!reading_) return;
      read_turn();
      listener_.on_turn_over();
    });
  }

  void read_turn() {
    for (std::size_t total = 0; total < kLinkTurn;) {
      const ssize_t got = stream_->read(buffer_.bytes, sizeof buffer_.bytes);
      if (got < 0 && errno == EAGAIN) break;
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return at_end(stream_->trouble());
      if (got < 0) return at_end(errno_text(errno));
      const auto size = static_cast<std::size_t>(got);
      total += size;
      heard_ += size;
      if (!given_up_) take({buffer_.bytes, size});
      if (size < sizeof buffer_.bytes) break;
    }
    wait_readable();
  }

  void take(std::string_view bytes) {
    decoder_.feed(bytes);
    while (!given_up_) {
      Result<std::optional<Frame>> frame = decoder_.next();
      if (!frame) {
        give_up();
        tell_end(frame.error().text());
      } else if (!*frame) {
        return;
      } else if (is_link_frame((*frame)->kind)) {
        take_link_frame(std::move(**frame));
      } else {
        listener_.on_frame(id_, std::move(**frame));
      }
    }
  }

  void take_link_frame(Frame frame) {
    if (Result<void> checked = check_link_frame(frame); !checked) {
      give_up();
      return tell_end(checked.error().text());
    }
    if (frame.kind != static_cast<std::uint8_t>(LinkFrame::beat)) {
      listener_.on_link_frame(id_, std::move(frame));
    }
  }

  void at_end(std::string why) {
    at_end_ = true;
    if (why.empty() && !given_up_ && !decoder_.at_boundary()) why = "it ended inside a message";
    tell_end(std::move(why));
    wait_closed();
  }

  void tell_end(std::string why) {
    decoder_ = {};
    if (!std::exchange(told_end_, true)) listener_.on_ended(id_, std::move(why));
  }

  void wait_closed() {
    stream_->wait_closed([this] {
      break_off();
      stream_->close();
      listener_.on_closed(id_);
      listener_.on_turn_over();
    });
  }

  std::unique_ptr<Transport> stream_;  // none before attach()
  ReadBuffer& buffer_;
  LinkId id_;
  LinkListener& listener_;
  FrameDecoder decoder_;
  std::deque<Encoded> queue_;
  std::size_t offset_ = 0;  // of the queue's front, written already
  std::size_t queued_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t heard_ = 0;  // of the stream, all kinds of bytes
  std::uint64_t wrote_ = 0;
  bool was_deaf_ = false;
  bool reading_ = true;
  bool waiting_to_read_ = false;
  bool waiting_to_write_ = false;
  bool broken_ = false;    // nothing can be written any more
  bool given_up_ = false;  // nothing is to be written any more, and nothing heard
  bool told_end_ = false;
  bool at_end_ = false;  // of what the peer says
};

}  // namespace

std::unique_ptr<Link> make_stream_link(ReadBuffer& buffer, LinkId id, LinkListener& listener) {
  return std::make_unique<StreamLink>(buffer, id, listener);
}

}  // namespace scela::nla
