// The secret of a job as a credential of MUNGE, for agents that Slurm's srun starts.
//
// srun passes its standard input on when all hosts of the step have connected to it, and 10 ms
// later than that (docs/results/slurm.md). Arguments reach each host as soon as its agent, but all
// users of the host can read them. munged, by which the daemons of Slurm know each other,
// encrypts the secret with the key of the cluster, and decrypts it for the same user alone. So the
// credential may stand among the arguments. An owner of the cluster's key can read it, and can
// start and change processes of all users anyway.
//
// A cluster need not have munged (auth/slurm, auth/jwt). Then there is no credential, and agents
// read the secret from standard input, as those of flux exec do.
//
// The functions ask munged in a thread of their own, because libmunge cannot be told how long to
// wait: it tries for 2 s to connect to a munged that has ended, and for 10 s if one hangs. They
// return the reading end of a pipe, or an invalid one if the process has no descriptor or thread
// left. The answer of munged arrives there within 1 ms as a rule, and then the end of the pipe. The
// end alone means that there is no answer. The functions themselves do not block, and may be called
// in any thread.
#pragma once

#include <string>

#include "common/os/fd.h"

namespace scela::nla {

// The socket at which munged listens if it is not told otherwise.
inline constexpr char kMungeSocket[] = "/run/munge/munge.socket.2";

// Asks for a credential that only this user can open, on machines with the same key. No credential
// comes if no munged listens at the socket here, or if it makes none.
Fd seal_dial_secret(std::string secret, std::string socket = kMungeSocket);

// Asks for the secret of a credential. No secret comes if there is no munged here, if this user
// cannot open the credential, or if another user has made it. A credential may be opened several
// times, and after the time for which munged holds it valid: it proves nothing by itself, as the
// secret is that of one job.
Fd open_dial_credential(std::string credential, std::string socket = kMungeSocket);

}  // namespace scela::nla
