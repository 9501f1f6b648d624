// Prints the tables of peers' options: as the help of one peer, and as the page of the user guide.
// launcher/command.cpp shows the help, and man/scela_guide.cpp writes the page
// (docs/guide/as-other-tools.md). All functions are pure.
#pragma once

#include <string>

#include "launcher/core/compat/peer_tool.h"

namespace scela {

// Returns the text for "--as NAME --help": the usage, every option with what it becomes or why it
// is refused, and what the peer's users meet otherwise. Each option begins a line, with all of its
// spellings, after two blanks; its text is indented by more.
std::string peer_help(Peer peer, std::string_view name);

// Returns the page of the guide, in Markdown: a section for each peer.
std::string peers_page();

}  // namespace scela
