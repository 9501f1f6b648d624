// A link over any transport, which can change to another while it runs.
//
// The stream that the link began on stays open to the end. A closed other end is the promise that
// no process is left there, and only the process at the other end can make the second stream close.

#include <sys/uio.h>

#include <cerrno>
#include <deque>
#include <iterator>
#include <utility>

#include "common/core/text.h"
#include "nla/io/read_buffer.h"
#include "nla/link/factory.h"

namespace scela::nla {

namespace {

class StreamLink final : public Link {
 public:
  StreamLink(ReadBuffer& buffer, LinkId id, LinkListener& listener)
      : buffer_(buffer), id_(id), listener_(listener) {}

  void attach(std::unique_ptr<Transport> stream) override {
    first_ = std::move(stream);
    in_ = out_ = first_.get();
    if (given_up_) first_->end_writing();
    wait_readable();
    flush();
  }

  void hold() override { holding_ = true; }

  void change_to(std::unique_ptr<Transport> stream, bool leads) override {
    if (broken_ || given_up_ || at_end_ || second_ || !first_) return stream->close();
    second_ = std::move(stream);
    leads_ = leads;
    if (!leads) return;
    say_change();
    flush();
  }

  void send(Encoded message) override {
    if (broken_ || given_up_) return;
    sent_ += message.size();
    queued_ += message.size();
    (holding_ ? held_ : queue_).push_back({std::move(message)});
  }

  void send_link_frame(std::string frame) override {
    if (broken_ || given_up_) return;
    queued_ += frame.size();
    queue_.push_back({{std::move(frame), {}}});
  }

