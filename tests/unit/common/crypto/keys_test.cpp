// Digests and the keys that are made of them.
#include <catch2/catch.hpp>
#include <set>

#include "common/crypto/engine_keys.h"
#include "common/crypto/hmac.h"

namespace keys_test {

using namespace scela;

namespace {

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char one : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(one) >> 4];
    out += "0123456789abcdef"[one & 15];
  }
  return out;
}

}  // namespace

TEST_CASE("HMAC gives what RFC 4231 says") {
  CHECK(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_CASE("HKDF gives what RFC 5869 says") {
  CHECK(hex(hkdf_sha256(std::string(22, '\x0b'), "")) ==
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

TEST_CASE("secrets are compared whole, and a secret that was wiped is empty") {
  CHECK(is_equal_secret("abc", "abc"));
  CHECK(is_equal_secret("", ""));
  CHECK_FALSE(is_equal_secret("abc", "abd"));
  CHECK_FALSE(is_equal_secret("abc", "ab"));
  std::string secret(40, 's');
  wipe(secret);
  CHECK(secret.empty());
}

TEST_CASE("each node's engine, and each direction between two, has a key of its own") {
  const std::string job(32, 'k');
  std::set<std::string> all{job};
  std::size_t count = 1;
  for (const std::string& other : {job, std::string(32, 'j')}) {
    for (const std::string& engine : {engine_key(other, "job-1"), engine_key(other, "job-2"),
                                      engine_key_of(other, 0), engine_key_of(other, 1)}) {
      for (const std::string& key :
           {engine, connection_key(engine, 0), connection_key(engine, 1)}) {
        CHECK(key.size() == kEngineKeyBytes);
        all.insert(key);
        ++count;
      }
    }
  }
  CHECK(all.size() == count);
  CHECK(engine_key(job, "job-1") == engine_key(job, "job-1"));
}

}  // namespace keys_test
