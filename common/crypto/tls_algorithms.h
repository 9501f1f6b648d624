// The few algorithms of OpenSSL that sessions of TLS use (common/crypto/tls_session.h).
//
// The first use of an algorithm in a library context makes OpenSSL describe all algorithms of its
// kind to itself, of which the default provider has some 300. That takes 0.7 ms of processor time,
// in each agent, which lives for 5 ms (docs/results/slurm.md). In the context that this file makes,
// the default provider offers those alone that sessions use.
#pragma once

struct ossl_lib_ctx_st;  // OSSL_LIB_CTX

namespace scela {

// Returns the library context for sessions. It is made at the first call, belongs to the process,
// and may be used by any thread. nullptr means the usual context, which has all algorithms: this
// version of OpenSSL calls some by other names, or memory is exhausted.
ossl_lib_ctx_st* tls_algorithms();

}  // namespace scela
