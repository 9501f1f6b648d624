// One end of a link between two agents: frames in, messages out, over a byte stream (decision D3)
// of any kind (nla/io/transport.h), which can change to another while the link runs. The shell uses
// it, in the thread of its loop.
//
// Messages that are sent before the stream is attached are kept. The listener is never called from
// within a call of the link's functions. flush() may find the stream broken; the reading side
// reports this later. Never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/core/frame.h"
#include "nla/core/tree/events.h"
#include "nla/core/tree/heartbeat.h"
#include "nla/core/wire/link_frames.h"
#include "nla/core/wire/messages.h"
#include "nla/io/transport.h"
#include "nla/link/link_queue.h"

namespace scela::nla {

struct ReadBuffer;

// Told about a link's life, from the event loop. A listener must not destroy the link in a call.
// After give_up() no frame is reported; on_ended may be.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  virtual void on_frame(LinkId link, Frame frame) = 0;
  // Called once; no frame follows. `why` is empty if the stream ended at the end of a message.
  virtual void on_ended(LinkId link, std::string why) = 0;
  // Called once, after on_ended: no process holds the other end any more.
  virtual void on_closed(LinkId link) = 0;
  // A turn of reading or writing is over. The listener acts on the frames, calls flush(), and looks
  // at queued_bytes() again.
  virtual void on_turn_over() = 0;
  // A frame about the link itself (nla/core/wire/link_frames.h) that the link does not answer on
  // its own.
  virtual void on_link_frame(LinkId link, Frame frame) = 0;
};

class Link {
 public:
  // `buffer` is scratch space shared by everything that reads in this thread; it must outlive the
  // link.
  Link(ReadBuffer& buffer, LinkId id, LinkListener& listener)
      : buffer_(buffer), id_(id), listener_(listener) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Begins to use the stream. To be called once.
  void attach(std::unique_ptr<Transport> stream);
  // To be called before attach(). Messages are kept until the link has changed to another stream.
  void hold() { queue_.hold(); }
  // Continues over another stream, both ways. Each direction changes once the queued messages have
  // left, or everything that the peer sent over the first stream was read. No frame is lost,
  // doubled or overtaken.
  //
  // The peer must have the other end of `stream`. One of the two leads: the end that is the last to
  // be sure that both have one. The first stream stays open, and its end is the end of the link.
  // The listener is told of the peer's change frame.
  void change_to(std::unique_ptr<Transport> stream, bool leads);
  void send(Encoded message);  // queued until flush()
  // Queues a frame about the link itself; it is not counted in sent_bytes().
  void send_link_frame(std::string frame);
  void flush();               // writes now, and later what is left
  void set_reading(bool on);  // on at first
  // Ends the own direction; everything that still comes is dropped. on_closed follows when the peer
  // has closed too.
  void give_up();

  // To be called before leaving. Returns false while something has not arrived at the peer;
  // on_turn_over() follows.
  bool finish();

  // Sends a sign of life, unless something waits to be sent.
  void beat();
  // Returns totals since the beginning. Only Seen::deaf is about the time since the last call.
  Heartbeat::Seen activity();
  // Closes the stream by force. The listener is not called any more.
  void abandon();

  std::size_t queued_bytes() const { return queue_.bytes(); }      // 0 once the stream is broken
  std::uint64_t sent_bytes() const { return sent_; }               // given to send(), in all
  std::uint64_t carried_bytes() const { return heard_ + wrote_; }  // by the streams, both ways

 private:
  // Writes nothing any more; the reading side goes on.
  void break_off();
  void close();
  bool is_open() const { return out_ != nullptr && out_->is_open(); }
  void wait_writable();
  void wait_readable();
  // Reads about kLinkTurn bytes at most and reports their frames.
  void read_turn();
  void take(std::string_view bytes);
  void take_link_frame(Frame frame);
  // The peer breaks the protocol.
  void refuse(std::string why);
  // Watches the first stream for its end only, once everything comes over the second.
  void watch_first();
  void first_at_end();
  // The peer's data are over.
  void at_end(std::string why);
  void tell_end(std::string why);
  void await_first_closed();
  // Reports the link as closed if the peer's data are over and its first stream is closed.
  void closed_if();

  std::unique_ptr<Transport> first_;   // none before attach()
  std::unique_ptr<Transport> second_;  // none before change_to()
  Transport* in_ = nullptr;            // one of them: source of frames
  Transport* out_ = nullptr;           // one of them: destination of frames
  ReadBuffer& buffer_;
  LinkId id_;
  LinkListener& listener_;
  FrameDecoder decoder_;
  LinkQueue queue_;
  std::uint64_t sent_ = 0;
  std::uint64_t heard_ = 0;  // of the streams, all kinds of bytes
  std::uint64_t wrote_ = 0;
  bool was_deaf_ = false;
  bool reading_ = true;
  bool waiting_to_read_ = false;
  bool waiting_to_write_ = false;
  bool leads_ = false;     // changes first
  bool broken_ = false;    // nothing can be written any more
  bool given_up_ = false;  // nothing is to be written or read
  bool told_end_ = false;
  bool at_end_ = false;  // of the peer's data
  bool first_closed_ = false;
};

}  // namespace scela::nla