  void flush() override {
    while (is_open() && !waiting_to_write_ && !queue_.empty()) {
      const ssize_t wrote = write_some();
      if (wrote >= 0) {
        forget(static_cast<std::size_t>(wrote));
      } else if (errno == EAGAIN) {
        wait_writable();
      } else {
        // The reading side notices it too, after the peer's last frames.
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
    forget_queue();
    if (!is_open()) return;
    first_->end_writing();
    if (second_) second_->end_writing();
    set_reading(true);
  }

  bool finish() override {
    if (!is_open() || broken_ || at_end_) return true;
    if (!queue_.empty()) return false;
    if (out_ == first_.get()) return true;
    // Closing a socket while the peer still sends would destroy bytes that the peer has not got
    // yet.
    if (!std::exchange(given_up_, true)) second_->end_writing();
    set_reading(true);
    return false;
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
    close();
  }

  std::size_t queued_bytes() const override { return queued_; }
  std::uint64_t sent_bytes() const override { return sent_; }
  std::uint64_t carried_bytes() const override { return heard_ + wrote_; }

 private:
  struct Item {
    Encoded message;
    bool is_last = false;  // the last one on this stream
  };

  void forget_queue() {
    queue_.clear();
    held_.clear();
    queued_ = 0;
    offset_ = 0;
  }
  void break_off() {
    broken_ = true;
    forget_queue();
  }
  void close() {
    if (first_) first_->close();
    if (second_) second_->close();
  }

  bool is_open() const { return out_ != nullptr && out_->is_open(); }

  void say_change() {
    std::string frame = link_frame(LinkFrame::change);
    queued_ += frame.size();
    queue_.push_back({{std::move(frame), {}}, true});
    if (!std::exchange(holding_, false)) return;
    std::move(held_.begin(), held_.end(), std::back_inserter(queue_));
    held_.clear();
  }

  ssize_t write_some() {
    iovec parts[kWriteParts];
    int count = 0;
    std::size_t skip = offset_;
    for (const Item& item : queue_) {
      for (const std::string_view bytes :
           {std::string_view(item.message.head), item.message.tail.view()}) {
        const std::string_view rest = bytes.substr(std::min(skip, bytes.size()));
        skip -= bytes.size() - rest.size();
        if (rest.empty()) continue;
        if (count == kWriteParts) return out_->write(parts, count);
        parts[count++] = {const_cast<char*>(rest.data()), rest.size()};
      }
      if (item.is_last) break;
    }
    return out_->write(parts, count);
  }

  void forget(std::size_t wrote) {
    wrote_ += wrote;
    queued_ -= wrote;
    wrote += std::exchange(offset_, 0);
    while (!queue_.empty() && wrote >= queue_.front().message.size()) {
      wrote -= queue_.front().message.size();
      if (queue_.front().is_last) out_ = second_.get();
      queue_.pop_front();
    }
    offset_ = wrote;
  }

  void wait_writable() {
    waiting_to_write_ = true;
    out_->wait_writable([this] {
      waiting_to_write_ = false;
      flush();
      listener_.on_turn_over();
    });
  }

  void wait_readable() {
    if (waiting_to_read_ || !reading_ || at_end_) return;
    waiting_to_read_ = true;
    in_->wait_readable([this] {
      waiting_to_read_ = false;
      if (!reading_) return;
      read_turn();
      listener_.on_turn_over();
    });
  }

  void read_turn() {
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

  void take(std::string_view bytes) {
    decoder_.feed(bytes);
    while (!given_up_) {
      Result<std::optional<Frame>> frame = decoder_.next();
      if (!frame) {
        refuse(frame.error().text());
      } else if (!*frame) {
        return;
      } else if (is_link_frame((*frame)->kind)) {
        take_link_frame(std::move(**frame));
      } else {
        listener_.on_frame(id_, std::move(**frame));
      }
    }
  }

  // The peer breaks the protocol.
  void refuse(std::string why) {
    give_up();
    tell_end(std::move(why));
  }

  void take_link_frame(Frame frame) {
    if (Result<void> checked = check_link_frame(frame); !checked) {
      return refuse(checked.error().text());
    }
    if (frame.kind == static_cast<std::uint8_t>(LinkFrame::beat)) return;
    if (frame.kind == static_cast<std::uint8_t>(LinkFrame::change)) {
      if (!second_ || in_ == second_.get() || !decoder_.at_boundary()) {
        return refuse("it changes to a stream that was not agreed");
      }
      in_ = second_.get();
      watch_first();
      if (!leads_) say_change();
    }
    listener_.on_link_frame(id_, std::move(frame));
  }

  // Watches the first stream for its end only, once everything comes over the second.
  void watch_first() {
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

  void first_at_end() {
    // To a child this end says that the parent is gone. A parent still reads the second stream to
    // its end.
    if (leads_ && !at_end_) at_end("the connection that it was started over ended");
    first_->wait_closed([this] {
      first_closed_ = true;
      closed_if();
    });
  }

  void at_end(std::string why) {
    at_end_ = true;
    if (why.empty() && !given_up_ && !decoder_.at_boundary()) why = "it ended inside a message";
    tell_end(std::move(why));
    if (in_ == first_.get()) {
      if (second_) second_->close();
      return first_->wait_closed([this] {
        first_closed_ = true;
        closed_if();
      });
    }
    // A process that still holds the other end of the first stream learns that this end has gone.
    break_off();
    second_->close();
    first_->end_writing();
    if (first_closed_) closed_if();
  }

  void tell_end(std::string why) {
    decoder_ = {};
    if (!std::exchange(told_end_, true)) listener_.on_ended(id_, std::move(why));
  }

  void closed_if() {
    if (!first_closed_ || !at_end_) return;
    break_off();
    close();
    listener_.on_closed(id_);
    listener_.on_turn_over();
  }

  std::unique_ptr<Transport> first_;   // none before attach()
  std::unique_ptr<Transport> second_;  // none before change_to()
  Transport* in_ = nullptr;            // one of them: source of frames
  Transport* out_ = nullptr;           // one of them: destination of frames
  ReadBuffer& buffer_;
  LinkId id_;
  LinkListener& listener_;
  FrameDecoder decoder_;
  std::deque<Item> queue_;
  std::deque<Item> held_;   // until the link has changed
  std::size_t offset_ = 0;  // written bytes of the queue's front
  std::size_t queued_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t heard_ = 0;  // of the streams, all kinds of bytes
  std::uint64_t wrote_ = 0;
  bool was_deaf_ = false;
  bool reading_ = true;
  bool waiting_to_read_ = false;
  bool waiting_to_write_ = false;
  bool holding_ = false;
  bool leads_ = false;     // changes first
  bool broken_ = false;    // nothing can be written any more
  bool given_up_ = false;  // nothing is to be written or read
  bool told_end_ = false;
  bool at_end_ = false;  // of the peer's data
  bool first_closed_ = false;
};

}  // namespace

std::unique_ptr<Link> make_stream_link(ReadBuffer& buffer, LinkId id, LinkListener& listener) {
  return std::make_unique<StreamLink>(buffer, id, listener);
}

}  // namespace scela::nla
