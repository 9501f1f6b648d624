// scela_man SOURCE VERSION: prints a manual page made from its source text, at build time.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "launcher/core/options/manual.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: scela_man SOURCE VERSION\n";
    return 64;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  if (!file || source.empty()) {
    std::cerr << "scela_man: read " << argv[1] << ": no text\n";
    return 74;
  }
  const auto page = scela::render_page(source, argv[2]);
  if (!page) {
    std::cerr << "scela_man: " << argv[1] << ": " << page.error().text() << "\n";
    return 64;
  }
  std::cout << *page << std::flush;
  return std::cout ? 0 : 74;
}
