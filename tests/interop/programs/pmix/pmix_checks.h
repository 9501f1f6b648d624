/* What the clients of libpmix among the tests share: who they are, checks that end the program, and
   events. The handler of a program changes its own variables while it holds `lock`, and signals
   `news`; await() waits for one of them. */
#pragma once

#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pmix_proc_t me;
static pmix_proc_t all; /* of the job */
static uint32_t size;   /* of the job */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int registered;

static inline void check(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  printf("rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(status));
  fflush(stdout);
  _exit(1);
}

static inline void expect(const char* what, int fine) {
  if (fine) return;
  printf("rank %u: %s\n", me.rank, what);
  fflush(stdout);
  _exit(1);
}

static inline void initialize(void) {
  check("init", PMIx_Init(&me, NULL, 0));
  all = me;
  all.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = NULL;
  check("get the size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));
  size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
}

static inline void fence(void) {
  check("fence", PMIx_Fence(&all, 1, NULL, 0));
}

/* Waits until the variable is at least that large. */
static inline void await(const int* what, int least) {
  pthread_mutex_lock(&lock);
  while (*what < least)
    pthread_cond_wait(&news, &lock);
  pthread_mutex_unlock(&lock);
}

static inline void on_registered(pmix_status_t status, size_t id, void* data) {
  (void)id, (void)data;
  pthread_mutex_lock(&lock);
  registered = status == PMIX_SUCCESS ? 1 : 2;
  pthread_cond_broadcast(&news);
  pthread_mutex_unlock(&lock);
}

static inline void listen_to(pmix_status_t codes[], size_t count, pmix_notification_fn_t handler) {
  registered = 0;
  check("register",
        PMIx_Register_event_handler(codes, count, NULL, 0, handler, on_registered, NULL));
  await(&registered, 1);
  expect("the handler is registered", registered == 1);
}
