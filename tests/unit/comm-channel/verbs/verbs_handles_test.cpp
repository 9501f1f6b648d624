#include "comm-channel/verbs/verbs_handles.h"

#include <catch2/catch.hpp>
#include <string>
#include <type_traits>

namespace verbs_handles_test {

using namespace scela::channel::verbs;

namespace {

struct Thing {
  char name;
};
std::string gone;

int destroy(Thing* thing) {
  gone += thing->name;
  return 0;
}

}  // namespace

TEST_CASE("objects made from another keep it alive, in any order of release") {
  static_assert(!std::is_copy_constructible_v<Qp> && std::is_nothrow_move_constructible_v<Qp>);
  gone.clear();
  Thing device{'d'}, domain{'p'}, queue{'c'}, pair{'q'};
  {
    Handle<Thing> d(&device, destroy);
    Handle<Thing> p(&domain, destroy, {d.keep()});
    Handle<Thing> c(&queue, destroy, {d.keep()});
    Handle<Thing> q(&pair, destroy, {p.keep(), c.keep()});
    d.reset();
    p.reset();
    CHECK(gone.empty());
    CHECK_FALSE(p);
    CHECK(p.get() == nullptr);
    Handle<Thing> moved = std::move(q);
    CHECK(moved->name == 'q');
    c.reset();
    CHECK(gone.empty());
    moved.reset();
    CHECK(gone.substr(0, 1) == "q");
    CHECK(gone.back() == 'd');
    CHECK(gone.size() == 4);
  }
  CHECK(gone.size() == 4);
}

TEST_CASE("a handle that is overwritten ends what it had") {
  gone.clear();
  Thing first{'1'}, second{'2'};
  Handle<Thing> handle(&first, destroy);
  handle = Handle<Thing>(&second, destroy);
  CHECK(gone == "1");
  handle = {};
  CHECK(gone == "12");
}

}  // namespace verbs_handles_test
