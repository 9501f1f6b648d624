// Two processes connect by the channel's handles and exchange a message each.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "comm-channel/verbs/factory.h"
#include "common/core/text.h"
#include "tests/e2e/hca/verbs_program.h"

namespace exchange_test {

using namespace scela::channel::verbs;
using scela::cat;
using scela::test::Place;

namespace {

constexpr std::size_t kBytes = 4096;

// The addresses that one process sends to the other.
struct PeerAddress {
  Target sender;            // the queue pair that it sends by
  Target receiver;          // it receives by this one; RC: the same
  std::uint32_t queue = 0;  // XRC
};

// An error of either process, which is thrown. REQUIRE works in the parent only.
struct Wrong {
  std::string what;
};
template <class T>
T must(scela::Result<T> result) {
  if (!result) throw Wrong{result.error().text()};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Returns the library of the adapter, unless hardware is to be tried (docs/design/channel.md).
std::string library() {
  return std::getenv("SCELA_CHANNEL_VERBS") == nullptr ? "scela" : "";
}

// `node`: the number of this process's node, of two; the process then names the job itself. -1:
// both processes are on one node.
Device opened(int node) {
  if (node < 0) return must(open_device({.library = library(), .device = {}}));
  const Symbols& symbols = *must(choose_library("scela"));
  if (!needs_job(symbols)) throw Wrong{"somebody has named the job already"};
  JobKey key{};
  key.fill(3);
  must(join_job(symbols, "exchange", key, node, 2));
  return must(open_device_of(symbols, ""));
}

class Side {
 public:
  Side(Mode mode, int socket, int file, int node)
      : mode_(mode),
        socket_(socket),
        device_(opened(node)),
        symbols_(*device_.symbols),
        port_(device_.capability.ports.front()),
        pd_(must(alloc_pd(symbols_, device_.context))),
        cq_(must(create_cq(symbols_, device_.context, 16, {}))) {
    if (mode == Mode::xrc) {
      xrcd_ = must(open_xrcd(device_.context, file));
      srq_ = must(create_xrc_srq(symbols_, pd_, xrcd_, cq_, 8));
      sender_ = must(create_xrc_send_qp(symbols_, pd_, cq_, {.sends = 8}));
      receiver_ = must(create_xrc_recv_qp(symbols_, device_.context, xrcd_));
    } else {
      srq_ = must(create_srq(symbols_, pd_, 8));
      sender_ = must(create_qp(symbols_, pd_, IBV_QPT_RC, cq_, cq_, srq_, {.sends = 8}));
    }
    bytes_ = must(reg_mr(symbols_, pd_, memory_, sizeof memory_, IBV_ACCESS_LOCAL_WRITE));
  }

  void exchange(unsigned char mine, unsigned char theirs) {
    receive();
    const PeerAddress card = connect();
    std::memset(memory_[0], mine, kBytes);
    send(card);
    bool sent = false, came = false;
    while (!sent || !came) {
      ibv_wc done{};
      const int found = ibv_poll_cq(cq_.get(), 1, &done);
      if (found < 0) throw Wrong{"poll"};
      if (found == 0) continue;
      if (done.status != IBV_WC_SUCCESS) throw Wrong{symbols_.ibv_wc_status_str(done.status)};
      (done.opcode == IBV_WC_SEND ? sent : came) = true;
    }
    for (const unsigned char byte : memory_[1]) {
      if (byte != theirs) throw Wrong{"other bytes came"};
    }
    meet();
  }

  // Destroys first the objects that were made first.
  void end_in_the_wrong_order() {
    device_.context.reset();
    pd_.reset();
    xrcd_.reset();
    cq_.reset();
    srq_.reset();
    bytes_.reset();
    meet();  // it can still be written to: the queue pairs are there
  }

 private:
  void receive() {
    ibv_sge where{reinterpret_cast<std::uintptr_t>(memory_[1]), kBytes, bytes_->lkey};
    ibv_recv_wr request{};
    request.sg_list = &where;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_srq_recv(srq_.get(), &request, &bad) != 0) throw Wrong{"post a receive"};
  }

  PeerAddress connect() {
    PeerAddress mine;
    mine.sender = Target{port_.lid, port_.gid, port_.mtu, sender_->qp_num, 17};
    mine.receiver = mine.sender;
    if (mode_ == Mode::xrc) {
      mine.receiver.queue_pair = receiver_->qp_num;
      if (ibv_get_srq_num(srq_.get(), &mine.queue) != 0) throw Wrong{"number of the queue"};
    }
    PeerAddress theirs;
    if (::write(socket_, &mine, sizeof mine) != sizeof mine ||
        ::read(socket_, &theirs, sizeof theirs) != sizeof theirs) {
      throw Wrong{"the other has gone"};
    }
    must(to_init(symbols_, sender_, port_, 0));
    must(to_receive(symbols_, sender_, port_, theirs.receiver, 1));
    must(to_send(symbols_, sender_, 17, 1, {}));
    if (mode_ == Mode::xrc) {
      must(to_init(symbols_, receiver_, port_, IBV_ACCESS_REMOTE_WRITE));
      must(to_receive(symbols_, receiver_, port_, theirs.sender, 1));
    }
    meet();
    return theirs;
  }

  void send(const PeerAddress& theirs) {
    ibv_sge what{reinterpret_cast<std::uintptr_t>(memory_[0]), kBytes, bytes_->lkey};
    ibv_send_wr request{};
    request.sg_list = &what;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    request.qp_type.xrc.remote_srqn = theirs.queue;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(sender_.get(), &request, &bad) != 0) throw Wrong{"post a send"};
  }

