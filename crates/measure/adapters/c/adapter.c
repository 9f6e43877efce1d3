// The adapter for C: coretalk's own queues `spsc` and `semaphore` again, message for message as the native loops do it, so
// that what differs between the two is what it costs to measure in another process. docs/adapters.md has the protocol.
#define _GNU_SOURCE
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define APART _Alignas(256) // x86 fetches lines in pairs, some Arm cores have lines of 128 bytes: nothing comes near
#define INLINE static inline __attribute__((always_inline))
enum { NUMBERS = 1024 };
enum { RELAXED = memory_order_relaxed, ACQUIRE = memory_order_acquire, RELEASE = memory_order_release };

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
INLINE void hint(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); // as the native loops: YIELD does nothing on most cores
#endif
}
// The pass that is on. What both roles look at lies apart from what one writes.
static struct {
    char id[24], name[32];
    uint64_t capacity, count, begun, ended, good, sum, full, empty;
    uint64_t numbers[NUMBERS];
    APART atomic_int ready;
} pass;
static sem_t go, over, leave;

// ---- spsc: each end keeps its index and a copy of the other's; the consumer gives places back in lots, a power of two,
// and what it has emptied when it finds nothing more. Few places lie beside the tail, all others on lines
// of their own.
enum { BESIDE = 15 };
static struct {
    APART atomic_size_t head;
    APART atomic_size_t tail; uint64_t beside[BESIDE];
    APART uint64_t *slots; size_t places, within_lot;
} ring;
struct end { size_t own, seen; };

static __attribute__((cold, noinline)) size_t begin_a_lap(void) { return 0; } // a jump that is foreseen, as in the native one
INLINE size_t after(size_t place) { return place + 1 == ring.places ? begin_a_lap() : place + 1; }
INLINE bool spsc_push(struct end *end, uint64_t number) {
    size_t next = after(end->own);
    if (next == end->seen) {
        // Acquire pairs with the Release of the consumer: it is done with the places that it gave back.
        end->seen = atomic_load_explicit(&ring.head, ACQUIRE);
        if (next == end->seen) return false;
    }
    ring.slots[end->own] = number;
    end->own = next;
    // Release pairs with the Acquire of the consumer: who sees the tail sees the message.
    atomic_store_explicit(&ring.tail, next, RELEASE);
    return true;
}
INLINE bool spsc_pop(struct end *end, uint64_t *number) {
    if (end->own == end->seen) {
        // Release pairs with the Acquire of the producer, here and below: it may fill the places before the head.
        if (atomic_load_explicit(&ring.head, RELAXED) != end->own) atomic_store_explicit(&ring.head, end->own, RELEASE);
        // Acquire pairs with the Release of the producer.
        end->seen = atomic_load_explicit(&ring.tail, ACQUIRE);
        if (end->own == end->seen) return false;
    }
    *number = ring.slots[end->own];
    end->own = after(end->own);
    if (!(end->own & ring.within_lot)) atomic_store_explicit(&ring.head, end->own, RELEASE);
    return true;
}
INLINE void spsc_push_later(struct end *end, uint64_t number) { while (!spsc_push(end, number)) hint(); }
INLINE void spsc_pop_later(struct end *end, uint64_t *number) { while (!spsc_pop(end, number)) hint(); }

// ---- semaphore: one futex word holds permits, whether somebody was woken and has not looked yet, and who sleeps.
#define PERMITS ((1u << 22) - 1)
#define WAKING (1u << 22)
#define SLEEPER (1u << 23)
static struct { APART atomic_uint free; APART atomic_uint items; APART uint64_t *slots; size_t places; } bounded;

