// One rank that carries out its part of a plan, over the public interface alone.
//
// No step waits for what comes later in the plan, at any rank. Where the library moves operations
// only in calls of their own communicators (ProgressMode::polled, and the engine for what it could
// not post whole), a rank that waits for something else moves them too, as
// docs/design/collectives.md asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <scela/channel.h>
#include <scela/communicator.h>

#include "tests/strangers/contents.h"
#include "tests/strangers/scenes.h"
#include "tests/strangers/share.h"
#include "tests/strangers/stranger_plan.h"

namespace strangers {

// A message or an operation that this rank has begun.
struct Begun {
  const Scene* scene = nullptr;
  scela::Request request;
  bool is_operation = false;
  bool needs_calls = false;  // the caller moves it
  int family = 0;            // of communicators: one executor moves their operations
  bool over = false;         // has been seen to be
  bool done = false;         // has been waited for, and judged
  // Judges the result.
  std::function<void(Begun&)> judge;
};

// A message that comes to this rank.
struct Incoming {
  int tag = 0;
  std::uint64_t key = 0, bytes = 0;
  bool taken = false;
};

// A receive of this rank, in the order of its context.
struct Posted {
  int source = 0, tag = 0;
  Buffer buffer;
  const Scene* scene = nullptr;
  bool complete = false;
  scela::Status status;
};

class Rank {
 public:
  Rank(std::unique_ptr<scela::Channel> channel, const Plan& plan, std::chrono::seconds patience);
  // Returns the exit status of a rank that has come to the plan's end or leaves before it. A rank
  // that finds something wrong says what, and ends the process.
  int play();

 private:
  using Source = std::pair<std::uint32_t, int>;  // context, rank
  struct Member {
    scela::Communicator communicator;
    int family = 0;
    scela::ProgressMode by = scela::ProgressMode::polled;
  };

  void carry_out(const Scene& scene);
  [[noreturn]] void wrong(const std::string& what) const;
  [[noreturn]] void hangs(const std::string& what) const;
  void expect(bool holds, const std::string& what) const {
    if (!holds) wrong(what);
  }
  std::vector<int> others() const;  // ranks that take part in steps of all, this one included

  // Waits (rank.cpp). The function others_need_calls() leaves out `family`; -1: it leaves out none.
  Begun& begin(const Scene& scene);
  bool others_need_calls(int family) const;
  void finish(Begun& begun);
  void finish_all();
  void finish_other_families(int family);
  void conclude(Begun& begun);
  void forget_done();
  void move_all();

  // Orders of waits (waits.cpp).
  void wait(const Scene& scene);
  void wait_by_tests(const std::vector<Begun*>& chosen);
  void wait_any(std::vector<Begun*> chosen);
  void wait_all();
  void wait_messages(const std::vector<Begun*>& chosen);
  void wait_operations(const std::vector<Begun*>& chosen);

  // Messages (messages.cpp).
  void expect_messages();
  void message(const Scene& scene);
  void send(const Scene& scene, int round);
  void receive(const Scene& scene);
  void repeat_sends(const Scene& scene);
  void repeat_receives(const Scene& scene);
  void begin_send(const Scene& scene, scela::Context context, int to, int tag, std::uint64_t key,
                  std::uint64_t bytes, bool synchronous);
  Posted& post(const Scene& scene, scela::Context context, int source, int tag, std::uint64_t room);
  void begin_receive(const Scene& scene, scela::Context context, int source, int tag,
                     std::uint64_t room);
  void probe_and_receive(const Scene& scene, scela::Context context, int source, int tag);
  void received(scela::Context context, Posted& posted, const scela::Status& status);
  void judge_receive(scela::Context context, const Posted& posted);
  void judge_send(const Scene& scene, int to, const scela::Status& status) const;
  void burst(const Scene& scene);
  void cancel(const Scene& scene);
  void reserve(const Scene& scene);
  void meet();  // of all ranks that have not ended, without an operation

  // Operations (operations.cpp).
  void make(const Scene& scene);
  void collective(const Scene& scene);
  void judge_operation(const Scene& scene, Share& share, const scela::Status& status) const;
  void agree(const Scene& scene);
  void recover(const Scene& scene);
  int end_by(Ending ending);

  std::unique_ptr<scela::Channel> channel_;
  const Plan& plan_;
  std::chrono::seconds patience_;
  std::vector<Scene> scenes_;
  const Scene* now_ = nullptr;
  int rank_;
  std::map<Source, std::deque<Incoming>> incoming_;
  std::map<std::uint32_t, std::deque<Posted>> posted_;
  std::map<int, Member> members_;
  std::vector<std::unique_ptr<Begun>> begun_;  // after the communicators: its requests go first
};

}  // namespace strangers