  void meet() const {
    char byte = 0;
    if (::write(socket_, &byte, 1) != 1 || ::read(socket_, &byte, 1) != 1)
      throw Wrong{"the other has gone"};
  }

  Mode mode_;
  int socket_;
  Device device_;
  const Symbols& symbols_;
  Port port_;
  Pd pd_;
  Cq cq_;
  Xrcd xrcd_;
  Srq srq_;
  Qp sender_, receiver_;
  Mr bytes_;
  unsigned char memory_[2][kBytes]{};
};

std::string run(Mode mode, int socket, int file, bool other, bool nodes) {
  try {
    Side side(mode, socket, file, nodes ? (other ? 1 : 0) : -1);
    side.exchange(other ? 2 : 1, other ? 1 : 2);
    side.end_in_the_wrong_order();
  } catch (const Wrong& wrong) {
    ::shutdown(socket, SHUT_RDWR);
    return wrong.what;
  }
  return "";
}

void two_processes(Mode mode, bool nodes) {
  const Place place;
  std::string folder;
  if (nodes) {
    // Each node's engine has a place of its own, named after the job.
    char name[] = "/tmp/scela-nodes-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder = name;
    ::unsetenv("SCELA_HCA_SOCKET");
    ::setenv("TMPDIR", name, 1);
  }
  int sockets[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const int file = ::memfd_create("domain", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  // Both are children: a process that has named its job keeps to it.
  pid_t children[2];
  for (int side = 0; side < 2; ++side) {
    children[side] = ::fork();
    REQUIRE(children[side] >= 0);
    if (children[side] > 0) continue;
    ::close(sockets[1 - side]);
    const std::string wrong = run(mode, sockets[side], file, side == 1, nodes);
    if (!wrong.empty()) std::fprintf(stderr, "side %d: %s\n", side, wrong.c_str());
    std::_Exit(wrong.empty() ? 0 : 1);
  }
  ::close(sockets[0]);
  ::close(sockets[1]);
  for (const pid_t child : children) {
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  ::close(file);
  if (nodes) {
    ::unsetenv("TMPDIR");
    // The engines end by themselves, and remove their sockets while this removes the rest.
    CHECK(scela::test::eventually([&] {
      std::error_code error;
      std::filesystem::remove_all(folder, error);
      return !error && !std::filesystem::exists(folder);
    }));
  }
}

}  // namespace

TEST_CASE("channel verbs: two processes exchange messages by RC and shared receive queues") {
  two_processes(Mode::rc, false);
}

TEST_CASE("channel verbs: two processes exchange messages by XRC") {
  two_processes(Mode::xrc, false);
}

TEST_CASE(
    "channel verbs: two processes of two nodes, which they say themselves, exchange messages by "
    "XRC") {
  two_processes(Mode::xrc, true);
}

TEST_CASE("channel verbs: a process opens a target of its domain, and not one of another") {
  const Place place;
  const Device device = must(open_device({.library = library(), .device = {}}));
  const int file = ::memfd_create("domain", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  const Xrcd domain = must(open_xrcd(device.context, file));
  const Xrcd same = must(open_xrcd(device.context, file));
  const Xrcd other = must(open_xrcd(device.context, -1));
  const Qp target = must(create_xrc_recv_qp(*device.symbols, device.context, domain));
  CHECK(open_xrc_recv_qp(*device.symbols, device.context, same, target->qp_num));
  const auto refused = open_xrc_recv_qp(*device.symbols, device.context, other, target->qp_num);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == cat("open an XRC_RECV queue pair on ", device.capability.device,
                                    ", number ", target->qp_num));
  ::close(file);
}

}  // namespace exchange_test
