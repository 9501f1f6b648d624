#include "collectives/communicator/refused_request.h"

#include <utility>

#include "comm-channel/include/inside.h"

namespace scela::collectives {

namespace {

class RefusedRequest final : public channel::RequestBody {
 public:
  explicit RefusedRequest(Status why) : why_(std::move(why)) {}

  bool test() override { return true; }
  Status wait(Timeout) override {
    was_waited_for_ = true;
    return why_;
  }
  const Status& status() override { return why_; }
  Status start() override { return why_; }
  bool persistent() const override { return false; }
  std::string describe() const override { return "refused operation"; }
  bool is_over() const override { return !was_waited_for_; }
  channel::RequestMover* mover() const override { return nullptr; }
  void release() override { delete this; }

 private:
  const Status why_;
  bool was_waited_for_ = false;
};

}  // namespace

// It is made once, since moves of communicators may not need memory.
const Status& error_of_empty() {
  static const Status empty(
      Code::bad_communicator, -1,
      "this communicator is empty: it was freed or moved from, could not be made, or does not "
      "contain this rank");
  return empty;
}

Request refused_request(Status why) {
  return channel::Inside::request_of(*new RefusedRequest(std::move(why)));
}

}  // namespace scela::collectives
