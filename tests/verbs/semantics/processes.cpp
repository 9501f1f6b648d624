// Judges two processes, as users have them. Both open the device, and only addresses pass between
// them by a socket.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"
#include "tests/verbs/semantics/xrc.h"

namespace semantics {
namespace {

// One process's end of the socket between the two.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  void tell(const Address& own) {
    expect(write(fd_, &own, sizeof own) == sizeof own, "the other process is gone");
  }
  Address hear() {
    waiting_for("word of the other process");
    Address theirs;
    expect(recv(fd_, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs,
           "the other process is gone");
    return theirs;
  }
  // Returns when both processes have come here.
  void meet() {
    tell({});
    hear();
  }
  Address swap(const Address& own) {
    tell(own);
    return hear();
  }

 private:
  int fd_;
};

using Role = std::function<void(Line&)>;

std::string outcome(const Role& role, Line& line) {
  try {
    role(line);
    return "";
  } catch (const Failed& failed) {
    return failed.text;
  } catch (const Skipped& skipped) {
    return "skip " + skipped.text;
  }
}

// Runs `second` in a process of its own. If it finds the device at fault, the case fails as if
// `first` had.
void in_two(const Role& first, const Role& second) {
  int talk[2];
  int report[2];
  expect(socketpair(AF_UNIX, SOCK_STREAM, 0, talk) == 0 && pipe(report) == 0, "no socketpair");
  signal(SIGPIPE, SIG_IGN);
  const pid_t child = fork();
  expect(child >= 0, "fork failed");
  if (child == 0) {
    close(talk[0]);
    close(report[0]);
    Line line(talk[1]);
    const std::string text = outcome(second, line);
    _exit(write(report[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  close(talk[1]);
  close(report[1]);
  Line line(talk[0]);
  const std::string own = outcome(first, line);
  close(talk[0]);
  char bytes[512];
  const ssize_t got =
      own.empty() || own == "the other process is gone" ? read(report[0], bytes, sizeof bytes) : 0;
  const std::string theirs(bytes, static_cast<size_t>(got > 0 ? got : 0));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (theirs.starts_with("skip ")) skip(theirs.substr(5));
  if (own.starts_with("skip ")) skip(own.substr(5));
  if (!theirs.empty()) fail("in the second process: " + theirs);
  if (!own.empty()) fail(own);
}

void send_and_receive() {
  in_two(
      [](Line& line) {
        End end;
        end.connect(line.swap(end.address()));
        end.fill(0, 5000, 3);
        line.meet();
        for (uint64_t id = 1; id <= 4; ++id) {
          Request(IBV_WR_SEND, id).piece(end.piece(0, 5000)).post(end);
          expect_completion("a send", end.sent(), id, IBV_WC_SEND);
        }
      },
      [](Line& line) {
        End end;
        end.connect(line.swap(end.address()));
        for (uint64_t id = 1; id <= 4; ++id)
          end.post_receive(id, 8192, 8192);
        line.meet();
        for (uint64_t id = 1; id <= 4; ++id) {
          expect_completion("a receive", end.received(), id, IBV_WC_RECV);
        }
        end.expect_bytes("data", 8192, 5000, 3);
      });
}

void remote_memory() {
  in_two(
      [](Line& line) {
        End end;
        const Address peer = line.swap(end.address());
        end.connect(peer);
        line.meet();
        end.fill(0, 3000, 3);
        Request(IBV_WR_RDMA_WRITE, 1).piece(end.piece(0, 3000)).remote(peer).post(end);
        expect_completion("the write", end.sent(), 1, IBV_WC_RDMA_WRITE);
        Request(IBV_WR_RDMA_READ, 2).piece(end.piece(8192, 100)).remote(peer, 32768).post(end);
        expect_completion("the read", end.sent(), 2, IBV_WC_RDMA_READ);
        end.expect_bytes("read", 8192, 100, 9);
        for (uint64_t id = 3; id <= 5; ++id) {
          Request(IBV_WR_ATOMIC_FETCH_AND_ADD, id)
              .piece(end.piece(0, 8))
              .atomic(peer, 40960, 10)
              .post(end);
          expect_completion("an addition", end.sent(), id, IBV_WC_FETCH_ADD);
        }
        line.meet();
        line.meet();
      },
      [](Line& line) {
        End end;
        end.fill(32768, 100, 9);
        end.connect(line.swap(end.address()));
        line.meet();
        line.meet();  // all is done, without this process
        end.expect_bytes("written", 0, 3000, 3);
        uint64_t sum = 0;
        std::memcpy(&sum, end.bytes(40960), 8);
        expect_equal("the sum", uint64_t{30}, sum);
        line.meet();
      });
}

void datagrams() {
  Plan plan;
  plan.type = IBV_QPT_UD;
  in_two(
      [plan](Line& line) {
        End end(plan);
        const Address peer = line.swap(end.address());
        end.connect(peer);
        line.meet();
        ibv_ah_attr attr = route_to(peer);
        const Ah ah(ibv_create_ah(end.pd, &attr));
        expect(ah != nullptr, "ibv_create_ah failed");
        Request(IBV_WR_SEND, 1).datagram(ah.get(), peer).piece(end.piece(0, 8)).post(end);
        expect_completion("the send", end.sent(), 1, IBV_WC_SEND);
        line.meet();
      },
      [plan](Line& line) {
        End end(plan);
        const Address peer = line.swap(end.address());
        end.connect(peer);
        end.post_receive(1);
        line.meet();
        expect_equal("src_qp", peer.qp_num, end.received().src_qp);
        line.meet();
      });
}

// Each process sleeps until the other's message comes. Neither polls in a loop.
void by_events() {
  const auto role = [](Line& line, bool begins) {
    const Channel channel(ibv_create_comp_channel(device().context.get()));
    expect(channel != nullptr, "ibv_create_comp_channel failed");
    Plan plan;
    plan.channel = channel.get();
    End end(plan);
    end.connect(line.swap(end.address()));
    for (uint64_t id = 1; id <= 10; ++id)
      end.post_receive(id);
    expect_works("ibv_req_notify_cq", ibv_req_notify_cq(end.recv_cq, 0));
    line.meet();
    for (uint64_t id = 1; id <= 10; ++id) {
      if (begins) Request(IBV_WR_SEND, id).piece(end.piece(4096, 8)).post(end);
      waiting_for("a completion event");
      ibv_cq* cq = nullptr;
      void* user = nullptr;
      expect_works("ibv_get_cq_event", ibv_get_cq_event(channel.get(), &cq, &user));
      ibv_ack_cq_events(cq, 1);
      expect_works("ibv_req_notify_cq", ibv_req_notify_cq(end.recv_cq, 0));
      expect_completion("a receive", end.received(), id, IBV_WC_RECV);
      if (!begins) Request(IBV_WR_SEND, id).piece(end.piece(4096, 8)).post(end);
      expect_completion("a send", end.sent(), id, IBV_WC_SEND);
    }
    line.meet();
  };
  in_two([&](Line& line) { role(line, true); }, [&](Line& line) { role(line, false); });
}

// If a process is killed, its queue pairs go, and its peer is told.
void peer_killed() {
  in_two(
      [](Line& line) {
        End end;
        end.connect(line.swap(end.address()));
        line.meet();
        const Address pid = line.hear();
        expect(kill(static_cast<pid_t>(pid.psn), SIGKILL) == 0, "kill failed");
        waitpid(static_cast<pid_t>(pid.psn), nullptr, 0);
        Request(IBV_WR_SEND, 1).piece(end.piece(0, 8)).post(end);
        ibv_wc wc = end.sent();
        // The peer's receives may still have taken some sends while the system took it down.
        for (uint64_t id = 2; wc.status == IBV_WC_SUCCESS; ++id) {
          Request(IBV_WR_SEND, id).piece(end.piece(0, 8)).post(end);
          wc = end.sent();
        }
        expect_status("a send to a process that is gone", IBV_WC_RETRY_EXC_ERR, wc);
      },
      [](Line& line) {
        End end;
        end.connect(line.swap(end.address()));
        for (uint64_t id = 1; id <= 4; ++id)
          end.post_receive(id);
        line.meet();
        Address own;
        own.psn = static_cast<uint32_t>(getpid());
        line.tell(own);
        line.hear();  // never comes
      });
}

Plan xrc_plan() {
  Plan plan;
  plan.type = IBV_QPT_XRC_SEND;
  plan.recv_depth = 0;
  return plan;
}

// The target belongs to one process and the receive queue to another. The file makes them one
// domain.
void xrc_across() {
  const int fd = memfd_create("domain", 0);
  in_two(
      [fd](Line& line) {
        need_xrc();
        ibv_context* context = device().context.get();
        const Xrcd domain = open_domain(context, fd, O_CREAT);
        const Qp target = make_target(context, domain.get());
        End sender(xrc_plan());
        connect_target(target.get(), sender.address());
        sender.connect(address_of(target.get()));
        line.meet();
        const Address queue = line.hear();
        sender.fill(0, 100, 3);
        Request(IBV_WR_RDMA_WRITE, 1)
            .srq(queue.srq_num)
            .remote(queue, 4096)
            .piece(sender.piece(0, 100))
            .post(sender);
        Request(IBV_WR_SEND, 2).srq(queue.srq_num).piece(sender.piece(0, 100)).post(sender);
        expect_completion("the write", sender.sent(), 1, IBV_WC_RDMA_WRITE);
        expect_completion("the send", sender.sent(), 2, IBV_WC_SEND);
        line.meet();
      },
      [fd](Line& line) {
        need_xrc();
        line.meet();
        ibv_context* context = device().context.get();
        const Xrcd domain = open_domain(context, fd, O_CREAT);
        XrcQueue queue(context, domain.get());
        queue.post(5);
        line.tell(queue.address({}));
        const ibv_wc wc = queue.received();
        expect_completion("the receive", wc, 5, IBV_WC_RECV);
        expect_equal("byte_len", 100U, wc.byte_len);
        expect(std::memcmp(queue.bytes(), queue.bytes(4096), 100) == 0, "sent and written differ");
        line.meet();
      });
  close(fd);
}

// A target lives on in the process that opened it when its maker is killed.
void xrc_maker_killed() {
  const int fd = memfd_create("domain", 0);
  in_two(
      [fd](Line& line) {
        need_xrc();
        ibv_context* context = device().context.get();
        const Xrcd domain = open_domain(context, fd, O_CREAT);
        XrcQueue queue(context, domain.get());
        End sender(xrc_plan());
        const Address target = line.swap(sender.address());
        sender.connect(target);
        ibv_qp_open_attr attr{};
        attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
        attr.qp_num = target.qp_num;
        attr.xrcd = domain.get();
        attr.qp_type = IBV_QPT_XRC_RECV;
        const Qp held(ibv_open_qp(context, &attr));
        if (held == nullptr) skip("device lacks ibv_open_qp");
        const auto maker = static_cast<pid_t>(line.hear().psn);
        expect(kill(maker, SIGKILL) == 0, "kill failed");
        waitpid(maker, nullptr, 0);
        queue.post(1);
        Request(IBV_WR_SEND, 1).srq(queue.number).piece(sender.piece(0, 8)).post(sender);
        expect_completion("the send", sender.sent(), 1, IBV_WC_SEND);
        expect_completion("the receive", queue.received(), 1, IBV_WC_RECV);
      },
      [fd](Line& line) {
        need_xrc();
        ibv_context* context = device().context.get();
        const Xrcd domain = open_domain(context, fd, O_CREAT);
        const Qp target = make_target(context, domain.get());
        connect_target(target.get(), line.swap(address_of(target.get())));
        Address own;
        own.psn = static_cast<uint32_t>(getpid());
        line.tell(own);
        line.hear();  // never comes
      });
  close(fd);
}

constexpr Case kCases[] = {
    {"processes.send-and-receive", send_and_receive},
    {"processes.remote-memory", remote_memory},
    {"processes.datagrams", datagrams},
    {"processes.by-events", by_events},
    {"processes.peer-killed", peer_killed},
    {"processes.xrc-across", xrc_across},
    {"processes.xrc-maker-killed", xrc_maker_killed},
};

}  // namespace

std::span<const Case> process_cases() {
  return kCases;
}

}  // namespace semantics
