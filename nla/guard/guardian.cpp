#include "nla/guard/guardian.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/private_dir.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "nla/io/constants.h"

namespace scela::nla {

namespace {

// The guardian's socket carries records: a letter, then its value.
constexpr char kGrace = 'G';
constexpr char kDirectory = 'D';
constexpr char kEndNode = 'E';
constexpr char kAdoptable = 'A';
constexpr char kAdopted = 'N';
constexpr char kKeep = 'K';
constexpr char kSignalRanks = 'S';  // with the signal's number
constexpr char kMarks = 'M';        // the guardian's own mark, then the key
constexpr std::size_t kMaxRecord = 4096 + 16;

constexpr std::uint64_t kForever = UINT64_MAX;

std::uint64_t after_ms(std::uint64_t ms) {
  return monotonic_ns() + ms * 1'000'000;
}

bool is_an_order_to_end(int signo) {
  return signo == SIGTERM || signo == SIGINT || signo == SIGHUP;
}

class Guardian {
 public:
  Guardian(pid_t agent, int link, int link_out, char* mark_room, char last_word, Fd guardian_socket,
           Fd signals)
      : agent_(agent),
        mark_room_(mark_room),
        last_word_(last_word),
        link_(link),
        link_out_(link_out),
        guardian_socket_(std::move(guardian_socket)),
        signals_(std::move(signals)) {}

