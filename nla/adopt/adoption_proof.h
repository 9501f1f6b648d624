// The messages between the two ends of an adoption: an orphan is an agent that lost its parent, and
// an attached process speaks for its new parent, the adopter (adoption.h). Each message is one
// record of the socket:
//
//   attached -> orphan   nonce
//   orphan -> attached   nonce, proof("orphan")
//   attached -> orphan   proof("adopter"), flags:u8, SSH_CONNECTION, with the stream's descriptors
//   orphan -> attached   linger_ms:u32, with its end of the guardian's socket
//
// Private to adoption*.cpp. The functions keep no state; whether sending and receiving blocks is up
// to the socket.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/os/fd.h"

namespace scela::nla::adoption {

// Bytes of a nonce and of a proof. kRemote and kRoot are bits of the flags: the adopter is on
// another machine, and it is scela-run. kSocket is the file name of the socket.
inline constexpr std::size_t kNonce = 32;
inline constexpr std::size_t kProof = 32;
inline constexpr std::uint8_t kRemote = 1;
inline constexpr std::uint8_t kRoot = 2;
inline constexpr char kSocket[] = "adopt";

// The values from which both sides compute the proofs.
struct Talk {
  std::string key;  // the key of the node
  std::string job_id;
  std::string attached;  // the nonce of the attached process
  std::string orphan;    // the nonce of the orphan
};

// Returns kNonce random bytes.
std::string new_nonce();
// Returns the HMAC-SHA256 by which a side proves that it knows Talk::key. `side` is the side that
// makes the proof: "orphan" or "adopter".
std::string proof(const Talk& talk, std::string_view side);
// Compares two proofs in constant time. Returns false if one of them has another length.
bool same(std::string_view one, std::string_view other);

// Sends one record with copies of at most two descriptors. Returns false if it was not sent.
bool send_record(int socket, std::string_view bytes, const std::vector<int>& descriptors = {});
// Receives one record into `bytes`, with its descriptors. Returns false if there is no record, the
// peer has closed, or the record is too long. Descriptors beyond two are closed.
bool receive_record(int socket, std::string& bytes, std::vector<Fd>& descriptors);
// Returns the number of the peer's process if it belongs to this user, else 0.
pid_t peer_of(int socket);

// The path of a socket that fits into sockaddr_un, however long the path of the directory is. It is
// valid while `directory` is open.
struct SocketName {
  Fd directory;
  std::string path;
};
// Sets `out` to the path of the socket kSocket in `directory`. The directory must belong to this
// user alone. Returns false, with errno, if there is no such directory.
bool name_socket(const std::string& directory, SocketName& out);

}  // namespace scela::nla::adoption
