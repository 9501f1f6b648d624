// Copies of what ranks write, for tools that a PMIx server serves (PMIx_IOF_pull). Each node has an
// agent, the process of the job there, and a PMIx server beside it. A tool asks the server of its
// node, and that node's agent asks the agents of the other nodes.
//
// The output itself never waits for copies. Each node gives each other node a window of bytes.
// Output that does not fit into the window is left out, and the next copy of that stream says how
// many bytes that was. When a server reports what it has passed on, the window opens again
// (docs/design/pmix.md). The reading node, where the tool is, counts too, and takes no more than
// the window from a node that does not keep to it.
//
// Pure, like PmixService (pmix_service.h), which owns this part; one thread at a time calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "nla/core/wire/job.h"
#include "pmix/core/pmix_messages.h"

namespace scela::nla {

// The bytes of copies that a server may be sent before it has passed them on: of all nodes
// together, and at least the second number of each node. If they were smaller, a burst would be cut
// although the tool could keep up. If they were larger, the server would need more memory.
inline constexpr std::uint64_t kCopiesWindow = std::uint64_t{4} * 1024 * 1024;
inline constexpr std::uint64_t kLeastCopiesWindow = std::uint64_t{128} * 1024;

class PmixCopies {
 public:
  // The functions that the owner lends. They are called only from within calls of this object.
  struct Callbacks {
    std::function<void(pmix::Message)> tell;  // sends this message to the server of this node
    // Sends to the agent that serves `to` on its node.
    std::function<void(std::uint32_t tag, Rank to, std::string bytes)> send;
  };
  // `job` and `own` (this node's ranks) are borrowed. They must outlive the object, and may grow.
  PmixCopies(const Job& job, const RankSet& own, Callbacks sides);

  // Handle a message of this node's server. Return false if it breaks the protocol, or if no rank
  // of this node can have caused it; the caller must then end the server.
  bool receive(pmix::msg::Pull& message);
  // Takes the server's message that it wants no output any more. Returns false if the message
  // breaks the protocol.
  bool receive(pmix::msg::PullNoMore& message);
  // Takes the number of bytes that the server has passed on, and opens the window again. Returns
  // false if the message breaks the protocol.
  bool receive(pmix::msg::Taken& message);
  // Handles a message of another node's agent. `tag` says what it is, `from` is the rank of that
  // node in the name of which it was sent, and `bytes` are its content; malformed ones are ignored.
  // Returns false if the tag is not one of this part.
  bool heard(std::uint32_t tag, Rank from, std::string_view bytes);

  // Sends copies of bytes that a rank of this node has written to the nodes that want them. `error`
  // is true for standard error, false for standard output.
  void output(Rank rank, bool error, std::string_view bytes);
  // Returns true if any node, this one included, wants copies of output of this node's ranks.
  bool wanted() const { return !readers_.empty(); }
  // Called when ranks of any node have failed while the job goes on. A node without another rank is
  // asked no more.
  void peers_failed(const RankSet& ranks);
  // Called for the events of PmixService with these names.
  void nodes_lost(const RankSet& nodes);
  // Call it if messages between `ranks` and all others may be lost. The nodes on the other side are
  // asked for output again.
  void reconnected(const RankSet& ranks);

 private:
  // The ranks of which a node wants the standard output and the standard error.
  struct Wanted {
    RankSet out;
    RankSet err;
    // all() returns the ranks of which either is wanted.
    bool empty() const { return out.empty() && err.empty(); }
    // Returns the ranks of both.
    RankSet all() const;
  };
  using Source = std::pair<Rank, bool>;             // rank; true: standard error
  using LeftOut = std::map<Source, std::uint64_t>;  // bytes since the last copy
  // A node that reads the output of ranks of this node.
  struct Reader {
    Rank to = 0;  // the rank that copies are sent to
    Wanted wanted;
    std::uint64_t generation = 0;  // generation of its question
    std::uint64_t room = 0;        // bytes that it may be sent now
    LeftOut left_out;
  };
  // Another node that was asked for output of its ranks.
  struct Asked {
    Rank rank = 0;
    // The generation of the question, a new one after an agent between the nodes was lost. Bytes of
    // older ones that are still in flight count at neither end.
    std::uint64_t generation = 0;
    std::uint64_t window = 0;
    // The bytes that the server was sent and has not passed on.
    std::uint64_t held = 0;
    LeftOut left_out;  // left out here, beyond the window
  };

  // Returns the bytes that one node may send another before they were passed on.
  std::uint64_t window() const;
  // Returns the number of this node.
  std::uint32_t here() const { return *job_.map.node_of(own_.front()); }
  // Notes which output of this node's ranks `node` wants; copies go to rank `to` there. Returns
  // nullptr if it wants nothing. want_again() is for other nodes, which ask again after messages
  // were lost. `room` is the number of bytes that the node has room for if `generation` is new.
  Reader* want(std::uint32_t node, Rank to, Wanted wanted);
  // Does the same for another node, which asks again after a loss. `room` is how many bytes it may
  // be sent now.
  void want_again(std::uint32_t node, Rank to, Wanted wanted, std::uint64_t generation,
                  std::uint64_t room);
  // Sends the node its question: which ranks' output this node wants (pulled_), the question's
  // generation, and how many bytes the node may send. A caller sets asked.generation and
  // asked.window before.
  void ask(Asked& asked);
  // Passes a copy that has come from a node on to the server. If `counts` is false, it answers an
  // older question, and its bytes are left out.
  void copied(std::uint32_t node, Asked& asked, pmix::msg::Copy copy, bool counts);
  // Called when this node's server has passed on `bytes` bytes of that node: tells the node that it
  // may send as many more.
  void passed(Asked& asked, std::uint64_t bytes);
  // Sends a copy to the reader on `node`, with the number of bytes that were left out before. The
  // caller has checked that there is room.
  void give(std::uint32_t node, Reader& reader, const Source& source, std::string_view bytes);
  // Gives the reader on `node` room for `bytes` bytes, which it has passed on.
  void taken(std::uint32_t node, std::uint64_t bytes);
  // Sends the question to all nodes that it concerns.
  void tell_others();

  const Job& job_;
  const RankSet& own_;
  Callbacks sides_;
  std::map<std::uint32_t, Reader> readers_;  // by node, including this one
  Wanted pulled_;                            // wanted by this node's server
  std::map<std::uint32_t, Asked> asked_;     // by node, without this one
  std::uint64_t generation_ = 0;
  RankSet failed_;
  RankSet lost_;  // node numbers
};

}  // namespace scela::nla
