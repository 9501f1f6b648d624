// Copies of what ranks write, for the PMIx servers of nodes whose tools want them
// (PMIx_IOF_pull): a tool asks the server of its node, whose agent asks those of the others.
//
// The output itself never waits for them. Each node gives each other one a window of bytes; what
// does not fit into it is left out, and the next copy of that stream says how much that was. A
// server says what it has passed on, and the window opens again (docs/pmix.md). Who reads counts
// too, and takes no more than the window of a node that does not keep to it.
//
// Pure, like PmixDesk (pmix_desk.h), whose part it is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "nla/core/job.h"
#include "pmix/core/messages.h"

namespace scela::nla {

// What a server may be told of all nodes before it has passed it on, and at least of each: smaller,
// and a burst is cut where the tool would have kept up; larger: more memory of the server.
inline constexpr std::uint64_t kCopiesWindow = std::uint64_t{4} * 1024 * 1024;
inline constexpr std::uint64_t kLeastCopiesWindow = std::uint64_t{128} * 1024;

class PmixCopies {
 public:
  struct Sides {
    std::function<void(pmix::Message)> tell;  // the server
    // To who serves `to` on its node.
    std::function<void(std::uint32_t tag, Rank to, std::string bytes)> send;
  };
  PmixCopies(const Job& job, const RankSet& own, Sides sides);

  // False: no server of this kind says that here.
  bool receive(pmix::msg::Pull& message);
  bool receive(pmix::msg::PullNoMore& message);
  bool receive(pmix::msg::Taken& message);
  // What another node's has sent. False: it is not for this one.
  bool heard(std::uint32_t tag, Rank from, std::string_view bytes);

  // A rank of this node has written it.
  void output(Rank rank, bool error, std::string_view bytes);
  bool wanted() const { return !readers_.empty(); }
  // Of any node.
  void peers_failed(const RankSet& ranks);
  // As of PmixDesk.
  void nodes_lost(const RankSet& nodes);
  void reconnected(const RankSet& ranks);

 private:
  struct Wanted {
    RankSet out;
    RankSet err;
    bool empty() const { return out.empty() && err.empty(); }
    RankSet all() const;
  };
  using Source = std::pair<Rank, bool>;             // a rank's standard error, or output
  using LeftOut = std::map<Source, std::uint64_t>;  // bytes, since the last copy
  struct Reader {                                   // a node
    Rank to = 0;                                    // a rank there
    Wanted wanted;
    std::uint64_t generation = 0;  // of its question
    std::uint64_t room = 0;
    LeftOut left_out;
  };
  struct Asked {  // a node
    Rank rank = 0;
    // Of the question, anew after a way was lost: what was under way counts no more then, at
    // neither end.
    std::uint64_t generation = 0;
    std::uint64_t window = 0;
    std::uint64_t held = 0;  // bytes that the server was told of and has not passed on
    LeftOut left_out;        // here, as it did not keep to the window
  };

  std::uint64_t window() const;
  std::uint32_t here() const { return *job_.map.node_of(own_.front()); }
  Reader* want(std::uint32_t node, Rank to, Wanted wanted);
  void want_again(std::uint32_t node, Rank to, Wanted wanted, std::uint64_t generation,
                  std::uint64_t room);
  void ask(Asked& asked);
  void copied(std::uint32_t node, Asked& asked, pmix::msg::Copy copy, bool counts);
  void passed(Asked& asked, std::uint64_t bytes);
  void give(std::uint32_t node, Reader& reader, const Source& source, std::string_view bytes);
  void taken(std::uint32_t node, std::uint64_t bytes);
  void tell_others();

  const Job& job_;
  const RankSet& own_;
  Sides sides_;
  std::map<std::uint32_t, Reader> readers_;  // by node, this one too
  Wanted pulled_;                            // by this node's server
  std::map<std::uint32_t, Asked> asked_;     // other nodes
  std::uint64_t generation_ = 0;
  RankSet failed_;
  RankSet lost_;  // nodes
};

}  // namespace scela::nla
