#include "collectives/executors/run/run_failure.h"

#include <cstring>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

namespace {

// The form of a note on the wire.
struct Note {
  std::uint64_t magic = 0;
  std::int32_t rank = -1;  // the rank at fault
  std::uint8_t code = 0;
  std::uint8_t refusal = 0;
  std::uint8_t unused[10] = {};
};
static_assert(sizeof(Note) == FailureNote::kBytes);
constexpr std::uint64_t kMagic = 0x5ce1'a000'dead'f417;

constexpr bool is_code(std::uint8_t code) {
  return code <= static_cast<std::uint8_t>(FaultCode::other);
}

}  // namespace

std::string RunError::text() const {
  return fault.words;
}

FailureNote::FailureNote(const Fault& fault) {
  Note note;
  note.magic = kMagic;
  note.rank = fault.rank;
  note.code = static_cast<std::uint8_t>(fault.code);
  note.refusal = static_cast<std::uint8_t>(fault.refusal);
  std::memcpy(bytes_.data(), &note, sizeof note);
}

std::optional<Fault> FailureNote::read(std::span<const std::byte> bytes, int sender) {
  Note note;
  std::memcpy(&note, bytes.data(), sizeof note);
  if (note.magic != kMagic || !is_code(note.code)) return std::nullopt;
  const auto code = static_cast<FaultCode>(note.code);
  const auto refusal = static_cast<Refusal>(note.refusal);
  const std::string why =
      refusal == Refusal::none ? std::string(name_of(code)) : reason_of(refusal);
  return Fault{code, note.rank, cat("rank ", note.rank, ": ", why, " (rank ", sender, " says so)"),
               refusal};
}

void RunFailure::record(Fault fault, std::uint32_t task, const TaskList& list, int own_rank) {
  if (error_) return;
  if (fault.rank < 0) fault.rank = own_rank;
  if (task < list.tasks.size())
    fault.words = cat(fault.words, " [task ", task, " '", to_text(list.tasks[task]), "']");
  note_ = FailureNote(fault);
  error_ = RunError{std::move(fault), task};
}

// After a message of an unexpected length, the lists of the ranks may not meet any more. That does
// not apply if calls are compared before anything else is sent, or if a rank goes through its list
// with notes.
bool RunFailure::is_lasting() const {
  const Fault& fault = error_->fault;
  return fault.code == FaultCode::peer_ended ||
         (fault.code == FaultCode::mismatch && fault.refusal == Refusal::none &&
          error_->task != kNoTask);
}

}  // namespace scela::collectives
