#include "comm-channel/api/shared_operations.h"

#include "comm-channel/engine/error_words.h"

namespace scela::channel {

namespace {

enum class Waited : bool { no, yes };

Operation& made(const Status& status, Waited waited) {
  auto* const one = new Operation;
  one->is_send = true;
  one->everybodys = true;
  one->phase = Phase::complete;
  one->status = status;
  one->was_waited_for = waited == Waited::yes;
  return *one;
}

}  // namespace

Operation& sent_at_once() {
  static Operation& sent = made({}, Waited::no);
  return sent;
}

Operation& of_child() {
  static Operation& failed = made(error_of_child(), Waited::no);
  return failed;
}

Operation& after_wait(const Operation& shared) {
  static Operation& sent = made({}, Waited::yes);
  static Operation& failed = made(error_of_child(), Waited::yes);
  return shared.status.ok() ? sent : failed;
}

}  // namespace scela::channel
