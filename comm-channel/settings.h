// What the environment says about the channel: SCELA_CHANNEL_<NAME>.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "comm-channel/include/scela/channel.h"
#include "common/core/result.h"

namespace scela::channel {

// `options`, overruled by those of `environment` ("NAME=value") that begin with SCELA_CHANNEL_. A
// name or a value that cannot be is an error: a misspelt setting that does nothing costs its user a
// day.
Result<Options> overruled(Options options, std::span<const char* const> environment);

}  // namespace scela::channel
