// The record of an agent's core: every event that it was given and a digest of what it answered.
//
//   log    := "ScELA-rec" version:u16 role:u8 entry*
//   entry  := event:(varint length, bytes) digest:u64
//   event  := kind:u8 (position in Event plus one), its members in the order of events.h
//
// A core is deterministic, so its events alone reproduce a run: replay() gives them to a fresh
// agent and compares digests. Written by `scela-run --record FILE`, read by the simulator. Pure:
// the writer appends to a string that a shell writes out, the reader borrows a string that a shell
// has read.
//
// What agents say to each other of the adapter's engines holds keys (engine_desk.h). A record has
// zeros in their place, and the digest is made of these.
//
// Version 1 of the format is bound to kProtocolVersion, since messages are recorded as they
// travelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/bytes.h"
#include "common/core/result.h"
#include "nla/core/actions.h"
#include "nla/core/agent.h"
#include "nla/core/events.h"

namespace scela::nla {

inline constexpr std::uint16_t kRecordVersion = 1;

std::string_view name_of(const Event& event);
std::string_view name_of(const Action& action);

std::string encode(const Event& event);
// Reads one event and leaves what follows it. Error (protocol): the bytes are no event.
Result<Event> decode_event(ByteReader& in);

// Over every member of every action in order; messages count as the bytes that they travel as.
std::uint64_t digest(const Actions& actions);

class RecordWriter {
 public:
  explicit RecordWriter(Role role);
  // `actions`: all that the agent answered to `event`, nothing else.
  void add(const Event& event, const Actions& actions);
  std::size_t size() const { return out_.size(); }
  // What was added since the last call; the first time with the header in front.
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

  // Error (usage): not a record, or of another version; both versions are named. Borrows `log`.
  static Result<RecordReader> open(std::string_view log);

  Role role() const { return role_; }
  // The next entry; empty at the end of the log. Error: the entry is malformed; final.
  Result<std::optional<Entry>> next();
  // After the end: the last entry was not written to its end, as when the agent was killed.
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
    std::uint64_t index = 0;  // of the event, from 0
    std::string event;        // its name
    std::string actions;      // names of what the replay answered, for a person
  };
  Role role = Role::agent;
  std::uint64_t events = 0;  // replayed, the one that differed included
  bool cut_short = false;
  std::optional<Difference> difference;  // the first; nothing is replayed after it
  std::string text() const;              // one line
};

// Error: as RecordReader. A difference is a report, not an error.
Result<ReplayReport> replay(std::string_view log);

}  // namespace scela::nla
