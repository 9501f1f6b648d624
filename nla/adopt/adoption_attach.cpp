// The adopter's process on the orphan's node: scela-nla --attach.

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "nla/adopt/adoption.h"
#include "nla/adopt/adoption_proof.h"
#include "nla/core/wire/link_frames.h"
#include "nla/guard/agent_mark.h"
#include "nla/keys/node_keys.h"

namespace scela::nla {

namespace {

using namespace adoption;

constexpr int kNobody = 1;              // exit status: not found, or no proof
constexpr int kTryAgainMs = 20;         // orphan may be later than the adopter
constexpr std::uint64_t kBeatMs = 500;  // the adopter takes silence for death

volatile sig_atomic_t told_to_end = 0;

std::uint64_t now_ms() {
  return monotonic_ns() / 1'000'000;
}

class Attached {
 public:
  explicit Attached(const Attachment& request) : request_(request) {}

  int run() {
    const std::uint64_t until = now_ms() + request_.wait_ms;
    if (!learn(until)) return kNobody;
    while (!knock() || !greet()) {
      if (!there_ || !is_directory_locked(request_.directory) || adopter_gone() ||
          told_to_end != 0 || now_ms() >= until) {
        return kNobody;
      }
      beat();
      ::poll(nullptr, 0, kTryAgainMs);
    }
    agent_ = peer_of(socket_.get());
    if (agent_ == 0 || !prove()) return kNobody;
    stay();
    return 0;
  }

 private:
  // Reads the stream's first frame and not a byte more, since the following bytes are for the
  // orphan.
  bool learn(std::uint64_t until) {
    std::string bytes;
    std::size_t wanted = kFrameHeader;
    FrameDecoder decoder;
    while (bytes.size() < wanted) {
      pollfd asked{request_.in, POLLIN, 0};
      const std::uint64_t now = now_ms();
      if (now >= until || ::poll(&asked, 1, static_cast<int>(until - now)) <= 0) return false;
      char buffer[256];
      const std::size_t most = std::min(wanted - bytes.size(), sizeof buffer);
      const ssize_t got = retry([&] { return ::read(request_.in, buffer, most); });
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) return false;
      bytes.append(buffer, static_cast<std::size_t>(got));
      if (bytes.size() == kFrameHeader && wanted == kFrameHeader) {
        ByteReader header(bytes);
        header.u8();
        header.u8();
        header.u16();
        wanted += header.u32();
        if (wanted > sizeof buffer) return false;
      }
    }
    decoder.feed(bytes);
    auto frame = decoder.next();
    if (!frame || !*frame || (*frame)->kind != static_cast<std::uint8_t>(LinkFrame::introduce)) {
      return false;
    }
    Result<Introduction> words = decode_introduction(**frame);
    if (!words) return false;
    const AgentMarks marks(std::move(words->common));
    show_mark(request_.mark_room, marks.mark_of(::getpid()));
    const Result<NodeKeys> keys = NodeKeys::decode(words->keys);
    if (!keys) return false;
    talk_.key = keys->of(words->child);
    talk_.job_id = request_.job_id;
    root_ = words->root;
    return true;
  }

  // Sets there_ if the directory is there. An agent that has died together with its guardian leaves
  // a directory, but holds it no more.
  bool knock() {
    SocketName name;
    there_ = name_socket(request_.directory, name);
    if (!there_) return false;
    socket_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket_) return false;
    const timeval limit{kAnswerMs / 1000, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.path.copy(address.sun_path, sizeof address.sun_path - 1);
    return ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
           0;
  }

  // Returns false if the orphan does not answer. An orphan that was adopted a moment ago closes its
  // listener on all waiting connections; it opens the listener again if that adopter is lost.
  bool greet() {
    std::vector<Fd> descriptors;
    talk_.attached = new_nonce();
    return send_record(socket_.get(), talk_.attached) &&
           receive_record(socket_.get(), greeting_, descriptors);
  }

