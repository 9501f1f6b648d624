// Result<T>: a value or the Error that explains why there is none.
//
// Pure cores return errors; they never throw and never log. Shells decide what an error means for
// the job. tl::expected is std::expected's reference implementation (C++23), used until g++ has it.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "common/core/error.h"

namespace scela {

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace scela