static __attribute__((cold)) void wake(atomic_uint *word) {
    if (!(atomic_fetch_or_explicit(word, WAKING, RELAXED) & WAKING)) syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL);
}
INLINE void give(atomic_uint *word) {
    // Release pairs with the Acquire of whoever takes the permit.
    unsigned before = atomic_fetch_add_explicit(word, 1, RELEASE);
    if (before >= SLEEPER && !(before & WAKING)) wake(word);
}
INLINE bool try_take(atomic_uint *word) {
    unsigned state = atomic_load_explicit(word, RELAXED);
    while (state & PERMITS)
        if (atomic_compare_exchange_weak_explicit(word, &state, state - 1, ACQUIRE, RELAXED)) return true;
    return false;
}
static __attribute__((noinline, cold)) void take(atomic_uint *word) {
    unsigned state = atomic_fetch_add_explicit(word, SLEEPER, RELAXED) + SLEEPER;
    for (;;) {
        if (state & PERMITS) {
            unsigned left = (state - 1 - SLEEPER) & ~WAKING;
            if (!atomic_compare_exchange_strong_explicit(word, &state, left, ACQUIRE, RELAXED)) continue;
            // The wake-up that was just accounted for may have been meant for more than one permit.
            if ((left & PERMITS) && left >= SLEEPER) wake(word);
            return;
        }
        if (state & WAKING) {
            // Somebody took the permit first: whoever gives the next one must wake again.
            if (atomic_compare_exchange_strong_explicit(word, &state, state & ~WAKING, RELAXED, RELAXED)) state &= ~WAKING;
            continue;
        }
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, state, NULL);
        state = atomic_load_explicit(word, RELAXED);
    }
}
INLINE void put(struct end *end, uint64_t number) {
    if (end->own >= bounded.places) abort();
    bounded.slots[end->own] = number;
    end->own = end->own + 1 == bounded.places ? 0 : end->own + 1;
    give(&bounded.items);
}
INLINE void get(struct end *end, uint64_t *number) {
    if (end->own >= bounded.places) abort();
    *number = bounded.slots[end->own];
    end->own = end->own + 1 == bounded.places ? 0 : end->own + 1;
    give(&bounded.free);
}
INLINE bool semaphore_push(struct end *end, uint64_t number) { return try_take(&bounded.free) && (put(end, number), true); }
INLINE bool semaphore_pop(struct end *end, uint64_t *number) { return try_take(&bounded.items) && (get(end, number), true); }
INLINE void semaphore_push_later(struct end *end, uint64_t number) { take(&bounded.free), put(end, number); }
INLINE void semaphore_pop_later(struct end *end, uint64_t *number) { take(&bounded.items), get(end, number); }

// ---- the loops of both, compiled for each; the clock is read every 20 µs or so, as the native loops do.
struct stretch { uint64_t step, last; };
static uint64_t next_stop(struct stretch *s, uint64_t done) {
    uint64_t now = now_ns(), passed = now - s->last;
    if (s->last && passed < 20000 && s->step < 1u << 20) s->step *= 2;
    else if (s->last && passed > 80000 && s->step > 1) s->step /= 2;
    s->last = now;
    return done + s->step < pass.count ? done + s->step : pass.count;
}
#define LOOPS(queue)                                                                                                   \
    static void queue##_produce(void) {                                                                                \
        struct end end = {0};                                                                                          \
        struct stretch s = {1, 0};                                                                                     \
        uint64_t made = 0, full = 0;                                                                                   \
        while (made < pass.count)                                                                                      \
            for (uint64_t stop = next_stop(&s, made); made < stop; made++) {                                           \
                uint64_t number = pass.numbers[made % NUMBERS];                                                        \
                if (!queue##_push(&end, number)) full++, queue##_push_later(&end, number);                             \
            }                                                                                                          \
        pass.full = full;                                                                                              \
    }                                                                                                                  \
    static void queue##_consume(void) {                                                                                \
        struct end end = {0};                                                                                          \
        struct stretch s = {1, 0};                                                                                     \
        uint64_t taken = 0, empty = 0, wrong = 0, sum = 0, number = 0;                                                 \
        while (taken < pass.count)                                                                                     \
            for (uint64_t stop = next_stop(&s, taken); taken < stop; taken++) {                                        \
                if (!queue##_pop(&end, &number)) empty++, queue##_pop_later(&end, &number);                            \
                wrong += number != pass.numbers[taken % NUMBERS], sum += number;                                       \
            }                                                                                                          \
        pass.good = taken - wrong, pass.sum = sum, pass.empty = empty;                                                 \
    }
LOOPS(spsc)
LOOPS(semaphore)
static const struct { const char *name; void (*roles[2])(void); } QUEUES[] = {
    {"spsc", {spsc_produce, spsc_consume}}, {"semaphore", {semaphore_produce, semaphore_consume}}};
enum { QUEUE_COUNT = sizeof QUEUES / sizeof *QUEUES };
static int queue;

