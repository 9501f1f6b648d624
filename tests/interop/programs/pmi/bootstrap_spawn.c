/* Rank 0 spawns a program twice, N ranks each, by PMI: bootstrap_spawn PROGRAM N [WORD...]. It
 * prints a line for each. */
#include <pmi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int spawned, rank, errors[16];
  if (argc < 3 || PMI_Init(&spawned) != PMI_SUCCESS || PMI_Get_rank(&rank) != PMI_SUCCESS) return 2;
  const char* commands[] = {argv[1]};
  const char** words[] = {(const char**)argv + 3};
  const int processes[] = {atoi(argv[2])};
  const int hints[] = {0};
  for (int i = 0; rank == 0 && i < 2; ++i) {
    if (PMI_Spawn_multiple(1, commands, words, processes, hints, NULL, 0, NULL, errors) !=
        PMI_SUCCESS)
      return 2;
    printf("spawned %d\n", i);
  }
  if (PMI_Barrier() != PMI_SUCCESS) return 2;
  PMI_Finalize();
  return 0;
}
