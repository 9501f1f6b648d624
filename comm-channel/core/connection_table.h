// The table of states of a connection machine: which object goes from which state to which, by
// what.
//
// It says what has been seen to happen in every order of events of a few processes; a test fails
// where something else is seen, or something no more.
#pragma once

#include <string_view>

namespace scela::channel::connect {

// Lines of a table in Markdown: object, state, what happens (a datagram by what it says), next
// state. An end of anything may come of what happens to another that depends on it.
std::string_view table_of_states();

}  // namespace scela::channel::connect
