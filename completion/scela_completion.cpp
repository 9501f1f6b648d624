// scela_completion SHELL SOURCE: prints the file by which a shell completes scela-run's command
// line, made from its source text at build time.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "launcher/core/options/completion.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: scela_completion bash|zsh|fish SOURCE\n";
    return 64;
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  if (!file || source.empty()) {
    std::cerr << "scela_completion: read " << argv[2] << ": no text\n";
    return 74;
  }
  const std::string shell = argv[1];
  std::cout << (shell == "bash"  ? scela::bash_completion(source)
                : shell == "zsh" ? scela::zsh_completion(source)
                                 : scela::fish_completion(source))
            << std::flush;
  return std::cout ? 0 : 74;
}
