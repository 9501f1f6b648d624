// The connection of one process to the engine: its owner, its questions and the answers. Server has
// one for each connection, on the engine's thread.
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

struct Peer {
  pid_t pid = 0;
  uid_t user = 0;
};

class Connection {
 public:
  explicit Connection(Fd socket) : socket_(std::move(socket)) {}

  // Returns the process that connected, or std::nullopt if the kernel does not say.
  std::optional<Peer> peer() const;

  // `nothing`: no message is there now. `ask`: a question (hca/core/wire/messages.h). `status`,
  // `status_json`: a StatusAsk. `join`: a description of the job. `nonsense`: no message of this
  // protocol, or of another version. `end`: the process has closed its end.
  enum class Came : std::uint8_t { nothing, ask, status, status_json, join, nonsense, end };
  // A descriptor that came with a question. Only reg_pool hands one over. With any other question a
  // descriptor is nonsense, and so are several.
  struct Handed {
    Fd file;
    bool lost = false;  // lost: this process may hold no more
  };
  // Takes one message. `ask` and `handed` are set if it is a question. `record` receives the
  // description of the job if the process has sent one.
  Came receive(Ask& ask, std::string& record, Handed& handed) const;

  // Returns false if the answer cannot be sent, now or ever.
  bool answer(const Answer& answer, std::span<const int> descriptors) const;
  // Sends a text of any length, in a file of its own.
  bool answer(const std::string& text) const;

  int descriptor() const { return socket_.get(); }

 private:
  // Says what the first `got` bytes of `words` are, and copies them to `ask` or `record`. It wipes
  // a description of the job from `words`.
  static Came understand(std::span<char> words, ssize_t got, Ask& ask, std::string& record);
  // Returns false if the message was not sent whole.
  bool send(std::span<const std::byte> words, std::span<const int> descriptors) const;

  Fd socket_;
};

// The question of `scela-hca --status`. A running engine answers it with a byte and the descriptor
// of a file that holds the text. No Ask has the same length.
struct StatusAsk {
  std::uint64_t magic = kLayoutMagic + 1;
  std::uint64_t is_json = 0;
};

}  // namespace scela::hca
