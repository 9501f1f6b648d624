#include "nla/node/job_keys.h"

#include <catch2/catch.hpp>

namespace job_keys_test {

using namespace scela;
using namespace scela::nla;

namespace {

// scela-run, which makes the keys of a job.
struct Root {
  Root() { context.job_id = "a-job"; }
  ShellContext context{Role::root, "", false, Fd()};
  JobKeys keys{context};
};

TEST_CASE("a child gets the keys of its slice from the root, and no others") {
  Root root;
  CHECK_FALSE(root.keys.known());
  const Introduction introduction = root.keys.introduction({2, 5});
  CHECK(root.keys.known());
  CHECK(introduction.root);
  CHECK(introduction.child == 2);
  CHECK(introduction.job_id == "a-job");

  const ShellContext context{Role::agent, "node002", true, Fd()};
  JobKeys child(context);
  REQUIRE(child.accept(introduction));
  CHECK(child.known());
  CHECK(child.keys().of(4) == root.keys.keys().of(4));
  CHECK(child.keys().of(1).empty());
  CHECK(child.keys().of(5).empty());
  CHECK(child.marks().key() == root.keys.marks().key());
  CHECK(child.parent().root);
  CHECK(child.parent().keys.empty());
}

TEST_CASE("all children of the root get keys of one job") {
  Root root;
  const Introduction first = root.keys.introduction({0, 4});
  const Introduction second = root.keys.introduction({0, 4});
  CHECK(first.keys == second.keys);
  CHECK(first.common == second.common);
}

TEST_CASE("malformed keys are refused, and none are known then") {
  Root root;
  Introduction introduction = root.keys.introduction({2, 5});
  introduction.keys.pop_back();
  const ShellContext context{Role::agent, "node002", true, Fd()};
  JobKeys child(context);
  CHECK_FALSE(child.accept(introduction));
  CHECK_FALSE(child.accept(fail(Error{ErrorKind::protocol, "read a frame", "", "", ""})));
  CHECK_FALSE(child.known());
}

}  // namespace
}  // namespace job_keys_test
