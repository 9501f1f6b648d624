#include "nla/adopt/adoption_proof.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "common/crypto/hmac.h"
#include "common/os/random_bytes.h"
#include "common/os/syscall.h"

namespace scela::nla::adoption {

namespace {
constexpr std::size_t kMaxRecord = 1024;
constexpr std::size_t kMaxDescriptors = 2;
}  // namespace

std::string new_nonce() {
  return random_bytes(kNonce);
}

std::string proof(const Talk& talk, std::string_view side) {
  ByteWriter said;
  said.text("scela adoption");
  said.text(side);
  said.text(talk.job_id);
  said.raw(talk.attached);
  said.raw(talk.orphan);
  return hmac_sha256(talk.key, said.take());
}

bool same(std::string_view one, std::string_view other) {
  return one.size() == kProof && other.size() == kProof &&
         ::CRYPTO_memcmp(one.data(), other.data(), kProof) == 0;
}

bool send_record(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t size = sizeof(int) * descriptors.size();
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  const ssize_t sent = retry([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); });
  return sent == static_cast<ssize_t>(bytes.size());
}

bool receive_record(int socket, std::string& bytes, std::vector<Fd>& descriptors) {
  char buffer[kMaxRecord];
  iovec part{buffer, sizeof buffer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = retry([&] { return ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC); });
  if (got >= 0) {  // an empty record may have descriptors
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      int numbers[kMaxDescriptors] = {};
      std::memcpy(numbers, CMSG_DATA(header), sizeof(int) * std::min(count, kMaxDescriptors));
      for (std::size_t i = 0; i < std::min(count, kMaxDescriptors); ++i)
        descriptors.emplace_back(numbers[i]);
    }
  }
  if (got <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return false;
  bytes.assign(buffer, static_cast<std::size_t>(got));
  return true;
}

pid_t peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return 0;
  return peer.uid == ::geteuid() ? peer.pid : 0;
}

bool name_socket(const std::string& directory, SocketName& out) {
  out.directory.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!out.directory) return false;
  struct stat facts {};
  if (::fstat(out.directory.get(), &facts) != 0) return false;
  if (facts.st_uid != ::geteuid() || (facts.st_mode & 077) != 0) {
    errno = EPERM;
    return false;
  }
  out.path = cat("/proc/self/fd/", out.directory.get(), "/", kSocket);
  return true;
}

}  // namespace scela::nla::adoption
