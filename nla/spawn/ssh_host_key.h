// The key that an ssh server shows, against those that its contact accepts.
//
// libssh stays inside the .cpp file. Keeps nothing.
#pragma once

#include <functional>
#include <string>

#include "nla/core/contact.h"

struct ssh_session_struct;  // libssh's

namespace scela::nla {

// The signature algorithms by which the server can show one of the accepted keys.
std::string host_key_algorithms(const Contact& contact);

// Why the key that the session's server has shown is not accepted; empty: it is. `where`: the
// server, for people. `met` is called with a key that is about to be accepted because any is;
// false: not this one.
std::string host_key_problem(ssh_session_struct* session, const Contact& contact,
                             const std::string& where,
                             const std::function<bool(const std::string& key)>& met);

}  // namespace scela::nla
