// Says how the output of a job is shown, from the options and the plan of the job. The session uses
// it.
#pragma once

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/core/report/presentation.h"
#include "launcher/plan/plan.h"

namespace scela {

// Returns the settings. They refer to `plan`, which must outlive them, so they know the hosts of
// ranks that are spawned later. Returns an error (kind usage) if --output-name does not fit.
Result<PresentationSettings> presentation_settings(const Options& options, const Plan& plan);

}  // namespace scela
