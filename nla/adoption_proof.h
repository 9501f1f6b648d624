// What the two ends of an adoption say to each other, one record of the socket each:
//
//   attached -> orphan   nonce
//   orphan -> attached   nonce, proof("orphan")
//   attached -> orphan   proof("adopter"), flags:u8, SSH_CONNECTION, with the stream's descriptors
//   orphan -> attached   linger_ms:u32, with its end of the leash
//
// Private to adoption*.cpp.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/os/fd.h"

namespace scela::nla::adoption {

inline constexpr std::size_t kNonce = 32;
inline constexpr std::size_t kProof = 32;
inline constexpr std::uint8_t kRemote = 1;
inline constexpr std::uint8_t kRoot = 2;
inline constexpr char kSocket[] = "adopt";

struct Talk {
  std::string key;
  std::string job_id;
  std::string attached;  // nonces
  std::string orphan;
};

std::string new_nonce();
std::string proof(const Talk& talk, std::string_view side);
bool same(std::string_view one, std::string_view other);  // in constant time

bool send_record(int socket, std::string_view bytes, const std::vector<int>& descriptors = {});
// False: nothing, the end, or too long. Descriptors beyond two are closed.
bool receive_record(int socket, std::string& bytes, std::vector<Fd>& descriptors);
// The peer's process if it is this user's, else 0.
pid_t peer_of(int socket);

// A name for a socket in a directory that is as long as it may be.
struct SocketName {
  Fd directory;
  std::string path;
};
// errno says why there is none; it must be this user's alone.
bool name_socket(const std::string& directory, SocketName& out);

}  // namespace scela::nla::adoption
