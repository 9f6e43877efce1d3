// The adapter for C++20: queues, waits and locks of its standard library. docs/adapters.md has the protocol.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

using std::memory_order_acquire, std::memory_order_release;
constexpr std::size_t APART = 256; // x86 fetches lines in pairs, some Arm cores have lines of 128 bytes: nothing comes near

std::int64_t now_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}
inline void hint() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory"); // YIELD does nothing on most cores
#endif
}

struct Pass { // what was asked for, and what its roles say
    std::string id;
    std::map<std::string, std::string> options;
    int count = 0;
    bool timed = false;
    std::uint64_t good = 0, sum = 0;
    struct Share { std::uint64_t operations = 0, added = 0; std::int64_t begin = 0, end = 0; };
    std::vector<Share> shares; // of contention
    std::function<std::uint64_t()> total;
    std::string note;
    std::array<std::uint32_t, 1024> numbers{};
    std::vector<std::int64_t> events;
    std::map<std::string, std::vector<std::int64_t>> named; // of creations
    std::vector<std::function<void()>> roles;
    std::uint32_t number(int k) const { return numbers[static_cast<unsigned>(k) % numbers.size()]; }
    std::uint64_t option(const std::string &name) const { return options.contains(name) ? std::stoull(options.at(name)) : 0; }
    void receive(auto take) { // one number for each operation, added here, where nobody else looks meanwhile
        std::uint64_t right = 0, total = 0;
        for (int k = 0; k < count; k++) {
            std::uint64_t received = take(k);
            right += received == number(k), total += received;
        }
        good = right, sum = total;
    }
};

// ---- queue: a ring between two counting semaphores, free places and items, as the program about Zen 5 and C# has it.
void store(std::uint64_t &slot, std::uint32_t number) { slot = number; }
void store(std::string &slot, std::uint32_t number) { slot = std::to_string(number); }
std::uint64_t load(std::uint64_t &slot) { return slot; }
std::uint64_t load(std::string &slot) { return std::stoull(std::exchange(slot, {})); }
template <class Message> void queue(Pass &pass) {
    struct Ring {
        alignas(APART) std::counting_semaphore<> free;
        alignas(APART) std::counting_semaphore<> items{0};
        alignas(APART) std::vector<Message> slots;
        explicit Ring(std::size_t capacity) : free(static_cast<std::ptrdiff_t>(capacity)), slots(capacity) {}
    };
    auto ring = std::make_shared<Ring>(pass.option("capacity"));
    pass.roles[0] = [&pass, ring] {
        std::size_t place = 0;
        for (int k = 0; k < pass.count; k++) {
            ring->free.acquire(), store(ring->slots[place], pass.number(k)), ring->items.release();
            place = place + 1 == ring->slots.size() ? 0 : place + 1;
        }
    };
    pass.roles[1] = [&pass, ring] {
        std::size_t place = 0;
        pass.receive([&](int) {
            ring->items.acquire();
            auto number = load(ring->slots[place]);
            ring->free.release();
            place = place + 1 == ring->slots.size() ? 0 : place + 1;
            return number;
        });
    };
}

// ---- wait: a turn and a number on one line; odd turns are role 1's.
struct alignas(APART) Turn { std::atomic<int> turn{0}; std::uint32_t number = 0, answer = 0; };
void nothing() {}
void fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
template <void (*rest)()> struct Spin {
    // Acquire pairs with the Release of `hand_over`: the number is there.
    static void await(Turn &at, int wanted) { while (at.turn.load(memory_order_acquire) != wanted) rest(); }
    static void hand_over(Turn &at, int next) { at.turn.store(next, memory_order_release); }
};
struct AtomicWait {
    static void await(Turn &at, int wanted) { at.turn.wait(wanted - 1, memory_order_acquire); }
    static void hand_over(Turn &at, int next) { at.turn.store(next, memory_order_release), at.turn.notify_one(); }
};
template <class Strategy> void wait(Pass &pass) {
    auto at = std::make_shared<Turn>();
    pass.roles[0] = [&pass, at] {
        std::int64_t before = pass.timed ? now_ns() : 0;
        pass.receive([&](int k) {
            at->number = pass.number(k);
            Strategy::hand_over(*at, 2 * k + 1), Strategy::await(*at, 2 * k + 2);
            if (pass.timed) pass.events[k] = now_ns() - before, before = now_ns();
            return at->answer;
        });
    };
    pass.roles[1] = [&pass, at] {
        for (int k = 0; k < pass.count; k++) {
            Strategy::await(*at, 2 * k + 1);
            at->answer = at->number;
            Strategy::hand_over(*at, 2 * k + 2);
        }
    };
}

