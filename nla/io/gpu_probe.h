// Finds out which GPUs a node has, without any library of a vendor: from the files of its kernel,
// and from the variables by which a scheduler or a user has chosen some of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "nla/core/job/gpu_devices.h"

namespace scela::nla {

// Returns the GPUs of this machine. `value_of` returns the value of a variable, or "" if it is not
// set. Files are looked for below `root`, which a test may set; the system's is "". NVIDIA's are
// /dev/nvidiaN, AMD's are nodes of KFD with a gpu_id, Intel's are render nodes of vendor 0x8086.
// It blocks as local files do.
GpuFacts gpus_of_machine(const std::function<std::string(std::string_view name)>& value_of,
                         const std::string& root = {});

}  // namespace scela::nla
