/* A program that is linked to MPI only through a library. It says how many ranks have met. */
#include <stdio.h>

int meet(int* argc, char*** argv);

int main(int argc, char** argv) {
  printf("%d have met\n", meet(&argc, &argv));
  return 0;
}
