#include "launcher/command.h"

int main(int argc, char** argv) {
  return scela::run_command(argc, argv);
}
