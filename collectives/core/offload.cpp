#include "collectives/core/offload.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

namespace {

using Do = OffloadTask::Kind;
using Memory = OffloadPlace::Memory;
using Places = std::vector<OffloadPlace>;

bool overlap(const OffloadPlace& one, const OffloadPlace& other) {
  return one.memory == other.memory && one.offset < other.offset + other.bytes &&
         other.offset < one.offset + one.bytes;
}

// The messages with one peer in one direction that no wait has covered.
struct Way {
  struct Message {
    std::uint32_t parts = 1;
    OffloadPlace staged;  // if its blocks are no run; else 0 bytes
    Places places;        // where the blocks belong
  };
  std::deque<Message> begun;
  std::deque<Blocks> held;
};

class Planner {
 public:
  explicit Planner(const Layout& layout) : layout_(layout) {}

  void take(const Task& task) {
    switch (task.kind) {
      case Kind::send:
        if (task.held)
          sends_[task.peer].held.push_back(task.from);
        else
          send(task.peer, task.from);
        return;
      case Kind::receive:
        return receive(task.peer, task.to);
      case Kind::wait_sent:
        return wait(Do::wait_sent, sends_[task.peer], task);
      case Kind::wait_received:
        return wait(Do::wait_received, receives_[task.peer], task);
      case Kind::copy:
        return copy(places_of(task.from), places_of(task.to));
      case Kind::reduce:
        return reduce(task);
      case Kind::enable:
        return enable(task);
      case Kind::signal:
        wait_copies();
        ++plan_.signals;
        add({});
        return;
    }
  }

  OffloadPlan made() {
    wait_copies();
    return std::move(plan_);
  }

 private:
  void enable(const Task& task) {
    Way& way = sends_[task.peer];
    for (std::uint32_t i = 0; i < task.count && !way.held.empty(); ++i) {
      send(task.peer, way.held.front());
      way.held.pop_front();
    }
  }

  void send(int peer, const Blocks& blocks) {
    Places places = places_of(blocks);
    OffloadPlace whole = run_of(places);
    if (places.size() > 1) {
      whole = staging(whole.bytes);
      copy(places, {whole});
    }
    wait_copies();
    sends_[peer].begun.push_back({in_parts(whole,
                                           [&](const OffloadPlace& part) {
                                             OffloadTask task;
                                             task.kind = Do::send;
                                             task.peer = speaks_with(peer);
                                             task.from = part;
                                             add(task);
                                           }),
                                  {},
                                  {}});
  }

  void receive(int peer, const Blocks& blocks) {
    Places places = places_of(blocks);
    OffloadPlace whole = run_of(places);
    Way::Message message;
    if (places.size() > 1) {
      whole = staging(whole.bytes);
      message.staged = whole;
      message.places = std::move(places);
    }
    wait_copies();
    message.parts = in_parts(whole, [&](const OffloadPlace& part) {
      OffloadTask task;
      task.kind = Do::announce;
      task.peer = speaks_with(peer);
      task.to = part;
      add(task);
    });
    receives_[peer].begun.push_back(std::move(message));
  }

  void wait(Do kind, Way& way, const Task& task) {
    wait_copies();
    OffloadTask made;
    made.kind = kind;
    made.peer = task.peer;
    std::vector<Way::Message> over;
    for (std::uint32_t i = 0; i < task.count && !way.begun.empty(); ++i) {
      made.count += way.begun.front().parts;
      over.push_back(std::move(way.begun.front()));
      way.begun.pop_front();
    }
    if (made.count != 0) add(made);
    for (const Way::Message& message : over)
      if (message.staged.bytes != 0) copy({message.staged}, message.places);
  }

  // Copies that do not depend on each other are under way at once.
  void copy(const Places& from, const Places& to) {
    for_pieces(from, to, [this](const OffloadPlace& source, const OffloadPlace& target) {
      if (source.memory == target.memory && source.offset == target.offset) return;
      const bool meets = std::ranges::any_of(copies_, [&](const auto& other) {
        return overlap(other.second, source) || overlap(other.first, target) ||
               overlap(other.second, target);
      });
      if (meets || copies_.size() == kMaxCopies) wait_copies();
      OffloadTask task;
      task.kind = Do::copy;
      in_parts(source, [&](const OffloadPlace& part) {
        task.from = part;
        task.to = target;
        task.to.offset += part.offset - source.offset;
        task.to.bytes = part.bytes;
        add(task);
        copies_.emplace_back(task.from, task.to);
      });
    });
  }
  void wait_copies() {
    if (copies_.empty()) return;
    OffloadTask task;
    task.kind = Do::wait_copies;
    task.count = static_cast<std::uint32_t>(copies_.size());
    add(task);
    copies_.clear();
  }

