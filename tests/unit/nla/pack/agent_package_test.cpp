// Tests the package that the build has made, and files that are none.
#include "nla/pack/agent_package.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "common/core/text.h"
#include "common/crypto/digest.h"
#include "common/os/syscall.h"
#include "nla/pack/package_format.h"
#include "tests/support/temporary_home.h"

namespace agent_package_test {

using namespace scela;
using namespace scela::nla;

namespace {

Result<AgentPackage> open(const std::string& path) {
  Result<Fd> file = open_file(path, O_RDONLY);
  REQUIRE(file);
  return AgentPackage::open(std::move(*file), path);
}

// Returns a package with right digests. Its content is no program.
std::string package_of(const std::string& content, std::string* sha256) {
  PackageTrailer trailer{};
  std::memcpy(trailer.magic, SCELA_PACKAGE_MAGIC, sizeof trailer.magic);
  std::memcpy(trailer.agent_build, "abc123", 6);
  std::memcpy(trailer.agent_machine, "x86_64", 6);
  std::memset(trailer.agent_sha256, '5', 64);
  std::memset(trailer.agent_blake2b, 'b', 128);
  const std::string_view bytes(reinterpret_cast<const char*>(&trailer), sizeof trailer);
  *sha256 = package_digest(content, bytes);
  std::memcpy(trailer.package_sha256, sha256->data(), sha256->size());
  return cat(content, bytes);
}

}  // namespace

TEST_CASE("a package has facts, and gives its bytes for its digest only") {
  const test::TemporaryHome home;
  std::string sha256;
  const std::string whole = package_of("content", &sha256);
  home.write("package", whole);
  Result<AgentPackage> package = open(home.path("package"));
  REQUIRE(package);
  const PackageFacts& facts = package->facts();
  CHECK(facts.size == whole.size());
  CHECK(facts.agent_build == "abc123");
  CHECK(facts.agent_machine == "x86_64");
  CHECK(facts.agent_sha256 == std::string(64, '5'));
  CHECK(facts.agent_blake2b == std::string(128, 'b'));
  CHECK(facts.package_sha256 == sha256);
  CHECK_FALSE(package->bytes(""));
  CHECK_FALSE(package->bytes(std::string(64, '0')));
  const Result<Chunk> bytes = package->bytes(sha256);
  REQUIRE(bytes);
  CHECK(bytes->view() == whole);
}

TEST_CASE("a package with other bytes is not given out, also if its own digest fits") {
  const test::TemporaryHome home;
  std::string sha256, other;
  const std::string whole = package_of("content", &sha256);
  for (std::size_t at = 0; at < whole.size() - sizeof PackageTrailer::package_sha256; ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    home.write("package", changed);
    Result<AgentPackage> package = open(home.path("package"));
    if (package) CHECK_FALSE(package->bytes(sha256));
  }
  home.write("package", package_of("forgery", &other));
  CHECK_FALSE(open(home.path("package"))->bytes(sha256));
}

TEST_CASE("a file without the trailer is no package") {
  const test::TemporaryHome home;
  std::string sha256;
  const std::string whole = package_of("content", &sha256);
  for (const std::string& text : {std::string(), std::string("x"), std::string(5000, 'x'),
                                  whole.substr(0, whole.size() - 1), whole + "x"}) {
    home.write("package", text);
    CHECK_FALSE(open(home.path("package")));
  }
  CHECK_FALSE(find_package(home.path("scela-nla"), "abc123"));
}

TEST_CASE("the package beside an agent is taken only if it is of the same build") {
  const test::TemporaryHome home;
  std::string sha256;
  home.write(kPackageName, package_of("content", &sha256));
  CHECK(find_package(home.path("scela-nla"), "abc123"));
  CHECK_FALSE(find_package(home.path("scela-nla"), "abc124"));
}

TEST_CASE("SHA-256 of pieces is that of the whole") {
  // FIPS 180-2, appendix B.1.
  const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  CHECK(sha256_hex({"abc"}) == abc);
  CHECK(sha256_hex({"a", "", "bc"}) == abc);
}

}  // namespace agent_package_test
