// One end of a link between two agents: frames in, messages out, over a byte stream (decision D3).
// The shell uses it, in the thread of its loop.
//
// Messages that are sent before the stream is attached are kept. The listener is never called from
// within a call of the link's functions. flush() may find the stream broken; the reading side
// reports this later. Never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/core/frame.h"
#include "nla/core/tree/events.h"
#include "nla/core/tree/heartbeat.h"
#include "nla/core/wire/link_frames.h"
#include "nla/core/wire/messages.h"
#include "nla/io/transport.h"

namespace scela::nla {

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
  virtual ~Link() = default;

  // Begins to use the stream. To be called once.
  virtual void attach(std::unique_ptr<Transport> stream) = 0;
  // To be called before attach(). Messages are kept until the link has changed to another stream.
  virtual void hold() = 0;
  // Continues over another stream, both ways. Each direction changes once the queued messages have
  // left, or everything that the peer sent over the first stream was read. No frame is lost,
  // doubled or overtaken.
  //
  // The peer must have the other end of `stream`. One of the two leads: the end that is the last to
  // be sure that both have one. The first stream stays open, and its end is the end of the link.
  // The listener is told of the peer's change frame.
  virtual void change_to(std::unique_ptr<Transport> stream, bool leads) = 0;
  virtual void send(Encoded message) = 0;  // queued until flush()
  // Queues a frame about the link itself; it is not counted in sent_bytes().
  virtual void send_link_frame(std::string frame) = 0;
  virtual void flush() = 0;               // writes now, and later what is left
  virtual void set_reading(bool on) = 0;  // on at first
  // Ends the own direction; everything that still comes is dropped. on_closed follows when the peer
  // has closed too.
  virtual void give_up() = 0;

  // To be called before leaving. Returns false while something has not arrived at the peer;
  // on_turn_over() follows.
  virtual bool finish() = 0;

  // Sends a sign of life, unless something waits to be sent.
  virtual void beat() = 0;
  // Returns totals since the beginning. Only Seen::deaf is about the time since the last call.
  virtual Heartbeat::Seen activity() = 0;
  // Closes the stream by force. The listener is not called any more.
  virtual void abandon() = 0;

  virtual std::size_t queued_bytes() const = 0;     // 0 once the stream is broken
  virtual std::uint64_t sent_bytes() const = 0;     // given to send(), in all
  virtual std::uint64_t carried_bytes() const = 0;  // by the streams, both ways, in all
};

}  // namespace scela::nla
