// One end of a link, the connection between an agent and its parent agent: frames in, messages out,
// over a byte stream (decision D3) of any kind (nla/io/transport.h), which can change to another
// while the link runs. A frame (common/core/frame.h) carries one message of
// nla/core/wire/agent_messages.h, or speaks about the link itself. The shell, the code around an
// agent's core that makes system calls, uses it, in the thread of its loop.
//
// Messages that are sent before the stream is attached are kept. The listener is never called from
// within a call of the link's functions. flush() may find the stream broken; the reading side
// reports this later. Never blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/core/frame.h"
#include "nla/core/tree/events.h"
#include "nla/core/tree/heartbeat.h"
#include "nla/core/wire/agent_messages.h"
#include "nla/core/wire/link_frames.h"
#include "nla/io/transport.h"
#include "nla/link/link_queue.h"

namespace scela::nla {

struct ReadBuffer;

// Is called about a link's events, from the event loop. A listener must not destroy the link in a
// call. After give_up() no frame is reported; on_ended may be.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  // Called for each frame of a message that has come; it is not decoded yet.
  virtual void on_frame(LinkId link, Frame frame) = 0;
  // Called once, when the peer's data are over or the stream broke; no frame follows. `why` is
  // empty if the stream ended at the end of a message.
  virtual void on_ended(LinkId link, std::string why) = 0;
  // Called once, after on_ended: no process holds the other end any more.
  virtual void on_closed(LinkId link) = 0;
  // Called when a turn of reading or writing is over. The listener acts on the frames, calls
  // flush(), and looks at queued_bytes() again.
  virtual void on_turn_over() = 0;
  // Called for a frame about the link itself (nla/core/wire/link_frames.h) that the link does not
  // answer on its own.
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
  // Keeps messages until the link has changed to another stream; frames about the link are not
  // kept. To be called before attach().
  void hold() { queue_.hold(); }
  // Continues over another stream, both ways. Each direction changes once the queued messages have
  // left, or everything that the peer sent over the first stream was read. No frame is lost,
  // doubled or overtaken.
  //
  // The peer must have the other end of `stream`. One of the two leads: the end that is the last to
  // be sure that both have one. The first stream stays open, and its end is the end of the link.
  // The listener gets the peer's change frame.
  void change_to(std::unique_ptr<Transport> stream, bool leads);
  // Queues a message until flush(). It is dropped if the stream is broken or the link was given up.
  void send(Encoded message);
  // Queues a frame about the link itself; it is not counted in sent_bytes().
  void send_link_frame(std::string frame);
  // Writes what is queued now, as far as the stream takes it, and the rest later.
  void flush();
  // Stops reading or goes on. The link reads at first.
  void set_reading(bool on);
  // Ends the own direction; everything that still comes is dropped. on_closed follows when the peer
  // has closed too.
  void give_up();

  // Ends the link if the peer's machine does not answer for the limit (Transport::limit_silence()).
  void limit_silence(std::chrono::milliseconds limit);

  // To be called before the process ends, again after each on_turn_over(). Returns true once all
  // that was sent has arrived at the peer, or the link is broken.
  bool finish();

  // Sends the peer a sign of life, unless something waits to be sent.
  void beat();
  // Returns the bytes that were received and sent since the beginning, for Heartbeat::tick().
  // Seen::deaf is about the time since the last call: the link did not read for some of it.
  Heartbeat::Seen activity();
  // Closes the stream by force. The listener is not called any more.
  void close_now();

  // Returns the number of bytes that are queued; 0 once the stream is broken.
  std::size_t queued_bytes() const { return queue_.bytes(); }
  // Returns the bytes of messages that send() was given in all.
  std::uint64_t sent_bytes() const { return sent_; }
  // Returns the bytes that the streams have carried in both directions.
  std::uint64_t carried_bytes() const { return heard_ + wrote_; }

 private:
  // Drops what is queued and writes nothing any more; the reading side goes on.
  void break_off();
  // Closes both streams.
  void close();
  bool is_open() const { return out_ != nullptr && out_->is_open(); }
  // Continues flush() when the stream has room.
  void wait_writable();
  // Continues read_turn() when bytes have come, unless the link does not read.
  void wait_readable();
  // Reads about kLinkTurn bytes at most and reports their frames.
  void read_turn();
  // Decodes bytes that were read, and reports the frames in them.
  void take(std::string_view bytes);
  // Handles a frame about the link itself, or reports it to the listener. `is_last`: of the bytes
  // that were read with it, none follow.
  void take_link_frame(Frame frame, bool is_last);
  // Gives the link up because the peer has broken the protocol.
  void refuse(std::string why);
  // Watches the first stream for its end only, once everything comes over the second.
  void watch_first();
  // Handles the end of the first stream, which has come although a second one is in use.
  void first_at_end();
  // Handles the end of the peer's data. `why` is the reason, or empty.
  void at_end(std::string why);
  // Calls on_ended(), once.
  void tell_end(std::string why);
  // Waits until no process holds the other end of the first stream.
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
