// Result<T>: a value or the Error that explains why there is none.
//
// Pure cores return errors; they never throw and never log. Shells decide what an error means for
// the job. tl::expected is std::expected's reference implementation (C++23), used until g++ has it.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "common/core/error.h"

namespace scela {

// A function that returns Result<T> returns a T or an Error. `if (!result)` finds the error, which
// is in result.error(); *result is the value. Result<void> has no value.
template <class T>
using Result = tl::expected<T, Error>;

// Makes the result of a function that failed: return fail(error).
inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace scela
