#include "tests/verbs/semantics/judge.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace semantics {
namespace {

char* g_notes = nullptr;

std::string error_name(int number) {
  return number == 0 ? "0" : std::to_string(number) + " (" + std::strerror(number) + ")";
}

}  // namespace

void fail(const std::string& text) {
  throw Failed{text};
}
void skip(const std::string& text) {
  throw Skipped{text};
}

void expect(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

void note_into(char* notes) {
  g_notes = notes;
}

void waiting_for(const std::string& what) {
  if (g_notes != nullptr) std::snprintf(g_notes, kNoteSize, "%s", what.c_str());
}

void expect_error(const std::string& what, int expected, int came) {
  if (came != expected) {
    fail(what + ": expected error " + error_name(expected) + ", came " + error_name(came));
  }
}

void expect_any_error(const std::string& what, int came) {
  expect(came != 0, what + ": expected an error, but it worked");
}

void expect_works(const std::string& what, int came) {
  if (came != 0) fail(what + ": came error " + error_name(came < 0 ? errno : came));
}

void expect_refused(const std::string& what, const void* object) {
  expect(object == nullptr, what + ": expected an error, but it worked");
}

void expect_status(const std::string& what, ibv_wc_status expected, const ibv_wc& came) {
  if (came.status == expected) return;
  fail(what + ": expected status \"" + ibv_wc_status_str(expected) + "\", came \"" +
       ibv_wc_status_str(came.status) + "\"");
}

void expect_completion(const std::string& what, const ibv_wc& came, uint64_t id,
                       ibv_wc_opcode opcode) {
  expect_status(what, IBV_WC_SUCCESS, came);
  expect_equal(what + ", wr_id", id, came.wr_id);
  expect_equal(what + ", opcode", static_cast<int>(opcode), static_cast<int>(came.opcode));
}

}  // namespace semantics