  void reduce(const Task& task) {
    wait_copies();
    for_pieces(places_of(task.from), places_of(task.to),
               [&](const OffloadPlace& from, const OffloadPlace& to) {
                 for (std::uint64_t done = 0; done < to.bytes; done += kLongestCalculation) {
                   const std::uint64_t bytes = std::min(kLongestCalculation, to.bytes - done);
                   OffloadTask made;
                   made.kind = Do::reduce;
                   made.from_right = task.from_right;
                   made.from = {from.memory, from.offset + done, bytes};
                   made.to = {to.memory, to.offset + done, bytes};
                   add(made);
                 }
               });
  }

  // ---- bytes ----

  // Returns the runs of bytes that the blocks make, none of them empty.
  Places places_of(const Blocks& blocks) const {
    const BlockSizes& sizes = layout_.of(blocks.space);
    const auto memory = static_cast<Memory>(blocks.space);
    Places places;
    for (std::uint32_t block = blocks.first; block < blocks.first + blocks.count; ++block) {
      const OffloadPlace place{memory, sizes.offset(block), sizes.size(block)};
      if (place.bytes == 0) continue;
      if (!places.empty() && places.back().offset + places.back().bytes == place.offset)
        places.back().bytes += place.bytes;
      else
        places.push_back(place);
    }
    return places;
  }
  // Returns the first place, extended by the bytes of all others.
  static OffloadPlace run_of(const Places& places) {
    OffloadPlace whole;
    if (places.empty()) return whole;
    whole = places.front();
    for (std::size_t i = 1; i < places.size(); ++i)
      whole.bytes += places[i].bytes;
    return whole;
  }
  OffloadPlace staging(std::uint64_t bytes) {
    const OffloadPlace place{Memory::staging, plan_.staging, bytes};
    plan_.staging += bytes;
    return place;
  }

  template <class Act>
  static void for_pieces(const Places& from, const Places& to, Act act) {
    std::uint64_t from_done = 0;
    std::uint64_t to_done = 0;
    for (std::size_t i = 0, j = 0; i < from.size() && j < to.size();) {
      const std::uint64_t bytes = std::min(from[i].bytes - from_done, to[j].bytes - to_done);
      act(OffloadPlace{from[i].memory, from[i].offset + from_done, bytes},
          OffloadPlace{to[j].memory, to[j].offset + to_done, bytes});
      from_done += bytes;
      to_done += bytes;
      if (from_done == from[i].bytes) {
        ++i;
        from_done = 0;
      }
      if (to_done == to[j].bytes) {
        ++j;
        to_done = 0;
      }
    }
  }
  // A message of no bytes has one part.
  template <class Act>
  static std::uint32_t in_parts(const OffloadPlace& whole, Act act) {
    std::uint32_t parts = 0;
    std::uint64_t done = 0;
    do {
      const std::uint64_t bytes = std::min(kLongestRequest, whole.bytes - done);
      act(OffloadPlace{whole.memory, whole.offset + done, bytes});
      done += bytes;
      ++parts;
    } while (done < whole.bytes);
    return parts;
  }

  int speaks_with(int peer) {
    if (std::ranges::find(plan_.peers, peer) == plan_.peers.end()) plan_.peers.push_back(peer);
    return peer;
  }
  void add(const OffloadTask& task) { plan_.tasks.push_back(task); }

  const Layout& layout_;
  OffloadPlan plan_;
  std::map<int, Way> sends_;
  std::map<int, Way> receives_;
  std::vector<std::pair<OffloadPlace, OffloadPlace>> copies_;  // under way, as pairs (from, to)
};

std::string text_of(const OffloadPlace& place) {
  constexpr const char* kNames[] = {"in", "out", "scratch", "staging"};
  return cat(kNames[static_cast<std::size_t>(place.memory)], "@", place.offset, "+", place.bytes);
}

}  // namespace

OffloadPlan plan_offload(const TaskList& list, const Layout& layout) {
  Planner planner(layout);
  for (const Task& task : list.tasks)
    planner.take(task);
  return planner.made();
}

std::string to_text(const OffloadTask& task) {
  switch (task.kind) {
    case Do::announce:
      return cat("announce ", task.peer, " ", text_of(task.to));
    case Do::send:
      return cat("send ", task.peer, " ", text_of(task.from));
    case Do::wait_sent:
      return cat("wait sent ", task.peer, " ", task.count);
    case Do::wait_received:
      return cat("wait received ", task.peer, " ", task.count);
    case Do::copy:
      return cat("copy ", text_of(task.from), " -> ", text_of(task.to));
    case Do::wait_copies:
      return cat("wait copies ", task.count);
    case Do::reduce:
      return task.from_right ? cat("reduce ", text_of(task.to), " <- ", text_of(task.from))
                             : cat("reduce ", text_of(task.from), " -> ", text_of(task.to));
    case Do::signal:
      break;
  }
  return "signal";
}

std::string to_text(const OffloadPlan& plan) {
  std::string text;
  for (const OffloadTask& task : plan.tasks)
    text += to_text(task) + "\n";
  return text;
}

}  // namespace scela::collectives
