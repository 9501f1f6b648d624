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

// All are made at the first use, so that no later call needs memory for them.
struct Shared {
  Operation& sent = made({}, Waited::no);
  Operation& sent_and_waited_for = made({}, Waited::yes);
  Operation& failed = made(error_of_child(), Waited::no);
  Operation& failed_and_waited_for = made(error_of_child(), Waited::yes);
};

Shared& shared() {
  static Shared all;
  return all;
}

}  // namespace

Operation& sent_at_once() {
  return shared().sent;
}

Operation& of_child() {
  return shared().failed;
}

Operation& after_wait(const Operation& shared_one) {
  return shared_one.status.ok() ? shared().sent_and_waited_for : shared().failed_and_waited_for;
}

}  // namespace scela::channel