// ---- wake: what role 0 does before a round (it may have to hold a lock), what wakes, what role 1 waits in.
struct WakeAtomic {
    std::atomic<int> round{0};
    void arm() {}
    void wake() { round.fetch_add(1, memory_order_release), round.notify_one(); }
    void sleep(int k) { round.wait(k, memory_order_acquire); }
};
struct WakeSemaphore {
    std::counting_semaphore<> permits{0};
    void arm() {}
    void wake() { permits.release(); }
    void sleep(int) { permits.acquire(); }
};
struct SpinLock {
    std::atomic_flag taken;
    void lock() { while (taken.test_and_set(memory_order_acquire)) hint(); }
    void unlock() { taken.clear(memory_order_release); }
};
template <class Lock> struct WakeLock { // role 0 holds it while role 1 asks for it
    Lock held;
    void arm() { held.lock(); }
    void wake() { held.unlock(); }
    void sleep(int) { std::scoped_lock mine(held); }
};
// What the other role says: looked for again and again, and a partner on the same CPU is let in.
void until(const std::atomic<int> &value, int wanted) {
    for (int polls = 0; value.load(memory_order_acquire) != wanted; polls++)
        if (polls > 1000) std::this_thread::yield();
}
template <class Primitive> void wake(Pass &pass) {
    struct Both {
        alignas(APART) Primitive primitive;
        alignas(APART) std::atomic<int> armed{0}, waits{0}, over{0};
        std::int64_t went_on = 0;
        std::uint32_t number = 0;
    };
    auto both = std::make_shared<Both>();
    pass.roles[0] = [&pass, both] {
        double gap = static_cast<double>(pass.option("gap_ns"));
        for (int k = 0; k < pass.count; k++) {
            both->primitive.arm();
            both->armed.store(k + 1, memory_order_release);
            until(both->waits, k + 1);
            auto length = static_cast<std::int64_t>(gap * (0.75 + pass.number(k) / 33554432.0));
            for (std::int64_t began = now_ns(); now_ns() - began < length;) hint();
            both->number = pass.number(k);
            std::int64_t began = pass.timed ? now_ns() : 0;
            both->primitive.wake();
            until(both->over, k + 1);
            if (pass.timed) pass.events[k] = std::max<std::int64_t>(both->went_on - began, 0);
        }
    };
    pass.roles[1] = [&pass, both] {
        pass.receive([&](int k) {
            until(both->armed, k + 1);
            both->waits.store(k + 1, memory_order_release);
            both->primitive.sleep(k);
            if (pass.timed) both->went_on = now_ns();
            std::uint32_t number = both->number;
            both->over.store(k + 1, memory_order_release);
            return number;
        });
    };
}

#include "contend.hpp"
#include "spawn.hpp"

