// Gives the events of real agents, recorded by scela-run --record, to fresh cores:
//
//   replay_record FILE...
//
// One line per file on standard output. Exit status 0 if every core answered as the recorded one
// did, 1 if one did not, 2 if a file is no record.
#include <fstream>
#include <iostream>
#include <iterator>

#include "nla/core/record/record.h"

int main(int argc, char** argv) {
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string log{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto report = scela::nla::replay(log);
    std::cout << argv[i] << ": " << (report ? report->text() : report.error().text()) << '\n';
    if (!report) return 2;
    if (report->difference) status = 1;
  }
  return status;
}
