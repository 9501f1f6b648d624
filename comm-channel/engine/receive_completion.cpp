#include "comm-channel/engine/receive_completion.h"

#include "comm-channel/engine/error_words.h"
#include "common/core/text.h"

namespace scela::channel {

bool ReceiveCompletion::deliver_guarded(Operation& receive, const Envelope& envelope,
                                        std::span<const std::byte> bytes) {
  const std::size_t size = std::min<std::size_t>(bytes.size(), receive.room);
  const bool good = guarded_copy_(receive.to, bytes.data(), size);
  if (good)
    complete(receive, envelope, size);
  else
    receive.finish(error_of(Code::bad_buffer, envelope.source,
                            cat("receive ", envelope.length, " bytes of rank ", envelope.source,
                                ": ", buffer_gone("copy them").text())));
  return good;
}

void ReceiveCompletion::complete_pieces(Operation& receive, const Envelope& envelope) {
  const std::size_t size = std::min<std::size_t>(envelope.length, receive.room);
  if (!receive.pieces->scatter(guarded_copy_, size))
    receive.finish(error_of(Code::bad_buffer, envelope.source,
                            cat("receive ", envelope.length, " bytes of rank ", envelope.source,
                                " into pieces: ", buffer_gone("copy them").text())));
  else if (envelope.length <= receive.room)
    receive.finish();
  else
    truncate(receive, envelope);
}

void ReceiveCompletion::truncate(Operation& receive, const Envelope& envelope) {
  receive.finish(error_of(Code::truncated, envelope.source,
                          cat("receive a message of rank ", envelope.source, " with tag ",
                              envelope.tag, ": it has ", envelope.length, " bytes and the buffer ",
                              receive.room, " (give the receive a larger buffer)")));
}

}  // namespace scela::channel
