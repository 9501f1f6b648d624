// The record of an agent's core: every event that it was given, and a digest of its answer.
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

std::string_view name_of(const Event& event);
std::string_view name_of(const Action& action);

// Returns an event in the form above, without its length.
std::string encode(const Event& event);
// Reads one event and leaves what follows it. Returns a protocol error if the bytes are no event.
Result<Event> decode_event(ByteReader& in);

// Digests every member of every action, in order. Messages count as the bytes that travel, with
// keys of engines as zeros.
std::uint64_t digest(const Actions& actions);

class RecordWriter {
 public:
  explicit RecordWriter(Role role);
  // `actions` is all that the agent answered to `event`, and nothing else.
  void add(const Event& event, const Actions& actions);
  std::size_t size() const { return out_.size(); }
  // Returns the bytes that were added since the last call. The first call returns the header in
  // front.
  std::string take();

 private:
  ByteWriter out_;
};

class RecordReader {
 public:
  struct Entry {
    Event event;
    std::uint64_t digest = 0;
  };

  // Returns a usage error if `log` is no record or has another version; the error then names both
  // versions. The reader borrows `log`.
  static Result<RecordReader> open(std::string_view log);

  Role role() const { return role_; }
  // Returns the next entry, and std::nullopt at the end of the log. Returns an error if the entry
  // is malformed; the reader is then of no further use.
  Result<std::optional<Entry>> next();
  // Call this after the end. Returns true if the last entry was not written to its end, for example
  // because the agent was killed.
  bool cut_short() const { return cut_short_; }

 private:
  RecordReader(Role role, ByteReader in) : role_(role), in_(in) {}
  Role role_;
  ByteReader in_;
  std::uint64_t index_ = 0;
  bool cut_short_ = false;
};

struct ReplayReport {
  struct Difference {
    std::uint64_t index = 0;  // position of the event, from 0
    std::string event;        // name of the event
    std::string actions;      // names of the replayed answers, to print
  };
  Role role = Role::agent;
  std::uint64_t events = 0;  // replayed, with the one that differed
  bool cut_short = false;
  std::optional<Difference> difference;  // the first; the replay ends there
  std::string text() const;              // one line, to print
};

// Returns the errors of RecordReader. A difference is a report, not an error.
Result<ReplayReport> replay(std::string_view log);

}  // namespace scela::nla