  int run() {
    const bool well = watch_agent();
    // From here on no message can come, so the parent is told before the cleaning.
    if (link_out_ >= 0) {
      ::close(link_out_);
    } else if (last_word_ == 0) {
      ::shutdown(link_, SHUT_WR);
    }
    if (!well || !keeps_) end_descendants();
    // An agent that ended well has removed them. Asking again would cost another turn at the lock
    // of a directory that all nodes of this machine share.
    if (!well) {
      for (const std::string& directory : directories_)
        static_cast<void>(remove_tree(directory));
    }
    if (last_word_ != 0)
      static_cast<void>(::send(link_, &last_word_, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
    return agent_status_;
  }

  // Waits for the peer's word that another agent is needed. Returns false if it ends the
  // connection, or if a signal ends this process.
  bool hears(char again) {
    while (!ending_) {
      pollfd asked[2] = {{signals_.get(), POLLIN, 0}, {link_, POLLIN, 0}};
      if (retry([&] { return ::poll(asked, std::size(asked), -1); }) < 0) return false;
      signalfd_siginfo info;
      while (::read(signals_.get(), &info, sizeof info) == sizeof info)
        ending_ = ending_ || is_an_order_to_end(static_cast<int>(info.ssi_signo));
      reap();
      if (asked[1].revents == 0) continue;
      char word = 0;
      const ssize_t got = retry([&] { return ::recv(link_, &word, 1, MSG_DONTWAIT); });
      if (got != 1 && !(got < 0 && errno == EAGAIN)) return false;
      if (got == 1) return word == again && !ending_;
    }
    return false;
  }

 private:
  // Returns when the agent has ended: true if it ended by itself with status 0.
  bool watch_agent() {
    std::uint64_t kill_at = kForever;
    for (;;) {
      siginfo_t news{};
      if (::waitid(P_PID, static_cast<id_t>(agent_), &news, WEXITED | WSTOPPED | WNOHANG) != 0) {
        return false;  // cannot be: it is our child
      }
      if (news.si_pid == agent_) {
        const bool stopped = news.si_code == CLD_STOPPED || news.si_code == CLD_TRAPPED;
        if (!stopped) {
          hear_leash();  // its last records
          if (news.si_code == CLD_EXITED) agent_status_ = news.si_status;
          return agent_status_ == 0;
        }
        // A stopped agent serves no rank, and its ranks must not wait for a person to notice.
        ::kill(agent_, SIGKILL);
      }
      if (monotonic_ns() >= kill_at) {
        hear_leash();
        if (adopted_ && !ending_) {
          kill_at = kForever;
        } else {
          ::kill(agent_, SIGKILL);
        }
      }
      const Asked asked = wait(kill_at, true);
      if (asked == Asked::nothing || ending_ || (asked != Asked::end && kill_at != kForever)) {
        continue;
      }
      hear_leash();
      ending_ = asked == Asked::end;
      // The agent learns by itself of its parent's end, unless it is busy or stuck. Its children
      // learn of the agent's own end.
      if (asked == Asked::end) {
        tell_agent(std::string(1, kEndNode));
      }
      kill_at = after_ms(grace_ms_ + kAgentSlackMs + (ending_ ? 0 : adopt_ms_));
    }
  }

  void end_descendants() {
    const Descendants below([this](pid_t pid) { return marks_.is_agent(pid); });
    reap();
    if (!below.any()) return;
    below.signal_all(SIGTERM);
    const std::uint64_t kill_at = after_ms(grace_ms_);
    while (below.any() && monotonic_ns() < kill_at) {
      wait(kill_at);
      reap();
    }
    while (below.any()) {
      below.signal_all(SIGKILL);
      wait(after_ms(kKillAgainMs));
      reap();
    }
  }

  void tell_agent(const std::string& record) const {
    static_cast<void>(
        ::send(guardian_socket_.get(), record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }

  static void reap() {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  enum class Asked : std::uint8_t { nothing, end, parent_gone };

  // Waits until a signal or the moment comes. Returns whether the end was requested. Looks at the
  // link until its end was seen once.
  Asked wait(std::uint64_t until, bool look_at_link = false) {
    // The agent's records wait in the guardian's socket until they matter, so none of them wakes
    // the guardian. The first that matters at once is the mark.
    const bool unmarked = mark_room_ != nullptr && marks_.key().empty() && guardian_socket_;
    pollfd asked[3] = {{signals_.get(), POLLIN, 0},
                       {look_at_link && !parent_gone_ ? link_ : -1, POLLRDHUP, 0},
                       {unmarked ? guardian_socket_.get() : -1, POLLIN, 0}};
    const std::uint64_t now = monotonic_ns();
    timespec left{};
    if (until != kForever && until > now) {
      left.tv_sec = static_cast<time_t>((until - now) / 1'000'000'000);
      left.tv_nsec = static_cast<long>((until - now) % 1'000'000'000);
    }
    if (::ppoll(asked, std::size(asked), until == kForever ? nullptr : &left, nullptr) <= 0) {
      return Asked::nothing;
    }
    Asked found = Asked::nothing;
    if (asked[2].revents != 0) hear_leash();
    if (asked[1].revents != 0) {
      parent_gone_ = true;
      found = Asked::parent_gone;
    }
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      const auto signo = static_cast<int>(info.ssi_signo);
      if (signo == SIGUSR1 || signo == SIGUSR2)
        tell_agent(cat(kSignalRanks, signo));
      else if (is_an_order_to_end(signo))
        found = Asked::end;
    }
    return found;
  }

  void hear_leash() {
    char record[kMaxRecord];
    while (guardian_socket_) {
      const ssize_t got = ::recv(guardian_socket_.get(), record, sizeof record, MSG_DONTWAIT);
      if (got == 0) guardian_socket_.reset();
      if (got <= 0) return;
      const std::string_view value(record + 1, static_cast<std::size_t>(got) - 1);
      if (record[0] == kGrace) {
        std::from_chars(value.data(), value.data() + value.size(), grace_ms_);
      } else if (record[0] == kDirectory) {
        directories_.emplace_back(value);
      } else if (record[0] == kAdoptable) {
        std::from_chars(value.data(), value.data() + value.size(), adopt_ms_);
      } else if (record[0] == kMarks && value.size() > kMarkLength) {
        show_mark(mark_room_, std::string(value.substr(0, kMarkLength)));
        marks_ = AgentMarks(std::string(value.substr(kMarkLength)));
      } else if (record[0] == kAdopted) {
        adopted_ = true;
      } else if (record[0] == kKeep) {
        keeps_ = true;
      }
    }
  }

  pid_t agent_;
  char* mark_room_;
  char last_word_;  // 0: there is none
  AgentMarks marks_;
  int link_;
  int link_out_;  // -1: link_ goes both ways
  Fd guardian_socket_;
  Fd signals_;
  std::uint32_t grace_ms_ = kDefaultGraceMs;
  std::vector<std::string> directories_;
  bool parent_gone_ = false;
  std::uint32_t adopt_ms_ = 0;
  bool adopted_ = false;
  int agent_status_ = 1;  // a killed agent has none
  bool keeps_ = false;    // descendants of an agent that ends well stay
  bool ending_ = false;   // the end of the job here was requested
};

Error refused(std::string what) {
  const int number = errno;
  return os_error(ErrorKind::launch, std::move(what), number, std::string(limit_advice(number)));
}

}  // namespace

namespace {
// The signals that a guardian takes, and the mask before.
struct GuardedSignals {
  sigset_t watched, before;
};
// Forks once. Returns as fork_agent() does, but in the guardian it returns when another agent is
// needed, with an invalid descriptor.
Result<Fd> fork_once(const GuardedSignals& mask, int link, int link_out, char* mark_room,
                     char last_word, char again) {
  Result<SocketPair> guardian_socket = make_socket_pair(SOCK_SEQPACKET);
  if (!guardian_socket) return fail(guardian_socket.error());
  Fd signals(::signalfd(-1, &mask.watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return fail(refused("watch for signals"));
  const pid_t agent = ::fork();
  if (agent < 0) return fail(refused("fork the agent from its guardian"));
  if (agent == 0) {
    ::sigprocmask(SIG_SETMASK, &mask.before, nullptr);
    // Without its guardian, the agent is a child of its parent agent, which must recognize it as an
    // agent.
    ::setsid();
    ::prctl(PR_SET_NAME, "scela-nla");  // an earlier guardian has another name
    return std::move(guardian_socket->theirs);
  }
  guardian_socket->theirs.reset();
  ::prctl(PR_SET_NAME, "scela-guardian");  // tells the two apart for a person
  Guardian guardian(agent, link, link_out, mark_room, last_word, std::move(guardian_socket->ours),
                    std::move(signals));
  const int status = guardian.run();
  // If the agent has not ended well, its host is lost for the job.
  if (again == 0 || status != 0 || !guardian.hears(again)) ::_exit(status);
  return Fd();
}
}  // namespace

Result<Fd> fork_agent(int link, int link_out, char* mark_room, char last_word, char again) {
  // The signals are blocked before there is a child, or its end could be missed.
  GuardedSignals mask;
  ::sigemptyset(&mask.watched);
  for (const int signo : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2})
    ::sigaddset(&mask.watched, signo);
  ::sigprocmask(SIG_BLOCK, &mask.watched, &mask.before);
  become_subreaper();
  for (;;) {
    Result<Fd> made = fork_once(mask, link, link_out, mark_room, last_word, again);
    if (!made || *made) return made;
  }
}

namespace {
void tell(const Fd& guardian_socket, const std::string& record) {
  if (!guardian_socket) return;
  static_cast<void>(
      ::send(guardian_socket.get(), record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}
}  // namespace

void tell_grace(const Fd& guardian_socket, std::uint32_t grace_ms) {
  tell(guardian_socket, cat(kGrace, grace_ms));
}

void tell_marks(const Fd& guardian_socket, const AgentMarks& marks) {
  const std::string mark = marks.mark_of(::getppid());
  if (!mark.empty()) tell(guardian_socket, cat(kMarks, mark, marks.key()));
}

void tell_keep(const Fd& guardian_socket) {
  tell(guardian_socket, std::string(1, kKeep));
}

void tell_directory(const Fd& guardian_socket, const std::string& path) {
  tell(guardian_socket, cat(kDirectory, path));
}

void tell_adoptable(const Fd& guardian_socket, std::uint32_t adopt_ms) {
  tell(guardian_socket, cat(kAdoptable, adopt_ms));
}

void tell_adopted(const Fd& guardian_socket) {
  tell(guardian_socket, std::string(1, kAdopted));
}

GuardianNews read_guardian_socket(const Fd& guardian_socket) {
  char record[16];
  const ssize_t got = ::recv(guardian_socket.get(), record, sizeof record, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno == ECONNRESET)) return {GuardianNews::Kind::guardian_gone};
  if (got > 0 && record[0] == kEndNode) return {GuardianNews::Kind::end_node};
  GuardianNews out{GuardianNews::Kind::nothing};
  if (got > 1 && record[0] == kSignalRanks) {
    out.kind = GuardianNews::Kind::signal_ranks;
    std::from_chars(record + 1, record + got, out.signo);
  }
  return out;
}

}  // namespace scela::nla