  bool prove() {
    if (greeting_.size() != kNonce + kProof) return false;
    talk_.orphan = greeting_.substr(0, kNonce);
    if (!same(std::string_view(greeting_).substr(kNonce), proof(talk_, "orphan"))) return false;
    std::string said;
    std::vector<Fd> descriptors;
    std::string answer = proof(talk_, "adopter");
    answer += static_cast<char>((request_.remote ? kRemote : 0) | (root_ ? kRoot : 0));
    const char* ssh = std::getenv("SSH_CONNECTION");
    if (ssh != nullptr) answer += std::string_view(ssh).substr(0, 256);
    std::vector<int> stream = {request_.in};
    if (request_.out >= 0) stream.push_back(request_.out);
    if (!send_record(socket_.get(), answer, stream) ||
        !receive_record(socket_.get(), said, descriptors)) {
      return false;
    }
    ByteReader in(said);
    linger_ms_ = in.u32();
    if (!descriptors.empty()) guardian_socket_ = std::move(descriptors.front());
    return in.done();
  }

  // Waits until nothing is left of the orphan here, or the orphan has another parent.
  void stay() {
    std::uint64_t kill_at = UINT64_MAX;
    bool agent_gone = false;
    for (;;) {
      pollfd asked[3] = {{agent_gone ? -1 : socket_.get(), POLLIN, 0},
                         {guardian_socket_.get(), 0, 0},
                         {kill_at == UINT64_MAX ? request_.in : -1, POLLRDHUP, 0}};
      const std::uint64_t now = now_ms();
      const bool waits = kill_at != UINT64_MAX && !agent_gone;
      const int most =
          waits
              ? static_cast<int>(std::min<std::uint64_t>(kill_at > now ? kill_at - now : 0, 60'000))
              : -1;
      ::poll(asked, 3, most);
      // A stuck agent is left to its guardian, which sees to it that nothing stays.
      if (!agent_gone && (std::exchange(told_to_end, 0) != 0 || now_ms() >= kill_at)) {
        ::kill(agent_, SIGKILL);
      }
      if (asked[2].revents != 0) kill_at = now_ms() + linger_ms_;
      if (!agent_gone && asked[0].revents != 0) {
        agent_gone = true;
        end_writing();
        // The adopter is lost, and the next adopter has its own process here.
        if (adopter_gone()) return;
      }
      if (guardian_socket_ ? (asked[1].revents & (POLLHUP | POLLERR)) != 0 : agent_gone) break;
    }
    static_cast<void>(remove_tree(request_.directory));
  }

  void end_writing() const {
    if (request_.out >= 0) {
      ::close(request_.out);
    } else {
      ::shutdown(request_.in, SHUT_WR);
    }
  }

  bool adopter_gone() const {
    pollfd asked{request_.in, POLLRDHUP, 0};
    return ::poll(&asked, 1, 0) > 0;
  }

  void beat() {
    if (now_ms() < beat_at_) return;
    beat_at_ = now_ms() + kBeatMs;
    const std::string frame = link_frame(LinkFrame::beat);
    static_cast<void>(
        !::write(request_.out >= 0 ? request_.out : request_.in, frame.data(), frame.size()));
  }

  const Attachment& request_;
  Talk talk_;
  std::string greeting_;
  Fd socket_;
  Fd guardian_socket_;
  pid_t agent_ = 0;
  bool root_ = false;
  bool there_ = false;
  std::uint32_t linger_ms_ = 0;
  std::uint64_t beat_at_ = 0;
};

}  // namespace

std::string node_directory(const std::string& base, std::string_view job_id,
                           std::string_view node) {
  return private_directory_path(base.empty() ? temporary_base() : base,
                                cat("scela-", ::getuid(), "-", job_id, "-", node));
}

std::vector<std::string> attach_words(const std::string& job_id, const std::string& base,
                                      std::uint32_t wait_ms) {
  std::vector<std::string> words = {"--attach", "--job", job_id, "--wait", cat(wait_ms)};
  if (!base.empty()) words.insert(words.end(), {"--directory", base});
  return words;
}

int run_attached(const Attachment& request) {
  struct sigaction end {};
  end.sa_handler = [](int) { told_to_end = 1; };
  ::sigaction(SIGTERM, &end, nullptr);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  return Attached(request).run();
}

}  // namespace scela::nla
