#include "launcher/io/output_files.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "common/core/text.h"
#include "launcher/report/job_records.h"

namespace scela {
namespace {

namespace fs = std::filesystem;

// A file that an option names.
struct NamedFile {
  std::string_view option;
  std::string path;
};

std::vector<NamedFile> files_of(const Options& options) {
  std::vector<NamedFile> out;
  if (options.json && *options.json != JobRecords::kStandardOutput)
    out.push_back({"json", *options.json});
  if (options.trace) out.push_back({"trace", *options.trace});
  if (options.record) out.push_back({"record", *options.record});
  return out;
}

// Returns the path without links, ".." and ".". The file need not exist.
fs::path resolved(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path(path).lexically_normal() : whole;
}

// Returns true if the path names a file other than a regular one, which several outputs may share.
bool is_shareable(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
}

// Returns true if the path names the regular file that the descriptor has open.
bool is_file_of(const std::string& path, int fd) {
  struct stat named {
  }, open{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 && S_ISREG(open.st_mode) &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

Result<void> check_against_streams(const NamedFile& file) {
  for (const auto& [fd, stream] :
       {std::pair(1, "standard output"), std::pair(2, "standard error")}) {
    if (!is_file_of(file.path, fd)) continue;
    return fail(Error{ErrorKind::usage, cat("option --", file.option, "=", file.path), "",
                      cat("it is the file to which ", stream,
                          " goes, and both would overwrite each "
                          "other"),
                      "name another file"});
  }
  return {};
}

Error directory_error(std::string_view task, const std::string& path, std::string why) {
  return Error{ErrorKind::io, cat(task, " the output directory '", path, "'"), "", std::move(why),
               "name a directory in which files can be made with --output-dir"};
}

// Returns an error if a rank's file cannot have its name.
Result<void> check_names(const std::string& path, const PresentationSettings& settings) {
  const long longest = ::pathconf(path.c_str(), _PC_NAME_MAX);
  const std::size_t name_limit = longest > 0 ? static_cast<std::size_t>(longest) : NAME_MAX;
  std::size_t largest = 0;
  for (Rank rank = 0; rank < settings.ranks; ++rank)
    largest = std::max(largest, settings.file_name(rank, OutputStream::out).size());
  const bool is_name = largest > name_limit;
  if (!is_name && path.size() + 1 + largest < PATH_MAX) return {};
  return fail(Error{
      ErrorKind::io, cat("write files in the output directory '", path, "'"), "",
      cat("the ", is_name ? "name" : "path", " of a file would have ",
          is_name ? largest : path.size() + 1 + largest, " bytes, and the most is ",
          is_name ? name_limit : std::size_t{PATH_MAX - 1}),
      is_name ? "give a shorter --output-name" : "name a directory nearer to / with --output-dir"});
}

}  // namespace

Result<void> check_output_files(const Options& options) {
  const std::vector<NamedFile> files = files_of(options);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = i + 1; j < files.size(); ++j) {
      if (resolved(files[i].path) != resolved(files[j].path) || is_shareable(files[i].path))
        continue;
      return fail(Error{
          ErrorKind::usage, cat("options --", files[i].option, " and --", files[j].option), "",
          cat("both would write the file '", files[i].path, "'"), "give each a file of its own"});
    }
    if (auto fits = check_against_streams(files[i]); !fits) return fits;
  }
  return {};
}

Result<void> make_output_directory(const std::string& path, const PresentationSettings& settings) {
  if (!settings.files) return {};
  std::error_code error;
  fs::create_directories(path, error);
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    std::error_code ignored;
    if (fs::is_symlink(path, ignored))
      return fail(directory_error("use", path, "it is a link to nothing"));
    return fail(error ? directory_error("create", path, errno_text(error.value()))
                      : directory_error("use", path, errno_text(errno)));
  }
  if (!S_ISDIR(facts.st_mode)) return fail(directory_error("use", path, "it is no directory"));
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    return fail(directory_error("write files in", path, errno_text(errno)));
  return check_names(path, settings);
}

}  // namespace scela
