#include <cstddef>
#include <string>

#include "capi/handles.h"

namespace scela::capi {

static_assert(static_cast<int>(Code::ok) == SCELA_OK);
static_assert(static_cast<int>(Code::bad_argument) == SCELA_BAD_ARGUMENT);
static_assert(static_cast<int>(Code::truncated) == SCELA_TRUNCATED);
static_assert(static_cast<int>(Code::closed) == SCELA_CLOSED);
static_assert(static_cast<int>(ElementType::int16_index) == SCELA_INT16_INDEX);
static_assert(static_cast<int>(ReduceOp::maxloc) == SCELA_MAXLOC);
static_assert(sizeof(scela_part) == sizeof(Part) &&
              offsetof(scela_part, offset) == offsetof(Part, offset));

namespace {

struct LastError {
  std::string text;
  const char* fixed = "no call of this thread has failed";  // instead of the text, unless null
  int rank = -1;
};
thread_local LastError last_error;

}  // namespace

scela_code report(const Status& status) noexcept {
  if (status.ok()) return SCELA_OK;
  last_error.rank = status.rank();
  try {
    last_error.text = status.message();
    last_error.fixed = nullptr;
  } catch (const std::bad_alloc&) {
    last_error.fixed = name_of(status.code());
  }
  return code_of(status.code());
}

scela_code refuse(Code code, const char* text) noexcept {
  last_error.fixed = text;
  last_error.rank = -1;
  return code_of(code);
}

}  // namespace scela::capi

using namespace scela::capi;

const char* scela_code_name(scela_code code) {
  if (code == SCELA_OTHER) return scela::name_of(scela::Code::other);
  return code >= SCELA_OK && code <= SCELA_CLOSED ? scela::name_of(static_cast<scela::Code>(code))
                                                  : "not a code";
}

const char* scela_message(void) {
  return last_error.fixed != nullptr ? last_error.fixed : last_error.text.c_str();
}

int scela_message_rank(void) {
  return last_error.rank;
}
