// The means by which every case of verbs-semantics judges: failures, skips, and a note of what the
// case waits for.
//
// A case is a function. It returns if the device did what it should, and throws otherwise. Each
// case runs in a process of its own, which the runner ends after a deadline. So loops that wait
// need no clock.
#pragma once

#include <infiniband/verbs.h>

#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace semantics {

struct Failed {
  std::string text;
};
struct Skipped {
  std::string text;
};

struct Case {
  const char* name;
  void (*run)();
};

[[noreturn]] void fail(const std::string& text);
[[noreturn]] void skip(const std::string& text);
void expect(bool holds, const std::string& what);

// Names what the case waits for, so that a case that never ends says where it stood.
void waiting_for(const std::string& what);
// Makes waiting_for write its last note into `notes`, memory that the runner shares with the
// process of the case.
inline constexpr size_t kNoteSize = 256;
void note_into(char* notes);

template <typename A, typename B>
void expect_equal(const std::string& what, const A& expected, const B& came) {
  if (expected == static_cast<A>(came)) return;
  std::ostringstream text;
  text << what << ": expected " << +expected << ", came " << +came;
  fail(text.str());
}

// `came` is an error number as the verbs return it: 0 or positive.
void expect_error(const std::string& what, int expected, int came);
// Accepts any error, for verbs with a manual that names no error number.
void expect_any_error(const std::string& what, int came);
void expect_works(const std::string& what, int came);
// A verb that creates an object must have failed: `object` must be null.
void expect_refused(const std::string& what, const void* object);

void expect_status(const std::string& what, ibv_wc_status expected, const ibv_wc& came);
void expect_completion(const std::string& what, const ibv_wc& came, uint64_t id,
                       ibv_wc_opcode opcode);

// Returns the cases that the program judges. Each judge has its own.
std::vector<Case> all_cases();

// The cases of each file, in the order in which they run.
std::span<const Case> query_cases();
std::span<const Case> state_cases();
std::span<const Case> posting_cases();
std::span<const Case> accounting_cases();
std::span<const Case> transfer_cases();
std::span<const Case> datagram_cases();
std::span<const Case> memory_cases();
std::span<const Case> protection_cases();
std::span<const Case> error_cases();
std::span<const Case> event_cases();
std::span<const Case> srq_cases();
std::span<const Case> object_cases();
std::span<const Case> extended_cases();
std::span<const Case> thread_cases();
std::span<const Case> xrc_cases();
std::span<const Case> process_cases();

}  // namespace semantics
