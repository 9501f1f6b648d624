// Tests that the counters which ranks leave in files become lines of their agent's report.
#include "nla/ranks/rank_counter_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "common/core/text.h"
#include "common/os/private_dir.h"

namespace rank_counter_files_test {

using namespace scela;
using namespace scela::nla;

namespace {

class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { static_cast<void>(remove_tree(path_)); }
  const std::string& path() const { return path_; }
  void write(Rank rank, const std::string& text) const {
    std::ofstream(counters_file(path_, rank)) << text;
  }
  std::string report(Rank first, Rank count) const {
    Pieces pieces;
    add_counters(pieces, path_, RankSet::run(first, count));
    std::string all;
    for (const Chunk& piece : pieces.take())
      all += piece.view();
    return all;
  }

 private:
  std::string path_ = cat(temporary_base(), "/scela-counters-XXXXXX");
};

}  // namespace

TEST_CASE("counters of a rank go to the root with its number, and a rank may leave several") {
  const Folder node;
  node.write(3, "channel {\"sent\":1}\nchannel {\"sent\":2}\n");
  node.write(5, "my-own {}\n");
  node.write(9, "channel {\"sent\":9}\n");  // a rank that the report does not cover
  CHECK(node.report(3, 6) ==
        "{\"counters\":\"channel\",\"rank\":3,\"values\":{\"sent\":1}}\n"
        "{\"counters\":\"channel\",\"rank\":3,\"values\":{\"sent\":2}}\n"
        "{\"counters\":\"my-own\",\"rank\":5,\"values\":{}}\n");
}

TEST_CASE("malformed, large and special counter files are left out") {
  for (const char* line : {"", "channel", "channel ", " {}", "Channel {}", "a\"b {}", "channel 5",
                           "channel {", "channel {\t}", "channel {}\r"})
    CHECK(counters_line(line, 1).empty());
  const Folder node;
  node.write(0, "channel {}");  // cut off while it was written
  node.write(1, cat("channel {", std::string(kMaxOfRank, ' '), "}\n"));
  REQUIRE(::mkfifo(counters_file(node.path(), 2).c_str(), 0600) == 0);
  REQUIRE(::symlink("/etc/passwd", counters_file(node.path(), 3).c_str()) == 0);
  CHECK(node.report(0, 4).empty());
}

}  // namespace rank_counter_files_test
