// One process's connection: who is at its other end, what it asks, and what it is answered.
//
// Never blocks; whoever does not read its answers loses the connection.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>

#include "common/os/fd.h"
#include "hca/core/joining.h"

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
  // A descriptor that came with an ask which hands one over (reg_pool); with anything else it is
  // nonsense, and so are several.
  struct Handed {
    Fd file;
    bool lost = false;  // it came, and this process may hold no more
  };
  // `record`: what the process says of its job, if that came.
  Came receive(Ask& ask, std::string& record, Handed& handed) const;

  // False: it cannot be sent, now or ever.
  bool answer(const Answer& answer, std::span<const int> descriptors) const;
  // In a file of its own, of any length.
  bool answer(const std::string& text) const;

  int descriptor() const { return socket_.get(); }

 private:
  static Came understand(std::span<char> words, ssize_t got, Ask& ask, std::string& record);
  bool send(std::span<const std::byte> words, std::span<const int> descriptors) const;

  Fd socket_;
};

// What `scela-hca --status` sends to a running one, which answers with a byte and the descriptor of
// a file with the text. No Ask is as long.
struct StatusAsk {
  std::uint64_t magic = kLayoutMagic + 1;
  std::uint64_t is_json = 0;
};

}  // namespace scela::hca
