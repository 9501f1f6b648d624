#include "common/crypto/tls_algorithms.h"

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/provider.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

// The entrance of the default provider. The library has it for its own list of providers, and no
// header declares it. OSSL_provider_init_fn is the type of such an entrance (provider-base(7)).
// NOLINTNEXTLINE(readability-identifier-naming): the name is that of the library.
extern "C" OSSL_provider_init_fn ossl_default_provider_init;

namespace scela {

namespace {

// The algorithms that a handshake and its records ask for. TLS 1.3 has no handshake without a list
// of signatures, so there is Ed25519, although no session ever signs. OpenSSL takes it out if there
// is no ECDSA.
struct Kept {
  int operation;
  std::array<std::string_view, 4> names;
};
constexpr std::array kKept = {
    Kept{OSSL_OP_DIGEST, {"SHA2-256"}},
    Kept{OSSL_OP_CIPHER, {"AES-128-GCM", "AES-256-CTR", "AES-256-ECB"}},
    Kept{OSSL_OP_MAC, {"HMAC"}},
    Kept{OSSL_OP_KDF, {"HKDF", "TLS13-KDF"}},
    Kept{OSSL_OP_KEYEXCH, {"X25519"}},
    Kept{OSSL_OP_RAND, {"CTR-DRBG", "SEED-SRC"}},
    Kept{OSSL_OP_KEYMGMT, {"X25519", "HMAC", "ED25519"}},
    Kept{OSSL_OP_SIGNATURE, {"HMAC", "ED25519", "ECDSA"}},
};

// The algorithms of one operation, and the end of the list, as providers return them.
using List = std::array<OSSL_ALGORITHM, std::tuple_size_v<decltype(Kept::names)> + 1>;

// The offer of the default provider, as it has told of it. It is written once, before sessions use
// it.
struct Offer {
  OSSL_FUNC_provider_query_operation_fn* query = nullptr;
  std::array<List, kKept.size()> lists{};
  std::array<OSSL_DISPATCH, 16> functions{};
};
Offer& offer() {
  static Offer only;
  return only;
}

// The names of an algorithm are "NAME:OTHER-NAME:...".
bool is_called(const OSSL_ALGORITHM& algorithm, std::string_view name) {
  const std::string_view names = algorithm.algorithm_names;
  return names.substr(0, names.find(':')) == name;
}

const OSSL_ALGORITHM* query(void*, int operation, int* is_not_to_be_kept) {
  *is_not_to_be_kept = 0;
  const auto kept = std::ranges::find(kKept, operation, &Kept::operation);
  return kept == kKept.end() ? nullptr : offer().lists[kept - kKept.begin()].data();
}

// Returns false if the provider does not have all that sessions use.
bool choose(void* provider) {
  for (std::size_t i = 0; i < kKept.size(); ++i) {
    int is_not_to_be_kept = 0;
    const OSSL_ALGORITHM* const all =
        offer().query(provider, kKept[i].operation, &is_not_to_be_kept);
    auto next = offer().lists[i].begin();
    for (const std::string_view name : kKept[i].names) {
      if (name.empty()) break;
      const OSSL_ALGORITHM* one = all;
      while (one != nullptr && one->algorithm_names != nullptr && !is_called(*one, name))
        ++one;
      if (one == nullptr || one->algorithm_names == nullptr) return false;
      *next++ = *one;
    }
  }
  return true;
}

// The entrance of the provider: that of the default one, with another list of algorithms.
int enter(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH* in, const OSSL_DISPATCH** out,
          void** provider) {
  const OSSL_DISPATCH* all = nullptr;
  if (::ossl_default_provider_init(handle, in, &all, provider) != 1) return 0;
  auto& functions = offer().functions;
  for (std::size_t at = 0; all->function_id != 0; ++all) {
    if (at + 1 == functions.size()) return 0;
    functions[at] = *all;
    if (all->function_id == OSSL_FUNC_PROVIDER_QUERY_OPERATION) {
      offer().query = OSSL_FUNC_provider_query_operation(all);
      functions[at].function = reinterpret_cast<void (*)()>(query);
    }
    ++at;
  }
  if (offer().query == nullptr || !choose(*provider)) return 0;
  *out = functions.data();
  return 1;
}

OSSL_LIB_CTX* make() {
  OSSL_LIB_CTX* const made = ::OSSL_LIB_CTX_new();
  if (made != nullptr && ::OSSL_PROVIDER_add_builtin(made, "scela", enter) == 1 &&
      ::OSSL_PROVIDER_load(made, "scela") != nullptr)
    return made;
  ::OSSL_LIB_CTX_free(made);
  return nullptr;
}

}  // namespace

ossl_lib_ctx_st* tls_algorithms() {
  static OSSL_LIB_CTX* const made = make();
  return made;
}

}  // namespace scela
