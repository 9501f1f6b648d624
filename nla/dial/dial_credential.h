// The secret of a job as a credential of MUNGE, for agents that Slurm's srun starts.
//
// srun passes its standard input on when all hosts of the step have connected to it, and 10 ms
// later than that (docs/results/slurm.md). Arguments reach each host as soon as its agent, but all
// users of the host can read them. munged, by which the daemons of Slurm know each other,
// encrypts the secret with the key of the cluster, and decrypts it for the same user alone. So the
// credential may stand among the arguments. Whoever has the cluster's key can read it. They can
// start and change processes of all users anyway.
//
// A cluster need not have munged (auth/slurm, auth/jwt). Then there is no credential, and agents
// read the secret from standard input, as those of flux exec do.
//
// The functions may be called in any thread. They block until munged has answered, usually for less
// than 1 ms. A munged that hangs costs the 20 s for which libmunge tries again.
#pragma once

#include <string>
#include <string_view>

namespace scela::nla {

// Where munged listens if it is not told otherwise.
inline constexpr char kMungeSocket[] = "/run/munge/munge.socket.2";

// Returns a credential that only this user can open, on machines with the same key. It is empty if
// no munged listens at the socket here, or if it makes none.
std::string seal_dial_secret(std::string_view secret, const char* socket = kMungeSocket);

// Returns the secret of a credential. It is empty if there is no munged here, if this user cannot
// open the credential, or if another user has made it. A credential may be opened several times,
// and after the time for which munged holds it valid: it proves nothing by itself, as the secret is
// that of one job.
std::string open_dial_credential(const std::string& credential, const char* socket = kMungeSocket);

}  // namespace scela::nla
