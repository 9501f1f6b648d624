// Catch2's main(), by which a test case, or a section, that checks nothing has failed.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

int main(int argc, char* argv[]) {
  Catch::Session session;
  session.configData().warnings = Catch::WarnAbout::NoAssertions;
  return session.run(argc, argv);
}
