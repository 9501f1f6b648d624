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

  std::optional<Peer> peer() const;

  enum class Came : std::uint8_t { nothing, ask, status, status_json, join, nonsense, end };
  // A descriptor that came with a question. Only reg_pool hands one over. With any other question a
  // descriptor is nonsense, and so are several.
  struct Handed {
    Fd file;
    bool lost = false;  // lost: this process may hold no more
  };
  // `record` receives the description of the job if the process has sent one.
  Came receive(Ask& ask, std::string& record, Handed& handed) const;

  // Returns false if the answer cannot be sent, now or ever.
  bool answer(const Answer& answer, std::span<const int> descriptors) const;
  // Sends a text of any length, in a file of its own.
  bool answer(const std::string& text) const;

  int descriptor() const { return socket_.get(); }

 private:
  static Came understand(std::span<char> words, ssize_t got, Ask& ask, std::string& record);
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
