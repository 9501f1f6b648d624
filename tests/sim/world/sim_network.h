// Links between agents under virtual time: in order on one link and direction, in any order across
// links, with delays, cuts and ends that are noticed late.
//
// A link is begun by its parent; what is sent down is kept until the child runs. Messages are
// passed as values; some go through the codec and must come out the same. Knows nothing of what
// agents do.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "common/core/random.h"
#include "nla/core/wire/agent_messages.h"
#include "tests/sim/sim_schedule.h"
#include "tests/sim/tasks.h"

namespace scela::sim {

inline constexpr std::uint32_t kNobody = UINT32_MAX;

struct Link {
  enum class State : std::uint8_t { starting, running, failed };
  std::uint32_t parent = kNobody;  // positions in the world's list of nodes
  std::uint32_t parent_link = 0;   // the parent's LinkId
  std::uint32_t child = kNobody;   // set when the agent runs
  std::uint32_t host = 0;
  State state = State::starting;
  bool broken = false;    // nothing is carried any more
  bool severed = false;   // cut, or given up by the parent: not the end of an agent
  bool end_told[2] = {};  // LinkEnded was given: [0] to the parent, [1] to the child
  bool end_due[2] = {};   // it is scheduled, or will never come
  bool gone_due = false;
  Micros parent_end_at = 0;  // when the parent sees the end
  struct Way {
    std::deque<nla::Message> queue;
    Micros last_at = 0;
  } way[2];                // [0] up, [1] down
  bool begun = false;      // ChildBegun was given
  bool alone = false;      // Start named no other node
  bool heard = false;      // something was delivered upwards
  bool attach = false;     // to an agent that runs
  bool done_sent = false;  // upwards, the last message
  // Output credit as the child may count it (decision D8).
  std::uint64_t output_credit = 0;
  std::uint64_t output_sent = 0;
};

class Network {
 public:
  Network(const Schedule& schedule, TaskQueue& tasks, Random& random, const Micros& now)
      : schedule_(schedule), tasks_(tasks), random_(random), now_(now) {}

  std::uint32_t open(std::uint32_t parent, std::uint32_t parent_link, std::uint32_t host);
  Link& at(std::uint32_t link) { return links_[link]; }
  std::size_t size() const { return links_.size(); }

  // The child runs: what was kept is on its way.
  void connect(std::uint32_t index, std::uint32_t child);
  void send(std::uint32_t index, bool down, nla::Message message);
  // The oldest message of that direction; false if it was lost meanwhile. `fault`: what the codec
  // did.
  bool take(std::uint32_t index, bool down, nla::Message& message, std::string& fault);

  // Both ends live and see the end, each when it notices.
  void cut(std::uint32_t index);
  // One end has ended; what it sent arrives first, unless `silent`.
  void end_of(std::uint32_t index, bool child_ended, bool silent);
  // The parent gives the link up: it hears no more of it; the child sees the end.
  void close_by_parent(std::uint32_t index);
  // Reports ChildGone, after LinkEnded: no process of the child is left.
  void gone(std::uint32_t index);

  std::uint64_t messages() const { return messages_; }
  std::uint64_t in_flight_output() const { return in_flight_output_; }

 private:
  Micros delay();
  Micros notice() { return random_.below(schedule_.pace.notice_max + 1); }
  void schedule_end(std::uint32_t index, bool at_child, Micros at);
  void drop(std::uint32_t index, bool down);

  const Schedule& schedule_;
  TaskQueue& tasks_;
  Random& random_;
  const Micros& now_;
  std::deque<Link> links_;
  std::uint64_t messages_ = 0;
  std::uint64_t in_flight_output_ = 0;
};

// Encodes, cuts the bytes into arbitrary pieces, decodes: empty if the same message came out.
std::string through_codec(nla::Message& message, Random& random);

}  // namespace scela::sim
