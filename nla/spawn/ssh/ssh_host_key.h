// Checks the key that an ssh server shows against those that its contact accepts. SshSession uses
// it.
//
// libssh is used only in the .cpp file. The functions keep no state and do not block.
#pragma once

#include <functional>
#include <string>

#include "nla/core/wire/contact.h"

struct ssh_session_struct;  // libssh's

namespace scela::nla {

// Returns the signature algorithms by which the server can show one of the accepted keys, separated
// by commas: those of the known keys first.
std::string host_key_algorithms(const Contact& contact);

// Checks the key that the session's server has shown. Returns an empty string if it is accepted,
// and otherwise why it is not. `where` names the server, to print. `met` is called with a key that
// is not known and is about to be accepted because the contact accepts any key; it returns false to
// refuse this one.
std::string host_key_problem(ssh_session_struct* session, const Contact& contact,
                             const std::string& where,
                             const std::function<bool(const std::string& key)>& met);

}  // namespace scela::nla
