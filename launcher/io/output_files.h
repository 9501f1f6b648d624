// Checks the files and the directory that a job writes its results to, before any host is contacted
// and any program runs. Without these checks a job would fail only after its work is done, or two
// results would overwrite each other. The command and the session use it.
//
// The functions block on the file system only. They create no file and truncate none.
#pragma once

#include <string>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/core/report/presentation.h"

namespace scela {

// Returns an error (kind usage) if two of --json, --trace and --record name the same file, or if
// one of them names the regular file to which standard output or standard error goes. Devices,
// FIFOs and terminals may be shared.
Result<void> check_output_files(const Options& options);

// Makes the directory of --output-dir, with its parents. Does nothing if settings.files is false.
// Returns an error (kind io) if there is no such directory then, if this process may not create
// files in it, or if the name of a rank's file is too long for its file system.
Result<void> make_output_directory(const std::string& path, const PresentationSettings& settings);

}  // namespace scela