// ---- the protocol
const std::map<std::string, void (*)(Pass &)> SUBJECTS = {
    {"queue counting-semaphore u64", queue<std::uint64_t>}, {"queue counting-semaphore string", queue<std::string>},
    {"wait busy", wait<Spin<nothing>>}, {"wait pause", wait<Spin<hint>>},
    {"wait fence", wait<Spin<fence>>}, {"wait atomic-wait", wait<AtomicWait>},
    {"wake atomic-wait", wake<WakeAtomic>}, {"wake counting-semaphore", wake<WakeSemaphore>},
    {"wake scoped-lock", wake<WakeLock<std::mutex>>}, {"wake spin-lock", wake<WakeLock<SpinLock>>},
    {"contend mutex", contend<MutexCounter>}, {"contend flag-notify", contend<FlagCounter>},
    {"contend fetch-add", contend<FetchAddCounter>}, {"spawn jthread", spawn<std::jthread>},
#ifndef NO_LIBATOMIC
    {"contend atomic-16", contend<WideCounter>},
#endif
};
void print_events(const std::string &line, std::vector<std::int64_t> &events) {
    std::sort(events.begin(), events.end());
    for (auto from = events.begin(), to = from; from != events.end(); from = to) {
        to = std::upper_bound(from, events.end(), *from);
        std::cout << line << *from << ':' << to - from << "\n";
    }
}
std::counting_semaphore<> named(0), go(0), over(0), leave(0);
std::vector<std::jthread> threads;
void perform(const std::string &line) {
    if (!threads.empty()) leave.release(static_cast<std::ptrdiff_t>(threads.size())), threads.clear();
    Pass pass;
    std::istringstream words(line);
    std::string word, kind, name;
    words >> word >> pass.id >> kind >> name;
    while (words >> word)
        if (auto equals = word.find('='); equals != word.npos) pass.options[word.substr(0, equals)] = word.substr(equals + 1);
    auto found = SUBJECTS.find(kind + " " + name + (kind == "queue" ? " " + pass.options["payload"] : ""));
    if (found == SUBJECTS.end() || (kind == "queue" && pass.option("capacity") == 0))
        return void(std::cout << "error there is no " << kind << " of this name, payload and capacity" << std::endl);
    pass.count = static_cast<int>(pass.option("count")), pass.timed = pass.option("events") == 1;
    pass.events.resize(pass.timed ? pass.count : 0);
    auto x = static_cast<std::uint32_t>(pass.option("seed"));
    for (auto &number : pass.numbers) x = 1664525 * x + 1013904223, number = x >> 8;
    auto roles = kind == "contend" ? static_cast<int>(pass.option("threads")) : kind == "spawn" ? 1 : 2;
    pass.roles.resize(roles);
    found->second(pass);
    std::vector<std::string> tids(roles);
    std::vector<std::int64_t> begun(roles), ended(roles);
    std::atomic<int> there{0};
    for (int me = 0; me < roles; me++) threads.emplace_back([me, roles, &pass, &tids, &begun, &ended, &there] {
        tids[me] = std::filesystem::read_symlink("/proc/thread-self").filename(); // "PID/task/TID"
        named.release(), go.acquire(); // asleep until the host has pinned both
        there.fetch_add(1), until(there, roles);
        begun[me] = now_ns();
        pass.roles[me]();
        ended[me] = now_ns();
        over.release(), leave.acquire(); // the host asks afterwards what this thread used
    });
    for (int me = 0; me < roles; me++) named.acquire();
    for (int me = 0; me < roles; me++) std::cout << "role " << me << ' ' << tids[me] << '\n';
    std::cout << std::flush;
    if (!std::getline(std::cin, word)) std::quick_exit(0);
    go.release(roles);
    for (int me = 0; me < roles; me++) over.acquire();
    auto start = pass.shares.empty() ? begun[0] : *std::min_element(begun.begin(), begun.end());
    std::cout << "ns " << *std::max_element(ended.begin(), ended.end()) - start << std::endl; // the host has a clock, too
    if (!pass.note.empty()) std::cout << "note " << pass.note << "\n";
    for (std::size_t me = 0; me < pass.shares.size(); me++) {
        auto &share = pass.shares[me];
        pass.good += share.added, pass.sum = pass.total();
        std::cout << "ops " << me << ' ' << share.operations << ' ' << share.begin - start << ' ' << share.end - start << ' ' << share.added << "\n";
    }
    std::cout << "count " << pass.good << "\nsum " << pass.sum << "\n";
    print_events("events ", pass.events);
    for (auto &[name, events] : pass.named) print_events("events " + name + " ", events);
    auto began = now_ns();
    for (int i = 0; i < 999; i++) now_ns();
    if (pass.timed) std::cout << "note clock_ns " << (now_ns() - began) / 1000 << "\n";
    std::cout << "done " << pass.id << std::endl;
}
int main(int argc, char **argv) {
    std::string what = argc == 2 ? argv[1] : "", line;
    if (what == "describe") {
        std::cout << "coretalk-adapter 2\nruntime C++20, " << (std::string(__VERSION__).find("lang") == std::string::npos ? "g++ " : "") << __VERSION__
                  << "\nqueue counting-semaphore payload=u64,string capacity=any\nwait busy,pause,fence,atomic-wait\n"
                     "wake atomic-wait,counting-semaphore,scoped-lock,spin-lock\n"
                     "contend mutex,flag-notify,fetch-add\nspawn jthread\n";
#ifndef NO_LIBATOMIC
        std::cout << "contend atomic-16\n";
#endif
        return 0;
    }
    if (what != "serve") return std::cerr << "usage: adapter describe|serve\n", 2;
    while (std::getline(std::cin, line)) perform(line);
    std::quick_exit(0); // threads of the last pass may be there
}
