// The transition table of a connection machine: which object goes from which state to which, on
// which event.
//
// The table lists the transitions that were observed in every order of events of a few processes. A
// test fails if it observes another transition, or if a listed one no longer occurs.
#pragma once

#include <string_view>

namespace scela::channel::connect {

// Returns the rows of a Markdown table: object, state, and each next state with the events that
// lead to it ("none on failed; ready on made"). A datagram is named by what it says. A change of an
// object may be caused by the end of another object that it depends on.
std::string_view table_of_states();

}  // namespace scela::channel::connect
