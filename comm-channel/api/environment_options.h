// Settings of the channel in the environment: SCELA_CHANNEL_<NAME>.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "comm-channel/include/scela/channel.h"
#include "common/core/result.h"

namespace scela::channel {

// Returns true if "NAME=value" names an option: SCELA_CHANNEL_NAME overrules a member of
// ChannelOptions.
bool is_option(std::string_view setting);

// Returns `options` with the values that `environment` ("NAME=value") sets by SCELA_CHANNEL_
// variables. An unknown name or an invalid value is an error: a misspelt setting that does nothing
// costs its user a day.
Result<ChannelOptions> overruled(ChannelOptions options, std::span<const char* const> environment);

}  // namespace scela::channel
