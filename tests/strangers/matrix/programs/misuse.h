// The cases of misuse.cpp, sorted by the kind of misuse. Each returns when this rank has seen what
// it had to.
#pragma once

#include "tests/strangers/matrix/programs/said.h"

namespace matrix {

// Cases of the channel.
void arguments(Here& here);
void requests_of_messages(Here& here);
void lengths(Here& here);
void unmapped(Here& here, std::size_t bytes);
void threads(Here& here);
void twice(Here& here);

// Cases of communicators.
void requests(Here& here);
void types(Here& here);
void nulls(Here& here);
void sizes(Here& here);
void kinds(Here& here);
void roots(Here& here);
void checked(Here& here);
void algorithms(Here& here);
void overflow(Here& here);
void freed(Here& here);
void splits(Here& here);
void dropped(Here& here);
void large(Here& here, std::size_t bytes);
void thrown(Here& here);

// Cases of processes and the ends of channels.
void children(Here& here);
void closed_first(Here& here);
void after(Here& here, bool reopens);

// Checks the end of an operation that another rank called otherwise. Then shrink() gives a
// communicator that works.
void must_be_given_up(Here& here, int about, std::string_view words);

}  // namespace matrix
