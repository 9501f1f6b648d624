#include "nla/pmi/rank_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/text.h"
#include "common/os/alarm.h"
#include "common/os/asio.h"
#include "common/os/process/socket_owner.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;
namespace greeting = pmi::greeting;

// Pause after accept() failed for want of descriptors or memory; the connection waits meanwhile.
constexpr std::chrono::milliseconds kRest{100};

struct Visitor {
  explicit Visitor(boost::asio::io_context& io) : socket(io), timer(io) {}
  Descriptor socket;
  Alarm timer;
  std::string said;
  bool ended = false;
  bool awaited = false;  // the loop will report it
};
// Keyed by a number of their own, so that a late event of a visitor that has left finds no visitor.
using Visitors = std::map<std::uint64_t, Visitor>;

class Listener final : public RankListener {
 public:
  Listener(pmi::Dialect dialect, DoorHost host)
      : dialect_(dialect), host_(std::move(host)), listening_(host_.io), rest_(host_.io) {}

  Result<void> listen() {
    const auto refused = [] {
      return fail(os_error(ErrorKind::launch, "open a port for the ranks of this node", errno));
    };
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      return refused();
    }
    port_ = ntohs(address.sin_port);
    listening_.assign(socket.release());
    wait();
    return {};
  }

  std::uint16_t port() const override { return port_; }

  void settle() override {
    accept_all();
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, visitor] : visitors_)
      numbers.push_back(number);
    for (const std::uint64_t number : numbers) {
      if (visitors_.contains(number)) hear(number);
    }
  }

  void add(const RankSet& more, Rank size) override {
    host_.own.add(more);
    host_.size = size;
  }

  const greeting::Abort* claim(Rank rank) const override {
    const auto at = claims_.find(rank);
    return at == claims_.end() ? nullptr : &at->second;
  }

 private:
  void wait() {
    if (visitors_.size() >= kMaxVisitors || std::exchange(waiting_, true)) return;
    listening_.async_wait(Descriptor::wait_read, [this](const error_code& error) {
      if (error) return;
      waiting_ = false;
      accept_all();
    });
  }

  void accept_all() {
    // If the set is full, a visitor that leaves makes room for the next. Each call accepts a
    // bounded number: clients that connect without end must not keep the agent from everything
    // else.
    for (std::size_t heard = 0; visitors_.size() < kMaxVisitors; ++heard) {
      if (heard == kMaxVisitors) return wait();
      const int fd =
          ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN) return wait();
        return rest_a_while();
      }
      welcome(Fd(fd));
    }
  }

  void rest_a_while() {
    rest_.set(kRest, [this] { wait(); });
  }

  void welcome(Fd socket) {
    const std::optional<SocketOwner> owner = peer_owner(socket.get());
    if (!owner) return;  // of another network namespace, or gone
    if (owner->inode != 0 && owner->user != ::geteuid()) {
      return warn(cat("of user ", owner->user));
    }
    const std::uint64_t number = next_++;
    Visitor& visitor = visitors_.try_emplace(number, host_.io).first->second;
    visitor.socket.assign(socket.release());
    visitor.timer.set(host_.limit, [this, number] { give_up(number); });
    hear(number);
  }

  void await(std::uint64_t number, Visitor& visitor) {
    if (std::exchange(visitor.awaited, true)) return;
    visitor.socket.async_wait(Descriptor::wait_read, [this, number](const error_code& error) {
      if (error) return;
      if (const auto at = visitors_.find(number); at != visitors_.end()) {
        at->second.awaited = false;
        hear(number);
      }
    });
  }

  void hear(std::uint64_t number) {
    Visitor& visitor = visitors_.at(number);
    char bytes[pmi::kMaxGreeting];
    const ssize_t got = retry([&] {
      return ::recv(visitor.socket.native_handle(), bytes, sizeof bytes - visitor.said.size(),
                    MSG_DONTWAIT);
    });
    if (got < 0 && errno == EAGAIN) return await(number, visitor);
    if (got <= 0) {
      visitor.ended = true;
    } else {
      visitor.said.append(bytes, static_cast<std::size_t>(got));
    }
    consider(number, visitor);
  }

  // The time of a visitor is over, and its words so far are all. A visitor without a whole greeting
  // is dropped without a report.
  void give_up(std::uint64_t number) {
    const auto at = visitors_.find(number);
    if (at == visitors_.end()) return;
    const auto meant = read(at->second, true);
    if (!meant || std::holds_alternative<greeting::Malformed>(*meant)) {
      visitors_.erase(at);
      return wait();
    }
    at->second.ended = true;
    consider(number, at->second);
  }

  std::optional<pmi::Greeting> read(const Visitor& visitor, bool ended) const {
    return pmi::read_greeting(dialect_, visitor.said, ended, host_.size,
                              [this](Rank rank) { return checked_in_.contains(rank); });
  }

  // Returns true if the visitor has named a rank that it is not, though its greeting is not
  // complete. The rest need not be read then.
  bool pretends(Visitor& visitor) const {
    const auto who = greeting::speaker(dialect_, visitor.said, visitor.ended, host_.size);
    const Rank* rank = who ? std::get_if<Rank>(&*who) : nullptr;
    if (rank == nullptr) return false;
    const auto owner = peer_owner(visitor.socket.native_handle());
    return owner && owner->inode != 0 && !speaks_for(*rank, *owner);
  }

  void consider(std::uint64_t number, Visitor& visitor) {
    // No greeting is longer than this.
    if (visitor.said.size() == pmi::kMaxGreeting) visitor.ended = true;
    const auto meant = read(visitor, visitor.ended);
    if (!meant && !pretends(visitor)) return await(number, visitor);
    Fd socket(visitor.socket.release());
    const std::string said = std::move(visitor.said);
    visitors_.erase(number);
    judge(std::move(socket), said, meant);
    wait();
  }

  // Closes the connection unless it is a rank that checks in.
  void judge(Fd socket, std::string_view said, const std::optional<pmi::Greeting>& understood) {
    const std::optional<SocketOwner> owner = peer_owner(socket.get());
    const pmi::Greeting meant = understood.value_or(greeting::Malformed{"spoke for another rank"});
    if (!owner || owner->inode == 0) {
      // The process has gone, and it cannot be identified any more.
      const auto* abort = std::get_if<greeting::Abort>(&meant);
      if (abort != nullptr && host_.own.contains(abort->rank)) {
        claims_.insert_or_assign(abort->rank, *abort);
        host_.claimed(abort->rank);
      }
      return;
    }
    if (owner->user != ::geteuid()) return warn(cat("of user ", owner->user));
    if (const auto* malformed = std::get_if<greeting::Malformed>(&meant)) {
      return expose(*owner, malformed->why);
    }
    if (const auto* abort = std::get_if<greeting::Abort>(&meant)) {
      if (!speaks_for(abort->rank, *owner)) {
        return expose(*owner, cat("aborted in the name of rank ", abort->rank));
      }
      return host_.abort(abort->rank, abort->code, abort->message);
    }
    const auto* hello = std::get_if<greeting::Hello>(&meant);
    const Rank rank =
        hello != nullptr ? hello->rank : std::get<greeting::RepeatedHello>(meant).rank;
    if (!speaks_for(rank, *owner)) return expose(*owner, cat("checked in as rank ", rank));
    if (hello == nullptr) return host_.violation(rank, "checked in a second time");
    checked_in_.add(RankSet::single(rank));
    const int on = 1;
    // Answers are small, and the rank waits for them.
    static_cast<void>(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    host_.check_in(rank, std::move(socket), std::string(said.substr(hello->used)));
  }

  bool speaks_for(Rank rank, const SocketOwner& owner) const {
    if (!host_.own.contains(rank)) return false;
    const pid_t pid = host_.process(rank);
    return pid != 0 && holds_socket(pid, owner.inode);
  }

  // The process is not the one it claims to be. If it is a rank of this job, it breaks the
  // protocol. Any other process is no concern of the job, and is only warned of.
  void expose(const SocketOwner& owner, const std::string& why) {
    std::optional<Rank> culprit;
    host_.own.for_each([&](Rank rank) {
      if (!culprit && speaks_for(rank, owner)) culprit = rank;
    });
    if (culprit) return host_.violation(*culprit, why);
    warn("of a process that is not of this job");
  }

  void warn(std::string_view whose) {
    if (std::exchange(warned_, true)) return;
    host_.warn(cat("a connection ", whose, " to the port of this node's ranks (127.0.0.1:", port_,
                   ") was refused; more like it are not told"));
  }

  const pmi::Dialect dialect_;
  DoorHost host_;
  Descriptor listening_;
  Alarm rest_;
  std::uint16_t port_ = 0;
  bool waiting_ = false;
  bool warned_ = false;
  Visitors visitors_;
  std::uint64_t next_ = 0;
  RankSet checked_in_;
  std::map<Rank, greeting::Abort> claims_;
};

}  // namespace

Result<std::unique_ptr<RankListener>> RankListener::open(pmi::Dialect dialect, DoorHost host) {
  auto listener = std::make_unique<Listener>(dialect, std::move(host));
  if (Result<void> listens = listener->listen(); !listens) return fail(listens.error());
  return std::unique_ptr<RankListener>(std::move(listener));
}

}  // namespace scela::nla