// ---- the protocol
static void *role(void *number) {
    int me = (int)(intptr_t)number;
    printf("role %d %ld\n", me, syscall(SYS_gettid));
    fflush(stdout);
    sem_wait(&go); // asleep until the host has pinned both
    // Both begin together; a partner that shares the CPU must be let in.
    atomic_fetch_add(&pass.ready, 1);
    for (int polls = 0; atomic_load(&pass.ready) < 2; polls++)
        if (polls > 1000) sched_yield();
    if (me == 0) pass.begun = now_ns();
    QUEUES[queue].roles[me]();
    if (me == 1) pass.ended = now_ns(); // the last message has come
    sem_post(&over);
    sem_wait(&leave); // the host asks afterwards what this thread used
    return NULL;
}
static const char *option(const char *line, const char *key) { return (line = strstr(line, key)) ? line + strlen(key) : ""; }
// Memory whose pages are there: a first lap of page faults would be timed otherwise.
static uint64_t *words(size_t count) {
    uint64_t *all = aligned_alloc(128, (count * sizeof *all + 127) / 128 * 128);
    if (!all) fprintf(stderr, "no memory for %zu numbers\n", count), exit(1);
    return memset(all, 1, count * sizeof *all);
}
static pthread_t threads[2];
static void perform(const char *line) {
    if (threads[0]) sem_post(&leave), sem_post(&leave), pthread_join(threads[0], NULL), pthread_join(threads[1], NULL);
    threads[0] = 0;
    char kind[16] = "";
    memset(&pass, 0, sizeof pass);
    if (sscanf(line, "pass %23s %15s %31s", pass.id, kind, pass.name) != 3) fprintf(stderr, "not a pass: %s", line), exit(1);
    pass.capacity = strtoull(option(line, " capacity="), NULL, 10);
    pass.count = strtoull(option(line, " count="), NULL, 10);
    uint32_t x = (uint32_t)strtoull(option(line, " seed="), NULL, 10);
    for (int i = 0; i < NUMBERS; i++) x = 1664525u * x + 1013904223u, pass.numbers[i] = x >> 8;
    for (queue = 0; queue < QUEUE_COUNT && strcmp(QUEUES[queue].name, pass.name); queue++) {}
    const char *refusal = strcmp(kind, "queue") || queue == QUEUE_COUNT ? "there is nothing of that name"
        : strncmp(option(line, " payload="), "u64", 3) ? "messages are u64"
        : !pass.capacity || pass.capacity > PERMITS - 1 ? "the capacity has to be 1 to 4194302" : NULL;
    if (refusal) { printf("error %s\n", refusal); return; }
    ring.places = pass.capacity + 1, bounded.places = pass.capacity;
    size_t most = ring.places <= BESIDE ? pass.capacity : pass.capacity / 4, lot = 1;
    while (lot < 8 && 2 * lot <= most) lot *= 2;
    ring.within_lot = lot - 1;
    uint64_t *slots = bounded.slots = words(ring.places);
    ring.slots = ring.places <= BESIDE ? ring.beside : slots;
    atomic_store(&ring.head, 0), atomic_store(&ring.tail, 0);
    atomic_store(&bounded.free, (unsigned)pass.capacity), atomic_store(&bounded.items, 0);
    for (int me = 0; me < 2; me++)
        if (pthread_create(&threads[me], NULL, role, (void *)(intptr_t)me)) perror("pthread_create"), exit(1);
    if (!fgets((char[64]){0}, 64, stdin)) exit(0); // "go"
    sem_post(&go), sem_post(&go);
    sem_wait(&over), sem_wait(&over);
    printf("ns %" PRIu64 "\n", pass.ended - pass.begun);
    fflush(stdout); // the host holds its own clock against it
    printf("count %" PRIu64 "\nsum %" PRIu64 "\n", pass.good, pass.sum);
    printf("note full %" PRIu64 "\nnote empty %" PRIu64 "\ndone %s\n", pass.full, pass.empty, pass.id);
    free(slots);
}
int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "describe")) {
        printf("coretalk-adapter 1\nruntime C, %s%s\n", strstr(__VERSION__, "lang") ? "" : "gcc ", __VERSION__);
        puts("queue spsc payload=u64 capacity=1..4194302\nqueue semaphore payload=u64 capacity=1..4194302");
        return 0;
    }
    if (argc != 2 || strcmp(argv[1], "serve")) fprintf(stderr, "usage: %s describe|serve\n", argv[0]), exit(2);
    sem_init(&go, 0, 0), sem_init(&over, 0, 0), sem_init(&leave, 0, 0);
    for (char line[512]; fgets(line, sizeof line, stdin); fflush(stdout)) perform(line);
    return 0;
}
