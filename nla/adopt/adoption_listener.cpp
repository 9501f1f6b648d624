// The orphan's side of an adoption.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "common/os/alarm.h"
#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "nla/adopt/adoption.h"
#include "nla/adopt/adoption_proof.h"

namespace scela::nla {

namespace {

using namespace adoption;
using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Pause after a connection could not be accepted, for want of a descriptor, say. Smaller: an agent
// that is busy enough without it is awake for nothing; larger: an adopter waits for longer than it
// must.
constexpr std::chrono::milliseconds kPause{100};

class Listener final : public AdoptionListener {
 public:
  Listener(boost::asio::io_context& io, AdoptionFacts facts, const Fd& guardian_socket,
           std::function<void(Adopter)> adopted)
      : facts_(std::move(facts)),
        guardian_socket_(guardian_socket),
        adopted_(std::move(adopted)),
        listening_(io),
        visitor_(io),
        timer_(io) {}
  ~Listener() override {
    if (!name_.path.empty()) ::unlink(name_.path.c_str());
  }

  Result<void> open() {
    const auto refused = [&](const char* what) {
      const int number = errno;
      return fail(os_error(ErrorKind::launch, cat(what, " in '", facts_.directory, "'"), number));
    };
    SocketName name;
    if (!name_socket(facts_.directory, name)) return refused("find a place for a socket");
    ::unlink(name.path.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.path.copy(address.sun_path, sizeof address.sun_path - 1);
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // The directory is closed to others; the mode of the socket repeats it.
    if (!socket || ::fchmod(socket.get(), 0600) != 0 ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket.get(), 8) != 0) {
      return refused("listen for another parent");
    }
    name_ = std::move(name);
    listening_.assign(socket.release());
    wait();
    return {};
  }

 private:
  void wait() {
    listening_.async_wait(Descriptor::wait_read, [this](const error_code& error) {
      if (!error) take();
    });
  }

  void take() {
    Fd visitor(
        ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!visitor) return pause();  // the visitor's connection stays queued
    if (peer_of(visitor.get()) == 0) return wait();
    talk_ = Talk{facts_.key, facts_.job_id, {}, {}};
    visitor_.assign(visitor.release());
    listen();
  }

  void pause() {
    timer_.set(kPause, [this] { wait(); });
  }

  // A visitor's record and the end of its time may be due in the same moment. If the time comes
  // first, the handler that waits for the record is queued already and cannot be taken back. It
  // must not take the next visitor's record for that of its own.
  void listen() {
    const std::uint64_t turn = ++turn_;
    timer_.set(std::chrono::milliseconds(facts_.answer_ms), [this] { drop(); });
    visitor_.async_wait(Descriptor::wait_read, [this, turn](const error_code& error) {
      if (!error && turn == turn_) hear();
    });
  }

  void drop() {
    ++turn_;
    timer_.cancel();
    error_code ignored;
    visitor_.close(ignored);
    wait();
  }

  void hear() {
    ++turn_;
    std::string said;
    std::vector<Fd> descriptors;
    if (!receive_record(visitor_.native_handle(), said, descriptors)) return drop();
    if (talk_.attached.empty()) {
      if (said.size() != kNonce || !descriptors.empty()) return drop();
      talk_.attached = std::move(said);
      talk_.orphan = new_nonce();
      if (!send_record(visitor_.native_handle(), talk_.orphan + proof(talk_, "orphan"))) {
        return drop();
      }
      return listen();
    }
    if (descriptors.empty() || said.size() <= kProof ||
        !same(std::string_view(said).substr(0, kProof), proof(talk_, "adopter"))) {
      return drop();
    }
    come_in(said.substr(kProof), std::move(descriptors));
  }

  void come_in(const std::string& said, std::vector<Fd> descriptors) {
    ByteWriter answer;
    answer.u32(facts_.linger_ms);
    const std::vector<int> lent =
        guardian_socket_ ? std::vector<int>{guardian_socket_.get()} : std::vector<int>{};
    if (!send_record(visitor_.native_handle(), answer.bytes(), lent)) return drop();
    timer_.cancel();
    Adopter adopter;
    const auto flags = static_cast<std::uint8_t>(said[0]);
    adopter.remote = (flags & kRemote) != 0;
    adopter.root = (flags & kRoot) != 0;
    adopter.ssh = said.substr(1);
    adopter.in = std::move(descriptors[0]);
    if (descriptors.size() > 1) adopter.out = std::move(descriptors[1]);
    adopter.line.reset(visitor_.release());
    error_code ignored;
    listening_.close(ignored);
    // The callback may destroy this object.
    const auto adopted = std::move(adopted_);
    adopted(std::move(adopter));
  }

  const AdoptionFacts facts_;
  const Fd& guardian_socket_;
  std::function<void(Adopter)> adopted_;
  Descriptor listening_;
  Descriptor visitor_;
  Alarm timer_;
  SocketName name_;
  Talk talk_;
  std::uint64_t turn_ = 0;
};

}  // namespace

Result<std::unique_ptr<AdoptionListener>> open_adoption_listener(
    boost::asio::io_context& io, AdoptionFacts facts, const Fd& guardian_socket,
    std::function<void(Adopter)> adopted) {
  auto listener =
      std::make_unique<Listener>(io, std::move(facts), guardian_socket, std::move(adopted));
  if (Result<void> opened = listener->open(); !opened) return fail(opened.error());
  return std::unique_ptr<AdoptionListener>(std::move(listener));
}

}  // namespace scela::nla
