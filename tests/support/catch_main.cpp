// Catch2's main(), with two additions: a test case that checks nothing fails, and so does a name
// that no test case has.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <iostream>

namespace {

int checked_nothing = 0;

// Catch2's own warning, NoAssertions, is about each section too, and does not see what is checked
// behind a section.
struct Census : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseEnded(const Catch::TestCaseStats& ended) override {
    if (ended.totals.assertions.total() != 0) return;
    ++checked_nothing;
    std::cerr << "This test case checked nothing: " << ended.testInfo.name << std::endl;
  }
};
CATCH_REGISTER_LISTENER(Census)

}  // namespace

int main(int argc, char* argv[]) {
  Catch::Session session;
  session.configData().warnings = Catch::WarnAbout::NoTests;
  const int failed = session.run(argc, argv);
  return failed == 0 && checked_nothing > 0 ? 1 : failed;
}
