// One end of a link: frames in, messages out, over a byte stream (decision D3).
//
// What is sent before the stream is attached is kept. Nothing is called back from within a call of
// the link's own functions, except that flush() may find the stream broken (which is told later, by
// the reading side). Never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/core/frame.h"
#include "nla/core/events.h"
#include "nla/core/heartbeat.h"
#include "nla/core/link_frames.h"
#include "nla/core/messages.h"
#include "nla/transport.h"

namespace scela::nla {

// Told about a link's life, from the event loop. A listener must not destroy the link in a call.
// After give_up() no frame is told; on_ended may be.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  virtual void on_frame(LinkId link, Frame frame) = 0;
  // Once: no frame follows. `why` is empty when the stream ended where a message ends.
  virtual void on_ended(LinkId link, std::string why) = 0;
  // Once, after on_ended: nobody holds the other end any more.
  virtual void on_closed(LinkId link) = 0;
  // A turn of reading or writing is over: time to act on the frames, then to flush(), and to look
  // at queued_bytes() again.
  virtual void on_turn_over() = 0;
  // A frame about the link itself (nla/core/link_frames.h) that is not for the link to answer.
  virtual void on_link_frame(LinkId link, Frame frame) = 0;
};

class Link {
 public:
  virtual ~Link() = default;

  virtual void attach(std::unique_ptr<Transport> stream) = 0;
  // Before attach(): messages are kept until the link has changed to another stream.
  virtual void hold() = 0;
  // Goes on over another stream, both ways, once what is queued has left and everything that the
  // peer sent over the first was read: no frame is lost, doubled or overtaken. The peer has the
  // other end of it. One of the two leads: the last to be sure that both have one. The first stream
  // stays open; its end is that of the link. The listener is told of the peer's change frame.
  virtual void change_to(std::unique_ptr<Transport> stream, bool leads) = 0;
  virtual void send(Encoded message) = 0;  // queued until flush()
  // A frame about the link itself; not counted as sent.
  virtual void send_link_frame(std::string frame) = 0;
  virtual void flush() = 0;               // writes what the stream takes now, the rest as it can
  virtual void set_reading(bool on) = 0;  // on at first
  // Ends the own direction; what still comes is dropped. on_closed follows when the peer has gone
  // too.
  virtual void give_up() = 0;

  // Before leaving: false while something has not arrived at the peer; on_turn_over() follows.
  virtual bool finish() = 0;

  // Sends that we are alive, unless something waits to be sent.
  virtual void beat() = 0;
  // Since the beginning, but for Seen::deaf: since the last call.
  virtual Heartbeat::Seen activity() = 0;
  // Lets go of the stream by force; nothing is called back any more.
  virtual void abandon() = 0;

  virtual std::size_t queued_bytes() const = 0;     // 0 once the stream is broken
  virtual std::uint64_t sent_bytes() const = 0;     // given to send(), in all
  virtual std::uint64_t carried_bytes() const = 0;  // by the streams, both ways, in all
};

}  // namespace scela::nla
