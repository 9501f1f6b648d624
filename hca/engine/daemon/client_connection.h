// The connection of one process to the engine: its owner, its requests
// (hca/core/wire/engine_messages.h calls them Ask) and the answers. Server has one for each
// connection, on the engine's thread.
//
// No function blocks. A process that does not read its answers loses the connection.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>

#include "common/os/fd.h"
#include "hca/core/wire/joining.h"

namespace scela::hca {

// The process at the other end, as the kernel reports it.
struct Peer {
  pid_t pid = 0;
  uid_t user = 0;
};

// A connected socket of datagrams.
class Connection {
 public:
  explicit Connection(Fd socket) : socket_(std::move(socket)) {}

  // Returns the process that connected, or std::nullopt if the kernel does not say.
  std::optional<Peer> peer() const;

  // The kind of a message that has come. `nothing`: no message is there now. `ask`: an Ask
  // (hca/core/wire/engine_messages.h). `status`, `status_json`: a StatusAsk, for tables or for
  // JSON. `join`: a description of the job (hca/core/wire/joining.h). `nonsense`: no message of
  // this protocol, or of another version. `end`: the process has closed its end.
  enum class MessageKind : std::uint8_t { nothing, ask, status, status_json, join, nonsense, end };
  // The descriptor that came with a request. Only reg_pool hands one over. With any other request a
  // descriptor is nonsense, and so are several.
  struct Handed {
    Fd file;
    // A descriptor was sent, but this process may have no more.
    bool lost = false;
  };
  // Receives one message and returns its kind. If it is an Ask, it is copied to `ask`, and its
  // descriptor goes to `handed`. If it is a description of the job, that text goes to `record`. It
  // contains a key, and the caller must wipe it.
  MessageKind receive(Ask& ask, std::string& record, Handed& handed) const;

  // Sends an answer with copies of these descriptors. Returns false if it cannot be sent, now or
  // ever.
  bool answer(const Answer& answer, std::span<const int> descriptors) const;
  // Answers a StatusAsk with a text of any length, which is sent as the descriptor of a memory
  // file. Returns false if it cannot be sent.
  bool answer(const std::string& text) const;

  int descriptor() const { return socket_.get(); }

 private:
  // Returns the kind of the message in the first `got` bytes of `words`, and copies it to `ask` or
  // `record`. It wipes a description of the job from `words`.
  static MessageKind understand(std::span<char> words, ssize_t got, Ask& ask, std::string& record);
  // Sends one message. Returns false if it was not sent whole.
  bool send(std::span<const std::byte> words, std::span<const int> descriptors) const;

  Fd socket_;
};

// The request of `scela-hca --status`. A running engine answers it with a byte and the descriptor
// of a file that holds the text. `is_json` is 1 for JSON, 0 for tables. No Ask has the same length.
struct StatusAsk {
  std::uint64_t magic = kLayoutMagic + 1;
  std::uint64_t is_json = 0;
};

}  // namespace scela::hca
