// A home directory of a test's own, removed with everything in it.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/core/text.h"
#include "common/os/private_dir.h"

namespace scela::test {

class TemporaryHome {
 public:
  TemporaryHome() {
    static std::atomic<int> count{0};
    const std::string name = cat("scela-home-test-", ::getpid(), "-", ++count);
    path_ = private_directory_path(temporary_base(), name);
    std::filesystem::create_directories(path_);
  }
  TemporaryHome(const TemporaryHome&) = delete;
  TemporaryHome& operator=(const TemporaryHome&) = delete;
  ~TemporaryHome() { static_cast<void>(remove_tree(path_)); }

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // Makes the folders on the way; the file is writable for its owner alone.
  void write(const std::string& name, const std::string& text) const {
    namespace fs = std::filesystem;
    const fs::path file = path(name);
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  }

 private:
  std::string path_;
};

}  // namespace scela::test
