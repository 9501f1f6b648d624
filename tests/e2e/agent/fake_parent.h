// The parent of one real scela-nla, played by a test: it starts the agent, speaks the protocol over
// a socket pair, and knows how to find everything of its job on this machine.
//
// Blocking, one thread; every wait ends by itself after kFailureGuardMs, which fails the test.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/core/frame.h"
#include "common/os/fd.h"
#include "nla/core/wire/agent_messages.h"
#include "nla/core/wire/job.h"
#include "nla/core/wire/link_frames.h"

namespace scela::test {

enum class Parentage {
  child,    // of the test, as scela-run starts local agents
  orphaned  // setsid and re-parented to init, as sshd leaves it
};

class FakeParent {
 public:
  explicit FakeParent(Parentage parentage = Parentage::child, std::uint32_t grace_ms = 300);
  ~FakeParent();  // ends whatever is left, so that a failed test leaves nothing either
  FakeParent(const FakeParent&) = delete;
  FakeParent& operator=(const FakeParent&) = delete;

  const std::string& job_id() const { return job_id_; }
  pid_t guardian() const { return guardian_; }
  pid_t agent() const;  // of the first node
  // Guardian of the child agent, in a tree of two nodes.
  pid_t child_guardian() const;
  std::vector<pid_t> ranks() const;

  void send(const nla::Message& message);
  void send_raw(std::string_view bytes);
  void close_link() { link_.reset(); }

  // Returns the next message of this kind, also if it came before others that were asked for.
  template <class M>
  std::optional<M> expect() {
    const std::optional<nla::Message> found =
        take([](const nla::Message& message) { return std::holds_alternative<M>(message); });
    return found ? std::optional<M>(std::get<M>(*found)) : std::nullopt;
  }
  bool saw(std::string_view name) const;  // a message of this name, ever
  // Returns the next frame about the link itself, if it is of this kind
  // (nla/core/wire/link_frames.h).
  std::optional<Frame> expect_link_frame(nla::LinkFrame kind);

  // Sends Start and SliceHosts, and waits for Ready: a tree of `nodes` nodes below this one, itself
  // included.
  bool bring_up(std::uint32_t nodes = 1, const std::string& settings = {});
  // Runs `script` with /bin/sh as `per_node` ranks on every node, and waits for Launched.
  bool launch(const std::string& script, std::uint32_t per_node = 1);
  nla::Job job_of(std::vector<std::string> argv, std::uint32_t per_node) const;
  bool launch(const nla::Job& job);
  // Returns everything that ranks wrote to standard output until both streams of all of them ended.
  std::string output_of_all();

  // Returns true if the link's incoming side has ended. Reads on until it has, or until the guard
  // is over.
  bool sees_end();
  // Returns true if no process holds the other end of the link.
  bool sees_close();

  // Lists the processes of the job: ranks and what they started (by their environment), agents and
  // guardians.
  std::vector<pid_t> processes() const;
  std::vector<std::string> directories() const;
  // Waits until no such process and no such directory is left.
  bool nothing_left() const;
  // Returns the exit status of the guardian as waitpid() gives it, for Parentage::child.
  int guardian_status();

 private:
  // Returns the first message that `wanted` accepts, old or new.
  std::optional<nla::Message> take(const std::function<bool(const nla::Message&)>& wanted);
  bool read_more(std::uint64_t deadline_ns);

  std::string job_id_;
  std::uint32_t grace_ms_;
  std::uint32_t nodes_ = 1;
  std::uint32_t ranks_ = 0;
  Fd link_;
  pid_t guardian_ = 0;
  bool is_child_ = true;
  FrameDecoder decoder_;
  std::deque<Frame> link_frames_;
  bool ended_ = false;
  std::deque<nla::Message> inbox_;  // came, but was not asked for yet
  std::vector<std::string> seen_;
};

}  // namespace scela::test
