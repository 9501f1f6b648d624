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

template <class Part>
std::string_view bytes_of(const Part& part) {
  return {reinterpret_cast<const char*>(&part), sizeof part};
}

// Returns a package and its digest. Its content is no program.
std::string package_of(const std::string& content, std::string* sha256) {
  PackageTrailer trailer{};
  std::memcpy(trailer.magic, SCELA_PACKAGE_MAGIC, sizeof trailer.magic);
  std::memcpy(trailer.agent_build, "abc123", 6);
  std::memcpy(trailer.agent_machine, "x86_64", 6);
  const std::string whole = cat(content, bytes_of(trailer));
  *sha256 = sha256_hex({whole});
  return whole;
}

// Returns the record that the build adds.
std::string record_of(char sha256, char blake2b) {
  PackageRecord record{};
  std::memcpy(record.magic, SCELA_DIGESTS_MAGIC, sizeof record.magic);
  std::memset(record.package.sha256, sha256, 64);
  std::memset(record.package.blake2b, blake2b, 128);
  return std::string(bytes_of(record));
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
  CHECK(facts.digests.text().empty());
  CHECK_FALSE(package->bytes(""));
  CHECK_FALSE(package->bytes(std::string(64, '0')));
  const Result<Chunk> bytes = package->bytes(sha256);
  REQUIRE(bytes);
  CHECK(bytes->view() == whole);
}

TEST_CASE("the record of the digests is read, and is not a part of the package") {
  const test::TemporaryHome home;
  std::string sha256;
  const std::string whole = package_of("content", &sha256);
  home.write("package", whole + record_of('5', 'b'));
  Result<AgentPackage> package = open(home.path("package"));
  REQUIRE(package);
  const Digests& digests = package->facts().digests;
  CHECK(digests.sha256 == std::string(64, '5'));
  CHECK(digests.blake2b == std::string(128, 'b'));
  CHECK(Digests::parse(digests.text()).blake2b == digests.blake2b);
  CHECK(Digests::parse("").sha256.empty());
  CHECK(package->bytes(sha256)->view() == whole);
}

TEST_CASE("of a pair, the large agent's package is given out alone if it has the wanted digest") {
  const test::TemporaryHome home;
  std::string large_sha256, leaf_sha256;
  const std::string large = package_of("large", &large_sha256);
  const std::string leaf = package_of("leaf", &leaf_sha256);
  PackageTrailer trailer{};
  std::memcpy(&trailer, large.data() + 5, sizeof trailer);
  trailer.leaf_at = large.size();
  trailer.leaf_size = leaf.size();
  std::memcpy(trailer.large.sha256, large_sha256.data(), 64);
  std::memcpy(trailer.leaf.sha256, leaf_sha256.data(), 64);
  const std::string pair = cat(large, leaf, bytes_of(trailer));
  const std::string sha256 = sha256_hex({pair});
  home.write("package", pair + record_of('5', 'b'));
  const auto chosen = [&](const std::string& wanted) {
    Result<AgentPackage> package = open(home.path("package"));
    REQUIRE(package);
    package->choose(wanted);
    return std::move(*package);
  };
  AgentPackage both = chosen(sha256);
  REQUIRE(both.leaf());
  CHECK(both.leaf()->digests.sha256 == leaf_sha256);
  CHECK(both.leaf_bytes(sha256)->view() == leaf);
  CHECK(both.bytes(sha256)->view() == pair);
  AgentPackage alone = chosen(large_sha256);
  CHECK_FALSE(alone.leaf());
  CHECK(alone.facts().digests.sha256 == large_sha256);
  CHECK(alone.bytes(large_sha256)->view() == large);
}

TEST_CASE("a package with other bytes is not given out") {
  const test::TemporaryHome home;
  std::string sha256, other;
  const std::string whole = package_of("content", &sha256);
  for (std::size_t at = 0; at < whole.size(); ++at) {
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
