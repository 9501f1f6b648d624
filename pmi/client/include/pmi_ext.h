/* What ScELA's libpmi.so.0 offers beyond PMI: which ranks of the job have failed.
 *
 * Under scela-run --on-failure wait, whose agents mark failed ranks in memory that the ranks of a
 * node share (not with --pmi port); elsewhere nobody is ever said to have failed. After PMI_Init;
 * from any thread.
 */
#ifndef SCELA_PMI_EXT_H
#define SCELA_PMI_EXT_H

/* The names are the interface's: NOLINTBEGIN(readability-identifier-naming) */
#ifdef __cplusplus
extern "C" {
#endif

/* 1: gets are answered from shared memory and failures are told; 0: neither. */
int SCELA_PMI_Has_segment(void);
/* 1: the rank has failed, 0: not as far as is known. No system call. */
int SCELA_PMI_Rank_failed(int rank);
/* Grows whenever a rank fails. No system call. */
unsigned SCELA_PMI_Failures(void);
/* Waits until SCELA_PMI_Failures() is not `seen`, at most timeout_ms (-1: for ever). 1: it is not,
   0: time is up, -1: there is nothing to wait for (PMI_Init was not called, or nobody tells). */
int SCELA_PMI_Wait_failure(unsigned seen, int timeout_ms);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming) */
#endif
