// The record of an agent's core: every event that it was given, and a digest of its answer. The
// core is the agent's state machine (nla/core/tree/agent.h).
//
//   log    := "ScELA-rec" version:u16 role:u8 entry*
//   entry  := event:(varint length, bytes) digest:u64
//   event  := kind:u8 (position in Event plus one), its members in the order of
//             nla/core/tree/events.h
//
// A core is deterministic, so its events alone reproduce a run: replay() gives them to a fresh
// agent and compares digests. `scela-run --record FILE` writes a record, and the simulator reads
// it. Pure: the writer appends to a string that a shell writes out, and the reader borrows a string
// that a shell has read. No lock: one thread at a time uses a writer or reader.
//
// Messages between agents about adapter engines hold keys (nla/core/pmix/engine_directory.h). A
// record has zeros in their place, and the digest is made of the zeros.
//
// Version 1 of the format is bound to kProtocolVersion, because messages are recorded as they
// travelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/bytes.h"
#include "common/core/result.h"
#include "nla/core/tree/actions.h"
#include "nla/core/tree/agent.h"
#include "nla/core/tree/events.h"

namespace scela::nla {

inline constexpr std::uint16_t kRecordVersion = 1;

// Returns the name of the event's kind, to print.
std::string_view name_of(const Event& event);
// Returns the name of the action's kind, to print.
std::string_view name_of(const Action& action);

// Returns an event in the form above, without its length.
std::string encode(const Event& event);
// Reads one event and leaves what follows it. Returns a protocol error if the bytes are no event.
Result<Event> decode_event(ByteReader& in);

// Returns a hash of every member of every action, in order. Messages count as the bytes that
// travel, with keys of engines as zeros.
std::uint64_t digest(const Actions& actions);

// Makes a record, in memory.
class RecordWriter {
 public:
  // Begins a record of an agent with this role.
  explicit RecordWriter(Role role);
  // Appends one entry. `actions` is all that the agent answered to `event`, and nothing else.
  void add(const Event& event, const Actions& actions);
  // Returns the number of bytes that take() would return.
  std::size_t size() const { return out_.size(); }
  // Returns the bytes that were added since the last call. The first call returns the header in
  // front.
  std::string take();

 private:
  ByteWriter out_;
};

// Reads the entries of a record, in order.
class RecordReader {
 public:
  // One event, and the digest() of the actions that answered it.
  struct Entry {
    Event event;
    std::uint64_t digest = 0;
  };

  // Returns a reader of `log`, which it borrows. Returns a usage error if `log` is no record or has
  // another version; the error then names both versions.
  static Result<RecordReader> open(std::string_view log);

  // Returns the role of the agent that was recorded.
  Role role() const { return role_; }
  // Returns the next entry, and std::nullopt at the end of the log. Returns an error if the entry
  // is malformed; the reader is then of no further use.
  Result<std::optional<Entry>> next();
  // To be called when next() has returned std::nullopt. Returns true if the last entry was not
  // written to its end, for example because the agent was killed.
  bool cut_short() const { return cut_short_; }

 private:
  RecordReader(Role role, ByteReader in) : role_(role), in_(in) {}
  Role role_;
  ByteReader in_;
  std::uint64_t index_ = 0;
  bool cut_short_ = false;
};

// The result of replay().
struct ReplayReport {
  // The first event for which the replayed answer differed from the recorded one.
  struct Difference {
    std::uint64_t index = 0;  // position of the event, from 0
    std::string event;        // name of the event
    std::string actions;      // names of the replayed answers, to print
  };
  Role role = Role::agent;
  // The number of events that were replayed, with the one that differed.
  std::uint64_t events = 0;
  // As RecordReader::cut_short().
  bool cut_short = false;
  std::optional<Difference> difference;  // the first; the replay ends there
  std::string text() const;              // one line, to print
};

// Replays a record and returns what came of it; a difference is no error. Returns the errors of
// RecordReader.
Result<ReplayReport> replay(std::string_view log);

}  // namespace scela::nla
